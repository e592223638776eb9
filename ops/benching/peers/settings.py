"""What a peer's process is told, by its environment."""

import json
import os
from collections.abc import Mapping
from typing import Final

BROKER, REDIS, PREFIX = "PEER_BROKER", "PEER_REDIS", "PEER_PREFIX"
URL, HEADERS, COUNT = "PEER_URL", "PEER_HEADERS", "PEER_COUNT"
THREADS, CONFIRM = "PEER_THREADS", "PEER_CONFIRM"
# How long what became of an id is kept, as ours is.
KEEP: Final = 7 * 24 * 3600
LOCK_SECONDS: Final = 30
TIMEOUT: Final = 10.0


def told(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def number(name: str) -> int:
    return int(os.environ[name])


def headers() -> Mapping[str, str]:
    """Those of our requests, without the id."""
    given: dict[str, str] = json.loads(told(HEADERS, "{}"))
    return given
