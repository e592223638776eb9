"""Reads the configuration directory; reports every error at once, with file and key."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from notify.config.care import care_problems
from notify.config.described import PROVIDER_TYPES, ProfileProvider, PythonProvider
from notify.config.models import (
    ChannelSettings,
    EmailSettings,
    Settings,
    SmsSettings,
    WebhookSettings,
)
from notify.config.passwords import with_passwords
from notify.config.profiles import Profile
from notify.config.providers import AnyProvider
from notify.config.retention import retention_problems
from notify.config.secretfiles import find_file, names_a_file
from notify.config.shipped import shipped_names
from notify.config.types import Strict
from notify.errors import ConfigError
from notify.notification import CHANNELS

# Environment twins of single keys, for services whose addresses are known at start only.
_TWINS = {
    "NOTIFY_BROKER_URLS": ("broker", "urls"),
    "NOTIFY_BROKER_PASSWORD_FILE": ("broker", "password_file"),
    "NOTIFY_MANAGEMENT_URL": ("broker", "management_url"),
    "NOTIFY_MANAGEMENT_PASSWORD_FILE": ("broker", "management_password_file"),
    "NOTIFY_REDIS_URL": ("redis", "url"),
    "NOTIFY_REDIS_PREFIX": ("redis", "prefix"),
    "NOTIFY_ARCHIVE_URL": ("archive", "url"),
    "NOTIFY_ARCHIVE_PASSWORD_FILE": ("archive", "password_file"),
    "NOTIFY_LOG_FORMAT": ("log", "format"),
    "NOTIFY_LOG_LEVEL": ("log", "level"),
    "NOTIFY_METRICS_FIRST_PORT": ("metrics", "first_port"),
}
# What channels have beyond that which all have.
_MODELS: Mapping[str, type[ChannelSettings]] = {
    "sms": SmsSettings,
    "email": EmailSettings,
    "webhook": WebhookSettings,
}
_Model = TypeVar("_Model", bound=Strict)
_VARIABLE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)(?::-([^}]*))?\}")


def load_settings(
    directory: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Reads ``directory`` (default: ``NOTIFY_CONFIG``, else ``config``).

    ``${NAME}`` and ``${NAME:-default}`` in texts are replaced from the environment.
    Raises ``ConfigError`` with every problem found.
    """
    environment = os.environ if environ is None else environ
    return _Loader(settings_directory(directory, environment), environment).load()


def settings_directory(
    directory: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """Where ``load_settings`` reads."""
    environment = os.environ if environ is None else environ
    return Path(directory or environment.get("NOTIFY_CONFIG") or "config")


class _Loader:
    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root
        self.environ = environ
        self.problems: list[str] = []
        self.unset: set[str] = set()
        # None for those that are not valid, which has been said of their files.
        self.profiles: dict[str, Profile | None] = {}

    def load(self) -> Settings:
        if not self.root.is_dir():
            raise ConfigError([f"{self.root}: there is no such directory"])
        main = self.root / "notify.toml"
        values = self._with_twins(self._read(main) or {})
        settings = self._validate(Settings, values, main)
        self.profiles = dict(self._own_profiles())
        channels = self._channels()
        if settings is not None:
            self.problems.extend(retention_problems(main, settings.archive, channels))
            self.problems.extend(care_problems(main, settings.care, settings.archive, channels))
        if self.problems or settings is None:
            raise ConfigError(self.problems)
        settings = settings.model_copy(update={"channels": channels}).read_from(self.root)
        return with_passwords(settings)

    def _own_profiles(self) -> Iterator[tuple[str, Profile | None]]:
        for path in sorted((self.root / "providers").glob("*.toml")):
            if path.stem in shipped_names():
                self.problems.append(f"{path}: a profile of this name is shipped; take another")
                continue
            values = self._read(path)
            if values is not None and "name" in values:
                self.problems.append(f"{path}: name: unknown key; the name is that of the file")
                values = None
            named = None if values is None else {**values, "name": path.stem}
            yield path.stem, None if named is None else self._validate(Profile, named, path)

    def _channels(self) -> dict[str, ChannelSettings]:
        folder = self.root / "channels"
        channels = {}
        for path in sorted(folder.glob("*.toml")):
            if path.stem not in CHANNELS:
                self.problems.append(f"{path}: unknown channel; known: {', '.join(CHANNELS)}")
                continue
            values = self._read(path)
            model = _MODELS.get(path.stem, ChannelSettings)
            channel = None if values is None else self._validate(model, values, path)
            if channel is not None:
                self._check_providers(path, channel)
                channels[path.stem] = channel
        self.problems.extend(_endpoint_problems(folder, channels))
        if not channels and not self.problems:
            self.problems.append(f"{folder}: no channel is configured")
        return channels

    def _check_providers(self, path: Path, channel: ChannelSettings) -> None:
        kinds = PROVIDER_TYPES[path.stem]
        for number, provider in enumerate(channel.providers):
            place = f"{path}: providers.{number}"
            if provider.type not in kinds:
                names = " or ".join(map(repr, kinds))
                self.problems.append(f"{place}.type: channel {path.stem} takes {names}")
            elif (
                isinstance(provider, ProfileProvider) and path.stem not in provider.profile.channels
            ):
                names = ", ".join(provider.profile.channels)
                self.problems.append(f"{place}.profile: is for channel {names}")
            elif _sends_twice(path.stem, channel, provider):
                problem = f"resend needs a provider with takes_idempotency_key, not {provider.name}"
                self.problems.append(f"{path}: send.unknown: {problem}")

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            self.problems.append(f"{path}: cannot be read: {error.strerror}")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self.problems.append(f"{path}: is not valid TOML: {error}")
        else:
            return {key: self._expand(value, path, key) for key, value in values.items()}
        return None

    def _expand(self, value: Any, path: Path, key: str) -> Any:
        if isinstance(value, dict):
            return {k: self._expand(v, path, f"{key}.{k}") for k, v in value.items()}
        if isinstance(value, list):
            return [self._expand(v, path, f"{key}.{n}") for n, v in enumerate(value)]
        if not isinstance(value, str):
            return value
        if names_a_file(key):
            value = find_file(value, self.root, self.environ)

        def replace(match: re.Match[str]) -> str:
            name, default = match.groups()
            found: str | None = self.environ.get(name)
            if not found and default is not None:
                found = default
            if found is None:
                self.unset.add(f"{path}: {key}")
                self.problems.append(f"{path}: {key}: environment variable {name} is not set")
            return found or ""

        return _VARIABLE.sub(replace, value)

    def _with_twins(self, values: dict[str, Any]) -> dict[str, Any]:
        for name, (section, key) in _TWINS.items():
            text = self.environ.get(name)
            if text and isinstance(values.setdefault(section, {}), dict):
                values[section][key] = text.split(",") if key == "urls" else text
        return values

    def _validate(self, model: type[_Model], values: dict[str, Any], path: Path) -> _Model | None:
        if model is Settings and "channels" in values:
            self.problems.append(f"{path}: channels: belongs in {path.parent}/channels/NAME.toml")
            return None
        try:
            return model.model_validate(values, context={"profiles": self.profiles})
        except ValidationError as error:
            self.problems.extend(
                self._describe(item, path)
                for item in _causes(error.errors())
                if f"{path}: {_key(item)}" not in self.unset
            )
            return None

    def _describe(self, item: ErrorDetails, path: Path) -> str:
        """One line for one error, without the value: it may be a secret."""
        key = _key(item)
        twin = next((n for n, at in _TWINS.items() if key.startswith(".".join(at))), None)
        place = f"{path}: {key}" if key else str(path)
        source = twin if twin and self.environ.get(twin) else place
        message = _MESSAGES.get(item["type"], item["msg"].removeprefix("Value error, "))
        return f"{source}: {message[:1].lower()}{message[1:]}"


_MESSAGES = {
    "extra_forbidden": "unknown key",
    "missing": "is required",
    "too_short": "must not be empty",
}


def _endpoint_problems(folder: Path, channels: Mapping[str, ChannelSettings]) -> Iterator[str]:
    """Whoever is told about endpoints is told through a channel that there is."""
    webhook = channels.get("webhook")
    told = webhook.endpoints.report_channel if isinstance(webhook, WebhookSettings) else None
    if told is not None and told not in channels:
        key = "endpoints.report_channel"
        yield f"{folder / 'webhook.toml'}: {key}: channel {told} is not configured"


def _channels_of(provider: AnyProvider, channel: str) -> tuple[str, ...]:
    return provider.profile.channels if isinstance(provider, ProfileProvider) else (channel,)


def _sends_twice(channel: str, settings: ChannelSettings, provider: AnyProvider) -> bool:
    """A text that may have arrived is sent again only where the gateway can tell."""
    if channel != "sms" or settings.send.unknown != "resend":
        return False
    described = isinstance(provider, ProfileProvider | PythonProvider)
    return described and not getattr(provider, "takes_idempotency_key", False)


def _key(item: ErrorDetails) -> str:
    place = list(item["loc"])
    if place[:1] == ["providers"] and len(place) > 2:
        # The tag of a provider's type is no key of the file.
        del place[2]
    return ".".join(map(str, place))


def _causes(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without lists that are too short only because their items are wrong."""
    places = [item["loc"] for item in errors]
    return [
        item
        for item in errors
        if item["type"] != "too_short"
        or not any(at[:-1][: len(item["loc"])] == item["loc"] for at in places)
    ]
