"""What RabbitMQ says of itself, judged. Pure: ``asking`` gets the facts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from notify.doctor.clocks import clock
from notify.doctor.finding import Check, Finding, critical, fine, note, warning
from notify.topology import DEAD, Topology

_OLDEST: Final = (3, 10)
_NEWEST: Final = (4, 3)
_GIB: Final = 1024**3
_NEARLY: Final = 0.8
# What no policy may do to our queues: each of these loses messages, or keeps them from coming.
_LOSING: Final = ("expires", "message-ttl", "max-length", "max-length-bytes", "max-age")
_DEFAULT_CONSUMER_TIMEOUT: Final = 1800.0
_CLOCK_SECONDS: Final = 5.0

ANSWERS: Final = Check(
    name="rabbitmq-answers",
    why="without RabbitMQ nothing can be published or delivered",
    runbook="broker-down",
)
VERSION: Final = Check(
    name="rabbitmq-version",
    why="Notify is tested with 3.10 to 4.3; other versions may treat quorum queues differently",
    runbook="upgrade-rabbitmq",
)
TOPOLOGY: Final = Check(
    name="rabbitmq-topology",
    why="queues with other arguments or policies can lose messages; workers refuse to start",
    runbook="queue-missing",
)
POLICIES: Final = Check(
    name="rabbitmq-policies",
    why="such a policy drops messages, or refuses them, behind Notify's back",
    runbook="rabbitmq-policies",
)
ALARMS: Final = Check(
    name="rabbitmq-alarms",
    why="with an alarm in force RabbitMQ takes no messages from anybody",
    runbook="broker-alarm",
)
ROOM: Final = Check(
    name="rabbitmq-room",
    why="at its limit RabbitMQ takes no messages from anybody",
    runbook="broker-alarm",
)
FLAGS: Final = Check(
    name="rabbitmq-feature-flags",
    why="the next upgrade of RabbitMQ refuses to start with stable feature flags disabled",
    runbook="upgrade-rabbitmq",
)
PERMISSIONS: Final = Check(
    name="rabbitmq-permissions",
    why="a process that lacks a permission stops at its first use; one with too many is a risk",
    runbook="rabbitmq-policies",
)
TIMEOUT: Final = Check(
    name="rabbitmq-consumer-timeout",
    why="RabbitMQ closes the channel of a consumer that holds a message for longer",
    runbook="rabbitmq-policies",
)
MEMBERS: Final = Check(
    name="rabbitmq-members",
    why="a queue without a majority of its members takes and gives nothing",
    runbook="rabbitmq-node-was-killed",
)
CONSUMERS: Final = Check(
    name="rabbitmq-consumers",
    why="what is published to a queue that nothing consumes waits until it expires",
    runbook="no-consumer",
)
CLOCK: Final = Check(
    name="clock-rabbitmq",
    why="times in reports, expiry and schedules differ between machines",
    runbook="clock-skew",
)
CLUSTER: Final = Check(
    name="rabbitmq-cluster",
    why="with fewer than three nodes the loss of one stops everything",
    runbook="go-live",
)
LOGIN: Final = Check(
    name="rabbitmq-login",
    why="everybody knows the password of guest",
    runbook="rotate-a-secret",
)
TLS: Final = Check(
    name="rabbitmq-tls",
    why="recipients and texts would cross the network readable, or to somebody else",
    runbook="go-live",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RabbitFacts:
    """As the management API has them; None for what its user may not see."""

    version: tuple[int, ...]
    differences: Sequence[str]
    alarms: Sequence[str]
    nodes: Sequence[Mapping[str, Any]]
    queues: Sequence[Mapping[str, Any]]
    topology: Topology
    flags: Sequence[Mapping[str, Any]] | None
    permissions: Mapping[str, str] | None
    user: str
    hosts: Sequence[str]
    """Those of the AMQP URLs without TLS that are not this machine."""
    longest_hold: float
    """Seconds for which a worker may keep a message unacknowledged."""
    skew: float | None
    """Seconds by which its clock is ahead of this one."""
    needs_consumer: frozenset[str] = field(default_factory=frozenset)
    untrusted: Sequence[str] = ()
    """Why AMQP URLs with TLS are of no use: others have a certificate, or none of ours."""


def judge(facts: RabbitFacts) -> Iterator[Finding]:
    yield from _version(facts)
    yield from _topology(facts)
    yield from _policies(facts)
    yield from _alarms(facts)
    yield from _room(facts)
    yield from _flags(facts)
    yield from _permissions(facts)
    yield from _timeout(facts)
    yield from _members(facts)
    yield from _consumers(facts)
    yield from clock(CLOCK, "RabbitMQ", facts.skew, _CLOCK_SECONDS)
    for line in facts.untrusted:
        yield critical(TLS, line)


def judge_go_live(facts: RabbitFacts) -> Iterator[Finding]:
    running = [node for node in facts.nodes if node.get("running")]
    words = f"{len(running)} of {len(facts.nodes)} nodes run"
    enough = len(running) >= 3 and len(facts.nodes) % 2 == 1
    yield fine(CLUSTER, words) if enough else warning(CLUSTER, f"{words}; have 3 or 5")
    yield (
        critical(LOGIN, "Notify logs in as guest")
        if facts.user == "guest"
        else fine(LOGIN, "Notify logs in as a user of its own")
    )
    yield (
        warning(TLS, f"no TLS to {', '.join(facts.hosts)}: use amqps://")
        if facts.hosts
        else fine(TLS, "connections are encrypted, or stay on this machine")
    )


def _version(facts: RabbitFacts) -> Iterator[Finding]:
    text = ".".join(map(str, facts.version))
    if facts.version[:2] < _OLDEST:
        yield critical(VERSION, f"RabbitMQ {text} is older than 3.10")
    elif facts.version[:2] > _NEWEST:
        yield warning(VERSION, f"RabbitMQ {text} is newer than what Notify was tested with")
    else:
        yield fine(VERSION, f"RabbitMQ {text}")


def _topology(facts: RabbitFacts) -> Iterator[Finding]:
    for line in facts.differences:
        yield critical(TOPOLOGY, line)
    if not facts.differences:
        yield fine(TOPOLOGY, f"{len(facts.topology.queues)} queues are as they must be")


def _policies(facts: RabbitFacts) -> Iterator[Finding]:
    """Rungs have a time to live by their arguments, and never by a policy."""
    found = False
    for queue in facts.queues:
        applied = queue.get("effective_policy_definition") or {}
        for key in sorted(set(applied) & set(_LOSING)):
            found = True
            yield critical(POLICIES, f"queue {queue['name']}: a policy sets {key}={applied[key]}")
    if not found:
        yield fine(POLICIES, "no policy drops or refuses messages")


def _alarms(facts: RabbitFacts) -> Iterator[Finding]:
    for alarm in facts.alarms:
        yield critical(ALARMS, alarm)
    if not facts.alarms:
        yield fine(ALARMS, "no alarm is in force")


def _room(facts: RabbitFacts) -> Iterator[Finding]:
    found = [line for node in facts.nodes if node.get("running") for line in _tight(node)]
    for line in found:
        yield warning(ROOM, line)
    if not found:
        yield fine(ROOM, "memory, disk and files have room")


def _tight(node: Mapping[str, Any]) -> Iterator[str]:
    name = node["name"]
    free, limit = node.get("disk_free"), node.get("disk_free_limit", 0)
    if isinstance(free, int) and free < max(2 * limit, 2 * _GIB):
        yield f"{name}: {free / _GIB:.1f} GiB of its disk are free, stops at {limit / _GIB:.2f}"
    for used, total, words in (
        ("mem_used", "mem_limit", "memory limit"),
        ("fd_used", "fd_total", "open files"),
        ("sockets_used", "sockets_total", "sockets"),
    ):
        share = _share(node.get(used), node.get(total))
        if share > _NEARLY:
            yield f"{name}: {share:.0%} of its {words} in use"


def _share(used: Any, total: Any) -> float:
    known = isinstance(used, int) and isinstance(total, int) and total > 0
    return used / total if known else 0.0


def _flags(facts: RabbitFacts) -> Iterator[Finding]:
    if facts.flags is None:
        yield note(FLAGS, "not looked at: that takes the tag administrator")
        return
    off = [
        flag["name"]
        for flag in facts.flags
        if flag.get("stability") in ("stable", "required") and flag.get("state") == "disabled"
    ]
    if off:
        yield warning(FLAGS, f"stable, and disabled: {', '.join(sorted(off))}")
    else:
        yield fine(FLAGS, "all stable feature flags are enabled")


def _permissions(facts: RabbitFacts) -> Iterator[Finding]:
    if facts.permissions is None:
        yield note(PERMISSIONS, "not looked at: that takes the tag administrator")
        return
    names = [queue.name for queue in facts.topology.queues]
    exchanges = [exchange.name for exchange in facts.topology.exchanges]
    lacking = [
        f"may not {action} {name}"
        for action, wanted in (("read", names), ("write", exchanges))
        for name in wanted
        if not _allows(facts.permissions.get(action, ""), name)
    ]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        yield critical(PERMISSIONS, f"the user of broker.urls {lacking[0]}{more}")
    else:
        yield fine(PERMISSIONS, "the user of broker.urls may do what it must")


def _allows(pattern: str, name: str) -> bool:
    """RabbitMQ's patterns are Erlang's, and the empty one matches nothing but the empty name."""
    try:
        return bool(pattern) and re.search(pattern, name) is not None
    except re.error:
        return True


def _timeout(facts: RabbitFacts) -> Iterator[Finding]:
    """Of the server's own setting nobody outside is told; a policy's can be read."""
    found = False
    for queue in facts.queues:
        applied = queue.get("effective_policy_definition") or {}
        seconds = float(applied.get("consumer-timeout", _DEFAULT_CONSUMER_TIMEOUT * 1000)) / 1000
        if seconds <= facts.longest_hold:
            found = True
            words = f"{seconds:g} s, and a message may be held for {facts.longest_hold:g} s"
            yield critical(TIMEOUT, f"queue {queue['name']}: consumer timeout {words}")
    if not found:
        yield fine(TIMEOUT, f"no message is held for longer than {facts.longest_hold:g} s")


def _members(facts: RabbitFacts) -> Iterator[Finding]:
    found = False
    for queue in facts.queues:
        members, online = queue.get("members") or [], queue.get("online") or []
        if not members or set(online) >= set(members):
            continue
        found = True
        words = f"queue {queue['name']}: {len(online)} of its {len(members)} members are online"
        majority = len(online) > len(members) / 2
        yield warning(MEMBERS, words) if majority else critical(MEMBERS, words)
    if not found:
        yield fine(MEMBERS, "every queue has all its members")


def _consumers(facts: RabbitFacts) -> Iterator[Finding]:
    idle = [
        queue["name"]
        for queue in facts.queues
        if queue["name"] in facts.needs_consumer and not queue.get("consumers")
    ]
    for name in idle:
        what = "the archiver" if name == DEAD else "no worker"
        words = "does not run" if name == DEAD else "consumes it"
        yield critical(CONSUMERS, f"queue {name}: {what} {words}")
    if not idle:
        yield fine(CONSUMERS, "every queue has its worker, and the archiver runs")
