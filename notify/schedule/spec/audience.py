"""Audiences in code of others."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any, Final, cast

from notify.errors import InvalidInput
from notify.notification import Notification

_PART: Final = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
_NAME: Final = re.compile(rf"{_PART}(?:\.{_PART})*:{_PART}")

Function = Callable[[datetime], Iterable[Notification | Mapping[str, Any]]]
"""Takes the planned instant and gives the same rows in the same order each time."""


def is_name(name: Any) -> bool:
    """Whether that could be a function, written package.module:function."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def load_audience(name: str) -> Function:
    """The function of that name. Raises ``InvalidInput`` that says what is wrong with it."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except AttributeError:
        raise InvalidInput(f"python: module {module} has no {attribute}") from None
    except Exception as error:
        raise InvalidInput(f"python: cannot be imported: {type(error).__name__}") from None
    try:
        inspect.signature(found).bind(None)
    except (TypeError, ValueError):
        raise InvalidInput("python: must be a function of one argument, the instant") from None
    return cast("Function", found)
