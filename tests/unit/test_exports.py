"""The public surface is a list, and what stands in it exists and is explained."""

import inspect
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import notify
from notify import errors
from tests.unit.test_architecture import MODULES, ROOT

if TYPE_CHECKING:
    from types import ModuleType

PUBLIC = [
    "Attachment",
    "BrokerBlocked",
    "BrokerUnavailable",
    "Client",
    "ConfigError",
    "InvalidNotification",
    "Notification",
    "NotifyError",
    "PublishError",
    "QueueFull",
    "Schedules",
    "Sent",
    "Settings",
    "Templates",
    "Unavailable",
    "Unconfirmed",
    "Unroutable",
    "UsageError",
    "attach",
    "load_settings",
    "run_batch",
]
PACKAGES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


def test_the_public_surface_is_this_list() -> None:
    assert notify.__all__ == PUBLIC


def _order(name: str) -> tuple[bool, bool, str]:
    """Constants, classes, functions."""
    return not name.isupper(), name[0].islower(), name


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_exported_exists_in_order_and_is_explained(name: str) -> None:
    package: ModuleType = import_module(name)
    exported: list[str] = package.__all__
    assert exported == sorted(set(exported), key=_order)
    for item in exported:
        value = getattr(package, item)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{item} has no docstring"


def test_whatever_a_client_or_the_configuration_raises_can_be_imported() -> None:
    """Their docstrings name the errors; the roots of the tree are for ``except``."""
    text = f"{notify.Client.send.__doc__} {notify.load_settings.__doc__}"
    named = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.NotifyError) and f"``{name}``" in text
    }
    assert {"Unroutable", "Unconfirmed", "ConfigError"} <= named
    roots = {base.__name__ for name in named for base in getattr(errors, name).__mro__}
    assert (named | roots) & vars(errors).keys() <= set(notify.__all__)


def test_what_is_not_exported_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Publisher'"):
        _ = notify.Publisher  # type: ignore[attr-defined]


def test_every_error_says_something_by_itself() -> None:
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.NotifyError):
            parameters = inspect.signature(kind).parameters.values()
            needed = [p for p in parameters if p.default is inspect.Parameter.empty]
            if not needed:
                assert len(str(kind())) > 10, name


@pytest.mark.parametrize(
    "module", ["notify.sandbox.__main__", "notify.local.guard", "notify.errors"]
)
def test_small_programs_do_not_load_the_pipeline(module: str) -> None:
    """They are started often, and by others; the surface is imported when it is used."""
    program = f"import sys, {module}; sys.stdout.write(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert module in loaded
    assert not {"kombu", "celery", "pydantic", "redis", "sqlalchemy", "requests"} & set(loaded)
