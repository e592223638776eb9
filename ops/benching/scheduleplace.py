"""Where schedules are measured: a virtual host and keys of their own, truth in Redis."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import redis

from benching.children import ROOT
from benching.peers import redbeat
from notify import provision
from notify.config import Settings, load_settings
from notify.local import Servers

VHOST: Final = "schedules"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where it is measured."""

    servers: Servers
    broker_url: str
    settings: Settings
    environ: Mapping[str, str]
    redis: Any
    # How many seconds ahead schedules are put that all are due at once.
    ahead: int = 20


@contextmanager
def place(folder: Path, servers: Servers, ahead: int = 20) -> Iterator[Place]:
    """On these servers, whose Redis is emptied on the way."""
    config = folder / "config"
    shutil.copytree(ROOT / "config", config)
    main = config / "notify.toml"
    # Schedules are stored past the database here: a million rows are not what is measured.
    main.write_text(main.read_text().replace('truth = "database"', 'truth = "redis"'))
    url = servers.broker_urls[0].rpartition("/")[0] + f"/{VHOST}"
    environ = dict(os.environ) | servers.environment()
    environ |= {
        "NOTIFY_CONFIG": str(config),
        "NOTIFY_BROKER_URLS": url,
        "NOTIFY_REDIS_PREFIX": "bench",
        "NOTIFY_ARCHIVE_URL": f"sqlite:///{folder}/archive.sqlite3",
        "NOTIFY_METRICS_FIRST_PORT": "0",
        redbeat.REDIS: servers.redis_url,
    }
    # RedBeat's settings are made in this process, too.
    os.environ[redbeat.REDIS] = servers.redis_url
    settings = load_settings(environ=environ)
    provision.declare_all(settings)
    with closing(redis.Redis.from_url(servers.redis_url, socket_timeout=120)) as client:
        yield Place(
            servers=servers,
            broker_url=url,
            settings=settings,
            environ=environ,
            redis=client,
            ahead=ahead,
        )
