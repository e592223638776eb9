"""Providers in code of others: a class by entry point, or as ``package.module:Class``."""

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

GROUP = "notify.providers"
Made = Callable[..., Any]


def load_class(name: str) -> Made:
    """The class of that name. Raises ``ValueError`` that says what is wrong with it."""
    found = _from_module(name) if ":" in name else _from_entry_point(name)
    if not inspect.isclass(found):
        raise ValueError("is not a class")
    _check_call(found, "must take name, values and secrets", "name", {}, {})
    send = getattr(found, "send", None)
    if not callable(send):
        raise ValueError("has no method send(notification, *, deadline)")
    _check_call(send, "send must take a notification and deadline=", None, None, deadline=1.0)
    return found


def _from_module(name: str) -> Any:
    path, _, attribute = name.partition(":")
    try:
        return getattr(import_module(path), attribute)
    except AttributeError:
        raise ValueError(f"module {path} has no {attribute}") from None
    except Exception as error:
        raise ValueError(f"cannot be imported: {type(error).__name__}") from None


def _from_entry_point(name: str) -> Any:
    found = list(entry_points(group=GROUP, name=name))
    if len(found) != 1:
        raise ValueError(
            f"{'two packages have an' if found else 'no package has an'} entry point {name}"
            f" in {GROUP}; a class is written package.module:Class"
        )
    try:
        return found[0].load()
    except Exception as error:
        raise ValueError(f"cannot be imported: {type(error).__name__}") from None


def _check_call(target: Made, problem: str, *args: Any, **options: Any) -> None:
    try:
        inspect.signature(target).bind(*args, **options)
    except (TypeError, ValueError):
        raise ValueError(problem) from None
