"""Where the servers' programs are, on Debian and elsewhere."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from notify.errors import Unavailable

RABBITMQ_OVERRIDE = "NOTIFY_RABBITMQ_SERVER"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The first is Debian's link to the real script; the one that it puts into /usr/sbin changes
# to the system's rabbitmq user and so cannot run a node of ours.
RABBITMQ_PLACES = (
    "usr/lib/rabbitmq/bin/rabbitmq-server",
    "usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server",
    "opt/rabbitmq*/sbin/rabbitmq-server",
)
EPMD_PLACES = ("usr/lib/erlang/erts-*/bin/epmd", "usr/lib/erlang/bin/epmd")


@dataclass(frozen=True, kw_only=True)
class Executables:
    rabbitmq: Path | None = None
    epmd: Path | None = None
    redis: Path | None = None


def search_path() -> str:
    """The user's PATH, then the system's: servers live in /usr/sbin, not everyone's PATH."""
    return os.pathsep.join(filter(None, (os.environ.get("PATH"), SYSTEM_PATH)))


def find(*, rabbitmq: bool, redis: bool) -> Executables:
    """What is needed to run these servers, or one line that says what to install."""
    found = Executables(
        rabbitmq=_find_rabbitmq() if rabbitmq else None,
        epmd=_find("epmd", EPMD_PLACES) if rabbitmq else None,
        redis=_find("redis-server") if redis else None,
    )
    missing = []
    if rabbitmq and not (found.rabbitmq and found.epmd):
        missing.append("rabbitmq-server")
    if redis and not found.redis:
        missing.append("redis-server")
    if missing:
        raise Unavailable(_what_to_install(missing))
    return found


def _what_to_install(packages: list[str]) -> str:
    return (
        f"not installed: {', '.join(packages)}; run ops/setup or install it yourself "
        f"(Debian: apt-get install {' '.join(packages)}), or set NOTIFY_BROKER_URLS and "
        "NOTIFY_REDIS_URL to use servers that you have"
    )


def _find_rabbitmq() -> Path | None:
    chosen = os.environ.get(RABBITMQ_OVERRIDE)
    if not chosen:
        return _find("rabbitmq-server", RABBITMQ_PLACES)
    if not os.access(chosen, os.X_OK):
        raise Unavailable(f"{RABBITMQ_OVERRIDE} names {chosen}, which cannot be executed")
    return Path(chosen)


def _find(name: str, places: tuple[str, ...] = ()) -> Path | None:
    """The newest match of the first place that has one, else whatever PATH says."""
    for place in places:
        matches = sorted(Path("/").glob(place))
        if matches:
            return matches[-1]
    found = shutil.which(name, path=search_path())
    return Path(found) if found else None
