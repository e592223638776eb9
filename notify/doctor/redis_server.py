"""What Redis says of itself, judged. Pure: ``asking`` gets the facts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from notify.doctor.clocks import clock
from notify.doctor.finding import Check, Finding, critical, fine, note, warning

_OLDEST: Final = (6, 2)
_WARN_FILL: Final = 0.7
_FULL: Final = 0.9
_CLOCK_SECONDS: Final = 1.0
_LAG_BYTES: Final = 16 * 1024 * 1024

ANSWERS: Final = Check(
    name="redis-answers",
    why="without Redis nothing is sent: workers pause, and queues grow",
    runbook="redis-down",
)
VERSION: Final = Check(
    name="redis-version",
    why="Notify is tested with Redis 7; before 6.2 commands are missing",
    runbook="redis-down",
)
EVICTION: Final = Check(
    name="redis-eviction",
    why="an evicted record is a notification that may be sent twice, or a schedule that is gone",
    runbook="redis-evicts",
)
PERSISTENCE: Final = Check(
    name="redis-persistence",
    why="a restart would forget what was sent, and what is scheduled",
    runbook="redis-persistence",
)
MEMORY: Final = Check(
    name="redis-memory",
    why="at its limit Redis refuses claims: nothing is sent",
    runbook="redis-memory",
)
REPLICAS: Final = Check(
    name="redis-replicas",
    why="what no replica has is lost in a failover, and may then be sent twice",
    runbook="redis-persistence",
)
LOST: Final = Check(
    name="redis-keys-lost",
    why="what the lost records said is not known: some notifications may have been sent twice",
    runbook="ledger-lost-keys",
)
CLOCK: Final = Check(
    name="clock-redis",
    why="leases and schedules are timed by this clock",
    runbook="clock-skew",
)
LOGIN: Final = Check(
    name="redis-login",
    why="who can reach it without a password can read and change what was sent to whom",
    runbook="rotate-a-secret",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisFacts:
    """``info`` is the answer of INFO; ``config`` that of CONFIG GET, None where that is refused."""

    version: tuple[int, ...]
    info: Mapping[str, Any]
    config: Mapping[str, str] | None
    wanted_replicas: int | None
    at_risk: int
    skew: float
    exposed: bool
    """Reached over a network without a password or without TLS."""


def judge(facts: RedisFacts) -> Iterator[Finding]:
    text = ".".join(map(str, facts.version))
    old = facts.version[:2] < _OLDEST
    yield (
        critical(VERSION, f"Redis {text} is older than 6.2")
        if old
        else fine(VERSION, f"Redis {text}")
    )
    yield from _eviction(facts)
    yield from _persistence(facts)
    yield from _memory(facts)
    yield from _replicas(facts)
    if facts.at_risk:
        yield warning(LOST, f"keys were lost; at most {facts.at_risk} later sends were repeats")
    else:
        yield fine(LOST, "no key was lost")
    yield from clock(CLOCK, "Redis", facts.skew, _CLOCK_SECONDS)


def judge_go_live(facts: RedisFacts) -> Iterator[Finding]:
    if facts.exposed:
        yield warning(LOGIN, "reached over the network without a password or without TLS")
    else:
        yield fine(LOGIN, "asks for a password and is encrypted, or stays on this machine")


def _eviction(facts: RedisFacts) -> Iterator[Finding]:
    policy = str(facts.info.get("maxmemory_policy", ""))
    evicted = int(facts.info.get("evicted_keys", 0))
    if policy != "noeviction":
        yield critical(EVICTION, f"maxmemory-policy is {policy or 'unknown'}, must be noeviction")
    elif evicted:
        yield warning(EVICTION, f"{evicted} keys were evicted since it was started")
    else:
        yield fine(EVICTION, "maxmemory-policy is noeviction")


def _persistence(facts: RedisFacts) -> Iterator[Finding]:
    found = list(_persistence_faults(facts))
    yield from found
    if not found:
        yield fine(PERSISTENCE, "the append-only file is on, and written")


def _persistence_faults(facts: RedisFacts) -> Iterator[Finding]:
    info = facts.info
    if not int(info.get("aof_enabled", 0)):
        yield critical(PERSISTENCE, "appendonly is off, must be yes")
    elif info.get("aof_last_write_status", "ok") != "ok":
        yield critical(PERSISTENCE, "the append-only file cannot be written: is its disk full?")
    elif info.get("aof_last_bgrewrite_status", "ok") != "ok":
        yield warning(PERSISTENCE, "the append-only file could not be rewritten, and grows")
    if info.get("rdb_last_bgsave_status", "ok") != "ok":
        yield warning(PERSISTENCE, "the last snapshot failed: Redis may refuse writes")
    if int(info.get("loading", 0)):
        yield critical(PERSISTENCE, "Redis is still loading its data")
    if facts.config is None:
        yield note(PERSISTENCE, "appendfsync not looked at: CONFIG is not allowed")
    elif facts.config.get("appendfsync") == "no":
        words = "appendfsync is no: a power cut forgets up to 30 s; everysec or always is better"
        yield warning(PERSISTENCE, words)


def _memory(facts: RedisFacts) -> Iterator[Finding]:
    used, limit = int(facts.info.get("used_memory", 0)), int(facts.info.get("maxmemory", 0))
    megabytes = f"{used / 1024**2:.0f} MB in use"
    if not limit:
        words = f"{megabytes}; maxmemory is not set: the kernel ends Redis where memory does"
        yield warning(MEMORY, words)
        return
    fill = used / limit
    words = f"{megabytes}, {fill:.0%} of maxmemory"
    if fill > _FULL:
        yield critical(MEMORY, words)
    elif fill > _WARN_FILL:
        yield warning(MEMORY, words)
    else:
        yield fine(MEMORY, words)


def _replicas(facts: RedisFacts) -> Iterator[Finding]:
    info = facts.info
    if info.get("role") not in (None, "master"):
        yield critical(REPLICAS, "redis.url leads to a replica, which takes no writes")
        return
    found = [value for key, value in info.items() if key.startswith("slave") and _is_replica(value)]
    online = [replica for replica in found if replica.get("state") == "online"]
    wanted = facts.wanted_replicas
    if wanted is not None and len(online) < wanted:
        yield critical(REPLICAS, f"{len(online)} replicas online, redis.replicas asks for {wanted}")
        return
    end = int(info.get("master_repl_offset", 0))
    late = [end - int(replica.get("offset", end)) for replica in online]
    if late and max(late) > _LAG_BYTES:
        yield warning(REPLICAS, f"a replica is {max(late) / 1024**2:.0f} MB behind")
    else:
        yield fine(REPLICAS, f"{len(online)} replicas online")


def _is_replica(value: Any) -> bool:
    return isinstance(value, Mapping) and "state" in value
