"""Reads the configuration directory; reports every error at once, with file and key."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from notify.config.models import ChannelSettings, Settings
from notify.config.providers import PROVIDER_TYPES
from notify.config.types import Strict
from notify.errors import ConfigError
from notify.notification import CHANNELS

# Environment twins of single keys, for services whose addresses are known at start only.
_TWINS = {
    "NOTIFY_BROKER_URLS": ("broker", "urls"),
    "NOTIFY_MANAGEMENT_URL": ("broker", "management_url"),
    "NOTIFY_REDIS_URL": ("redis", "url"),
    "NOTIFY_REDIS_PREFIX": ("redis", "prefix"),
    "NOTIFY_ARCHIVE_URL": ("archive", "url"),
    "NOTIFY_LOG_FORMAT": ("log", "format"),
    "NOTIFY_LOG_LEVEL": ("log", "level"),
    "NOTIFY_METRICS_FIRST_PORT": ("metrics", "first_port"),
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
    root = Path(directory or environment.get("NOTIFY_CONFIG") or "config")
    return _Loader(root, environment).load()


class _Loader:
    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root
        self.environ = environ
        self.problems: list[str] = []
        self.unset: set[str] = set()

    def load(self) -> Settings:
        if not self.root.is_dir():
            raise ConfigError([f"{self.root}: there is no such directory"])
        main = self.root / "notify.toml"
        values = self._with_twins(self._read(main) or {})
        settings = self._validate(Settings, values, main)
        channels = self._channels()
        if self.problems or settings is None:
            raise ConfigError(self.problems)
        return _with_passwords(settings.model_copy(update={"channels": channels}))

    def _channels(self) -> dict[str, ChannelSettings]:
        folder = self.root / "channels"
        channels = {}
        for path in sorted(folder.glob("*.toml")):
            if path.stem not in CHANNELS:
                self.problems.append(f"{path}: unknown channel; known: {', '.join(CHANNELS)}")
                continue
            values = self._read(path)
            channel = None if values is None else self._validate(ChannelSettings, values, path)
            if channel is not None:
                self._check_providers(path, channel)
                channels[path.stem] = channel
        if not channels and not self.problems:
            self.problems.append(f"{folder}: no channel is configured")
        return channels

    def _check_providers(self, path: Path, channel: ChannelSettings) -> None:
        wanted = PROVIDER_TYPES[path.stem]
        for number, provider in enumerate(channel.providers):
            if provider.type != wanted:
                self.problems.append(
                    f"{path}: providers.{number}.type: channel {path.stem} takes {wanted!r}"
                )

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
            return model.model_validate(values)
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


def _key(item: ErrorDetails) -> str:
    # The tag of a provider's type is no key of the file.
    return ".".join(str(part) for part in item["loc"] if part not in PROVIDER_TYPES.values())


def _causes(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without lists that are too short only because their items are wrong."""
    places = [item["loc"] for item in errors]
    return [
        item
        for item in errors
        if item["type"] != "too_short"
        or not any(at[:-1][: len(item["loc"])] == item["loc"] for at in places)
    ]


def _with_passwords(settings: Settings) -> Settings:
    broker, redis = settings.broker, settings.redis
    if broker.password_file:
        urls = tuple(_with_password(url, broker.password_file) for url in broker.urls)
        management = _with_password(broker.management_url, broker.password_file)
        changed = {"urls": urls, "management_url": management}
        settings = settings.model_copy(update={"broker": broker.model_copy(update=changed)})
    if redis.password_file:
        url = _with_password(redis.url, redis.password_file)
        changed_redis = redis.model_copy(update={"url": url})
        settings = settings.model_copy(update={"redis": changed_redis})
    return settings


def _with_password(url: str, password: SecretStr) -> str:
    parts = urlsplit(url)
    user = (parts.username or "") + ":" + quote(password.get_secret_value(), safe="")
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}"))
