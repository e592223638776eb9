"""Asks the servers and this machine for what is to be judged. Changes nothing."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from notify import provision
from notify.broker import reach
from notify.config import Settings
from notify.config.models import BrokerSettings
from notify.config.types import is_loopback
from notify.doctor.archive import BEHIND, ArchiveFacts, ScheduleFacts
from notify.doctor.host import UnitState, read_units
from notify.doctor.rabbitmq import RabbitFacts
from notify.doctor.redis_server import RedisFacts
from notify.errors import (
    BrokerUnavailable,
    BrokerUntrusted,
    LedgerUnavailable,
    StoreUnavailable,
    Unavailable,
)
from notify.redisclient import open_redis, translated
from notify.schedule.marker import Marker
from notify.schedule.shelf import Shelf
from notify.sending import GRACE
from notify.store import SCHEMA, Store
from notify.store.schedules import Schedules
from notify.topology import DEAD, work_queue

_DIGITS: Final = re.compile(r"\d+")
_UNIT_KEYS: Final = "Id,LoadState,ActiveState,UnitFileState,NRestarts,NeedDaemonReload"
_SYSTEMD: Final = Path("/run/systemd/system")
_SYSTEMCTL_SECONDS: Final = 10
# For a turn with a provider a message waits so long in a worker's hands.
_TURN_SECONDS: Final = 5.0


def rabbitmq(settings: Settings) -> RabbitFacts:
    """Raises ``BrokerUnavailable`` and ``ManagementUnavailable``."""
    broker = settings.broker
    reach(broker.urls, timeout=broker.connect_timeout, trusted=broker.ca_file)
    plan = provision.wanted(settings)
    with closing(provision.management(settings)) as api:
        user = _user(broker.urls[0])
        # Before the others, whose answers take their time.
        asked, said, answered = datetime.now(UTC), api.clock(), datetime.now(UTC)
        return RabbitFacts(
            version=api.version(),
            differences=api.differences(plan),
            alarms=api.alarms(),
            nodes=api.ask("/nodes") or [],
            queues=api.ask("/queues/{vhost}") or [],
            topology=plan,
            flags=api.ask("/feature-flags"),
            permissions=api.ask(f"/permissions/{{vhost}}/{quote(user, safe='')}"),
            user=user,
            hosts=_in_the_open(broker.urls, "amqps"),
            untrusted=list(_untrusted(broker)),
            longest_hold=_longest_hold(settings),
            skew=_skew(asked, said, answered),
            needs_consumer=frozenset(
                {DEAD, *(work_queue(channel, each) for channel, each in settings.queues())}
            ),
        )


def redis_server(settings: Settings) -> RedisFacts:
    """Raises ``LedgerUnavailable``."""
    with closing(open_redis(settings.redis.url, settings.redis.timeout)) as client:
        with translated():
            asked = datetime.now(UTC)
            seconds, micros = client.time()
            answered = datetime.now(UTC)
            info: Mapping[str, Any] = client.info()
        config = _redis_config(client)
    with closing(provision.ledger(settings)) as ledger:
        at_risk = ledger.health().at_risk
    return RedisFacts(
        version=tuple(map(int, _DIGITS.findall(str(info.get("redis_version", "0"))))),
        info=info,
        config=config,
        wanted_replicas=settings.redis.replicas,
        at_risk=at_risk,
        skew=_ahead(asked, datetime.fromtimestamp(seconds + micros / 1e6, UTC), answered),
        exposed=_exposed(settings.redis.url),
    )


def archive(settings: Settings) -> ArchiveFacts:
    """Raises ``StoreUnavailable``. Makes neither tables nor a file."""
    url = settings.archive.url
    path = embedded(settings)
    if path is not None and not path.exists():
        version = None
    else:
        with closing(Store(url)) as store:
            version = store.version()
    keeping = settings.archive
    return ArchiveFacts(
        version=version,
        newest=SCHEMA,
        embedded=path is not None,
        retention=keeping.keep is not None or keeping.keep_most is not None,
        waiting=_waiting(settings),
    )


def schedules(settings: Settings) -> ScheduleFacts:
    """Raises ``LedgerUnavailable``."""
    with closing(Shelf(settings)) as shelf:
        counts = shelf.counts()
        with translated():
            holder = shelf.redis.get(shelf.lock) or ""
        foreign = _foreign(settings, shelf)
        behind = shelf.look(datetime.now(UTC).timestamp() - BEHIND, 1).names
    return ScheduleFacts(
        schedules=counts.stored,
        quarantined=counts.quarantined,
        leader=str(holder).partition(":")[0],
        behind=bool(behind),
        foreign=foreign,
    )


def _foreign(settings: Settings, shelf: Shelf) -> bool | None:
    if settings.schedules.truth != "database":
        return False
    try:
        if archive(settings).version != SCHEMA:
            return None
        with closing(Schedules(settings.archive.url)) as kept:
            identity = kept.identity()
    except StoreUnavailable:
        return None
    return Marker(shelf).foreign(identity)


def embedded(settings: Settings) -> Path | None:
    """The file of an archive in SQLite."""
    scheme, _, path = settings.archive.url.partition(":///")
    return Path(path) if scheme == "sqlite" else None


def units(names: list[str]) -> list[UnitState] | None:
    """None where systemd does not run this machine, or does not answer."""
    if not _SYSTEMD.is_dir():
        return None
    command = ["systemctl", "show", "--property", _UNIT_KEYS, "--", *names]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_SYSTEMCTL_SECONDS,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return read_units(done.stdout)


def _redis_config(client: Any) -> Mapping[str, str] | None:
    """Many a hosted Redis does not let anybody look."""
    try:
        with translated():
            found: Mapping[str, str] = client.config_get("appendfsync")
    except LedgerUnavailable:
        return None
    return found


def _waiting(settings: Settings) -> int | None:
    try:
        with closing(provision.management(settings)) as api:
            dead = api.queues().get(DEAD)
    except Unavailable:
        return None
    return None if dead is None else dead.ready + dead.unacknowledged


def _user(url: str) -> str:
    return unquote(urlsplit(url).username or "guest")


def _untrusted(broker: BrokerSettings) -> Iterator[str]:
    """Of every URL: others are used meanwhile, until they are away."""
    for url in broker.urls:
        if urlsplit(url).scheme == "amqps":
            try:
                reach([url], timeout=broker.connect_timeout, trusted=broker.ca_file)
            except BrokerUntrusted as error:
                yield str(error)
            except BrokerUnavailable:
                continue


def _in_the_open(urls: tuple[str, ...], encrypted: str) -> list[str]:
    """Hosts that are spoken to over a network that others may listen to."""
    parts = [urlsplit(url) for url in urls]
    hosts = {part.hostname or "" for part in parts if part.scheme != encrypted}
    return sorted(host for host in hosts if not is_loopback(host))


def _exposed(url: str) -> bool:
    parts = urlsplit(url)
    here = is_loopback(parts.hostname or "")
    return not here and not (parts.password and parts.scheme == "rediss")


def _longest_hold(settings: Settings) -> float:
    """From the moment a worker has a message until it can acknowledge it, or give it back."""
    sends = [channel.send for channel in settings.channels.values()]
    longest = max(max(send.deadline + GRACE, send.lease) for send in sends)
    return _TURN_SECONDS + longest + 2 * settings.broker.confirm_timeout


def _skew(asked: datetime, said: datetime | None, answered: datetime) -> float | None:
    return None if said is None else _ahead(asked, said, answered)


def _ahead(asked: datetime, said: datetime, answered: datetime) -> float:
    """By how much a clock is ahead at least: what it said was true at some time in between."""
    if said > answered:
        return (said - answered).total_seconds()
    return min(0.0, (said - asked).total_seconds())
