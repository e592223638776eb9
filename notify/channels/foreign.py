"""Providers in code of others: made from the class that the configuration names."""

from typing import Any

from notify.config.described import PythonProvider
from notify.config.plugins import load_class
from notify.errors import ConfigError


def foreign(settings: PythonProvider) -> Any:
    """An object of the class, with its name, values and secrets. Raises ``ConfigError``."""
    place = f"provider {settings.name}: class {settings.class_name}"
    try:
        made = load_class(settings.class_name)(settings.name, settings.values, settings.opened)
    except ConfigError:
        raise
    except Exception as error:
        # Its text may quote a secret.
        problem = f"{place} cannot be made: {type(error).__name__}"
        raise ConfigError([problem]) from None
    if getattr(made, "name", None) != settings.name:
        raise ConfigError([f"{place}: its name must be the one that it was given"])
    return made
