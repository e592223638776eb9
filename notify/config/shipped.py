"""Finds profiles by name: those that are shipped, and those of the configuration."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import ValidationInfo

from notify.config.profiles import Profile

_FOLDER = files("notify").joinpath("profiles")


@cache
def shipped_names() -> frozenset[str]:
    """The names of all profiles that come with the package."""
    found = (item.name for item in _FOLDER.iterdir())
    return frozenset(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


@cache
def shipped(name: str) -> Profile:
    """A profile that comes with the package. Raises ``KeyError``."""
    if name not in shipped_names():
        raise KeyError(name)
    text = _FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return Profile.model_validate({**tomllib.loads(text), "name": name})


def profile_named(value: Any, info: ValidationInfo) -> Profile:
    """The profile of a name; the context of the validation has those of the configuration."""
    if isinstance(value, Profile):
        return value
    if not isinstance(value, str):
        raise ValueError("must be the name of a profile")
    own: Mapping[str, Profile | None] = (info.context or {}).get("profiles", {})
    if value in own:
        profile = own[value]
        if profile is None:
            raise ValueError(f"the profile {value} is not valid")
        return profile
    if value not in shipped_names():
        known = ", ".join(sorted({*shipped_names(), *own}))
        raise ValueError(f"there is no such profile; known: {known}")
    return shipped(value)
