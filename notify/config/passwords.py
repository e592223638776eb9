"""Passwords that are in files of their own, put into the URLs that need them."""

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import SecretStr, ValidationError

from notify.config.archive import ArchiveSettings
from notify.config.models import Settings
from notify.errors import UsageError


def with_passwords(settings: Settings) -> Settings:
    """The same settings with the passwords in their URLs."""
    broker, redis = settings.broker, settings.redis
    asking = broker.management_password_file or broker.password_file
    if broker.password_file or asking:
        urls = tuple(_with_password(url, broker.password_file) for url in broker.urls)
        management = ",".join(
            _with_password(url, asking) for url in broker.management_url.split(",")
        )
        changed = {"urls": urls, "management_url": management}
        settings = settings.model_copy(update={"broker": broker.model_copy(update=changed)})
    if redis.password_file:
        url = _with_password(redis.url, redis.password_file)
        changed_redis = redis.model_copy(update={"url": url})
        settings = settings.model_copy(update={"redis": changed_redis})
    archive = settings.archive
    if archive.password_file:
        changed_archive = {"url": _with_password(archive.url, archive.password_file)}
        settings = settings.model_copy(
            update={"archive": archive.model_copy(update=changed_archive)}
        )
    return settings


def archive_url(url: str, password_file: Path | None = None) -> str:
    """The URL of an archive that is not in the configuration. Raises ``UsageError``."""
    values = {"url": url} | ({"password_file": str(password_file)} if password_file else {})
    try:
        settings = ArchiveSettings.model_validate(values)
    except ValidationError as error:
        raise UsageError("; ".join(map(_problem, error.errors()))) from None
    return _with_password(settings.url, settings.password_file)


def _problem(item: Any) -> str:
    where = "".join(f"{name}: " for name in item["loc"])
    return f"{where}{item['msg'].removeprefix('Value error, ')}"


def _with_password(url: str, password: SecretStr | None) -> str:
    if password is None:
        return url
    parts = urlsplit(url)
    user = (parts.username or "") + ":" + quote(password.get_secret_value(), safe="")
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}"))
