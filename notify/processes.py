"""The processes of one machine, and the environment that leads them to their servers."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from notify.broker import consumers
from notify.config import Settings
from notify.errors import Unavailable
from notify.local import Servers
from notify.provision import declare_all, management
from notify.sandbox import Sandbox
from notify.topology import DEAD, work_queue

_START_SECONDS: Final = 90.0
_LOOK_EVERY: Final = 0.2


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
        # The sandbox is on this machine, where webhooks do not go unless they are told to.
        "NOTIFY_WEBHOOK_ALLOW": "127.0.0.0/8,::1/128",
    }
    return dict(os.environ) | servers.environment() | own


def _with_host(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@contextmanager
def own_virtual_host(settings: Settings) -> Iterator[None]:
    """Declares everything in a virtual host that is empty at the start and gone at the end.

    Only for a virtual host of our own: the servers may be somebody's.
    """
    api = management(settings)
    api.delete_virtual_host()
    declare_all(settings)
    yield
    api.delete_virtual_host()


def wait_until_consumed(settings: Settings, check: Callable[[], None] = lambda: None) -> None:
    """Returns when every queue has its consumer. ``check`` may raise what makes waiting vain.

    Raises ``Unavailable`` naming the queues without one.
    """
    broker = settings.broker
    wanted = [DEAD, *(work_queue(*pair) for pair in settings.queues())]
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        counts = consumers(
            broker.urls, wanted, timeout=broker.connect_timeout, trusted=broker.ca_file
        )
        if all(counts.values()):
            return
        check()
        time.sleep(_LOOK_EVERY)
    without = ", ".join(name for name, count in counts.items() if not count)
    raise Unavailable(f"no consumer on {without}; see the logs")


def find_config(environ: Mapping[str, str]) -> Path:
    """The configuration to use: ``NOTIFY_CONFIG``, ``config`` here, or the one shipped."""
    given = environ.get("NOTIFY_CONFIG")
    if given:
        return Path(given)
    here = Path("config")
    return here if here.is_dir() else Path(__file__).parents[1] / "config"
