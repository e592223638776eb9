"""The processes of one machine, and the environment that leads them to their servers."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from notify.config import Settings
from notify.local import Servers
from notify.sandbox import Sandbox

_VIRTUAL_HOST = "notify"


def commands(settings: Settings) -> dict[str, list[str]]:
    """Every process by name: a worker for each queue, the archiver, the beat."""
    workers = {f"{c}-{p}": notify("worker", c, p) for c, p in settings.queues()}
    return workers | {"archiver": notify("archiver"), "beat": notify("beat")}


def notify(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "notify", *arguments]


def environment(servers: Servers, sandbox: Sandbox, data: Path) -> dict[str, str]:
    """Our own environment, with ``servers``, ``sandbox``, and an archive below ``data``."""
    own = {
        "NOTIFY_BROKER_URLS": ",".join(_in_own_host(url) for url in servers.broker_urls),
        "NOTIFY_ARCHIVE_URL": f"sqlite:///{data.absolute() / 'archive.sqlite3'}",
        "NOTIFY_SANDBOX_HTTP": sandbox.http_url,
        "NOTIFY_SANDBOX_SMTP_PORT": str(sandbox.smtp_port),
    }
    return dict(os.environ) | servers.environment() | own


def _in_own_host(url: str) -> str:
    """A private node has only the virtual host "/", which is not Notify's own."""
    parts = urlsplit(url)
    path = parts.path if len(parts.path) > 1 else f"/{_VIRTUAL_HOST}"
    return urlunsplit(parts._replace(path=path))


def find_config(environ: Mapping[str, str]) -> Path:
    """The configuration to use: ``NOTIFY_CONFIG``, ``config`` here, or the one shipped."""
    given = environ.get("NOTIFY_CONFIG")
    if given:
        return Path(given)
    here = Path("config")
    return here if here.is_dir() else Path(__file__).parents[1] / "config"
