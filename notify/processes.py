"""The processes of one machine, and the environment that leads them to their servers."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from notify.config import Settings
from notify.local import Servers
from notify.sandbox import Sandbox


def commands(settings: Settings) -> dict[str, list[str]]:
    """Every process by name: a worker for each queue, the archiver, the beat."""
    workers = {f"{c}-{p}": notify("worker", c, p) for c, p in settings.queues()}
    return workers | {"archiver": notify("archiver"), "beat": notify("beat")}


def notify(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "notify", *arguments]


def environment(servers: Servers, sandbox: Sandbox, data: Path, name: str) -> dict[str, str]:
    """Our own environment, with ``servers``, ``sandbox``, and an archive below ``data``.

    ``name`` becomes the virtual host and the prefix of the keys in Redis: on servers that
    are in use for something else, nothing of theirs is touched.
    """
    own = {
        "NOTIFY_BROKER_URLS": ",".join(_with_host(url, name) for url in servers.broker_urls),
        "NOTIFY_REDIS_PREFIX": name,
        "NOTIFY_ARCHIVE_URL": f"sqlite:///{data.absolute() / 'archive.sqlite3'}",
        "NOTIFY_SANDBOX_HTTP": sandbox.http_url,
        "NOTIFY_SANDBOX_SMTP_PORT": str(sandbox.smtp_port),
    }
    return dict(os.environ) | servers.environment() | own


def _with_host(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def find_config(environ: Mapping[str, str]) -> Path:
    """The configuration to use: ``NOTIFY_CONFIG``, ``config`` here, or the one shipped."""
    given = environ.get("NOTIFY_CONFIG")
    if given:
        return Path(given)
    here = Path("config")
    return here if here.is_dir() else Path(__file__).parents[1] / "config"
