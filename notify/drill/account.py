"""The account of a drill: what was published, against what the sandboxes and the archive have.

Nothing here comes from the pipeline's own counters or its ledger. Per id:

- *delivered once*, or *more than once*: how often the sandbox accepted it, or both of them
  together where the drill has a spare one;
- *archived*, by reason: its open dead letters. A notification can be delivered and archived
  as ``unknown_outcome``: that is what the word says;
- *lost*: published with a confirm, but neither delivered nor archived.

A send is *in flight at a fault* when nobody but the gateway may know what came of it. A send
is seen when its request arrives; its answer leaves at most ``longest_delay`` later, and then
the worker needs a moment to write the outcome down. So it is in flight when

    fault.at - longest_delay - SETTLING <= arrival <= fault.until + TRANSIT

and the fault is one that can leave an outcome unknown: the send's own worker was killed,
Redis was killed, or the gateway hung up on everyone. A restart of RabbitMQ is none of these
(the outcome is in the ledger before the message is acknowledged), nor is the archiver's
death, nor a provider that takes nothing new before it goes. A request that the gateway itself
answered with a reset is in flight too. Nothing hangs up at the spare gateway: what was sent
there is in flight only when its worker or Redis was killed.

*Unknown* is the number of notifications archived as ``unknown_outcome`` plus the number of
deliveries beyond the first. The drill passes only when

- nothing is lost;
- every delivery that was followed by another one was in flight at a fault, and its channel
  sends again when the outcome is unknown (``unknown = "resend"``);
- every delivery of what is archived all the same was in flight at a fault;
- of a channel with a spare provider nothing is archived but what its recipient refuses for
  good, and as ``unknown_outcome`` what was in flight at a fault;
- unknown is not more than the number of sends that were in flight.

The second rule holds for both gateways as for one: what the first accepted and the spare
accepted as well must have been in flight at the first, and may be sent again.

A request that a killed worker had claimed but not yet sent is unknown and was never seen:
the last rule leaves room for it, and no other is concerned. Redis may answer before its log
is written while it waits for a slow disk, for up to two seconds (``appendfsync everysec``).
So a send that came so long before Redis was killed is excused by the second, third and
fourth rule, but it is not counted by the last.

``conflict``, ``delivery_limit`` and ``unknown_outcome`` stand in the account as they are in
the archive; nothing is subtracted for them anywhere.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from notify.drill.plan import Fault, Kind
from notify.outcomes import Reason

SETTLING: Final = 0.25
TRANSIT: Final = 0.1
LATE_LOG: Final = 2.0
_OF_ARCHIVE: Final = (Kind.ARCHIVER_KILL, Kind.DISK_FULL)
_LEAVE_UNKNOWN: Final = (Kind.WORKER_KILL, Kind.REDIS_KILL, Kind.GATEWAY_CLOSED)
_REFUSALS: Final = (Reason.REFUSED, Reason.RECIPIENT_REFUSED, Reason.ENDPOINT_GONE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A request that arrived at a sandbox, at the ``spare`` one or the first.

    ``cut`` when it was answered with a reset.
    """

    id: str
    at: float
    accepted: bool
    cut: bool = False
    spare: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """An open dead letter; ``at`` is when it was archived."""

    id: str | None
    reason: str
    at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All that an account is made of. ``queues`` says which queue each id went through.

    ``refused`` are the ids that no gateway will ever accept. Channels that send again when the
    outcome is unknown are ``resending``; ``spared`` are those with a spare provider.
    """

    published: Collection[str]
    refused: Collection[str] = ()
    queues: Mapping[str, str]
    resending: Collection[str]
    spared: Collection[str] = ()
    seen: Sequence[Seen]
    letters: Sequence[Letter]
    faults: Sequence[Fault]
    longest_delay: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Sets of ids, so that what is wrong has a name."""

    published: frozenset[str]
    once: frozenset[str]
    deliveries: Mapping[str, int]
    by_spare: Mapping[str, int]
    """Of each channel with a spare provider, how many that one delivered."""
    archived: Mapping[str, int]
    lost: frozenset[str]
    unknown: int
    in_flight: int
    wrongly_repeated: frozenset[str]
    wrongly_archived: frozenset[str]
    needlessly_archived: frozenset[str]

    @property
    def repeated(self) -> int:
        return sum(1 for times in self.deliveries.values() if times > 1)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the drill fails, one line each; empty when it passes."""
        found = [
            (len(self.lost), "lost"),
            (len(self.wrongly_repeated), "delivered again without a fault or against the policy"),
            (len(self.wrongly_archived), "archived although the outcome was known"),
            (len(self.needlessly_archived), "archived although another provider could deliver"),
        ]
        lines = [f"{number} {what}" for number, what in found if number]
        if self.unknown > self.in_flight:
            lines.append(f"{self.unknown} unknown, but only {self.in_flight} sends in flight")
        return tuple(lines)


def take_account(evidence: Evidence) -> Account:
    """Counts; decides nothing that is not in the module's own words."""
    in_flight = _in_flight(evidence)
    excused = _in_flight(evidence, late_log=LATE_LOG)
    accepted = _by_id(seen for seen in evidence.seen if seen.accepted)
    archived = {letter.id for letter in evidence.letters}
    published = frozenset(evidence.published)
    unknown = {x.id for x in evidence.letters if x.reason == Reason.UNKNOWN_OUTCOME}
    return Account(
        published=published,
        once=frozenset(id for id, sends in accepted.items() if len(sends) == 1),
        deliveries={id: len(sends) for id, sends in accepted.items()},
        by_spare=_by_spare(accepted, evidence),
        archived=Counter(letter.reason for letter in evidence.letters),
        lost=frozenset(published - accepted.keys() - archived),
        unknown=len(unknown) + sum(len(sends) - 1 for sends in accepted.values()),
        in_flight=len(in_flight),
        wrongly_repeated=_wrongly_repeated(accepted, excused, evidence),
        wrongly_archived=_wrongly_archived(accepted, excused, evidence),
        needlessly_archived=_needlessly_archived(excused, evidence),
    )


def recoveries(evidence: Evidence) -> list[float | None]:
    """For each fault, the seconds to the first delivery after it; None where none came.

    For a fault of the archive: to the first letter archived after it. What was under way
    when the fault struck does not count as recovery.
    """
    archived = sorted(letter.at for letter in evidence.letters)
    delivered: dict[str, list[float]] = {}
    for seen in sorted(evidence.seen, key=lambda each: each.at):
        if seen.accepted:
            for queue in {"", evidence.queues.get(seen.id, "")}:
                delivered.setdefault(queue, []).append(seen.at)
    return [
        _first_after(
            fault, archived if fault.kind in _OF_ARCHIVE else delivered.get(fault.queue, [])
        )
        for fault in evidence.faults
    ]


def _first_after(fault: Fault, times: Sequence[float]) -> float | None:
    position = bisect_right(times, fault.struck + TRANSIT)
    return times[position] - fault.at if position < len(times) else None


def _in_flight(evidence: Evidence, *, late_log: float = 0.0) -> set[Seen]:
    hung_up = [fault for fault in evidence.faults if fault.kind is Kind.GATEWAY_CLOSED]
    elsewhere = [fault for fault in evidence.faults if fault not in hung_up]
    at_first = _windows(evidence.faults, evidence.longest_delay, late_log)
    at_spare = _windows(elsewhere, evidence.longest_delay, late_log)
    return {
        seen
        for seen in evidence.seen
        if seen.cut
        or any(
            begin <= seen.at <= end
            for queue in ("", evidence.queues.get(seen.id, ""))
            for begin, end in (at_spare if seen.spare else at_first).get(queue, ())
        )
    }


def _windows(
    faults: Sequence[Fault], longest_delay: float, late_log: float
) -> dict[str, list[tuple[float, float]]]:
    """For each queue, when a send has to arrive to be in flight at a fault of that queue."""
    found: dict[str, list[tuple[float, float]]] = {}
    for fault in faults:
        if fault.kind in _LEAVE_UNKNOWN:
            late = late_log if fault.kind is Kind.REDIS_KILL else 0.0
            begin = fault.at - longest_delay - SETTLING - late
            found.setdefault(fault.queue, []).append((begin, fault.until + TRANSIT))
    return found


def _by_id(seen: Iterable[Seen]) -> dict[str, list[Seen]]:
    """In order of arrival."""
    found: dict[str, list[Seen]] = {}
    for each in sorted(seen, key=lambda each: each.at):
        found.setdefault(each.id, []).append(each)
    return found


def _by_spare(accepted: Mapping[str, Sequence[Seen]], evidence: Evidence) -> dict[str, int]:
    taken = [id for id, sends in accepted.items() if any(send.spare for send in sends)]
    found = Counter(_channel(id, evidence) for id in taken)
    return {channel: found[channel] for channel in sorted(evidence.spared)}


def _wrongly_repeated(
    accepted: Mapping[str, Sequence[Seen]], excused: Collection[Seen], evidence: Evidence
) -> frozenset[str]:
    """Every delivery but the last must be one whose outcome could be unknown."""
    return frozenset(
        id
        for id, sends in accepted.items()
        if len(sends) > 1
        and not (
            _channel(id, evidence) in evidence.resending
            and all(send in excused for send in sends[:-1])
        )
    )


def _wrongly_archived(
    accepted: Mapping[str, Sequence[Seen]], excused: Collection[Seen], evidence: Evidence
) -> frozenset[str]:
    """What was delivered and is archived all the same: no delivery of it may be known."""
    archived = {letter.id for letter in evidence.letters}
    return frozenset(
        id
        for id, sends in accepted.items()
        if id in archived and not all(send in excused for send in sends)
    )


def _needlessly_archived(excused: Collection[Seen], evidence: Evidence) -> frozenset[str]:
    """What is archived of channels with a spare provider, and should have been delivered."""
    seen = _by_id(evidence.seen)
    return frozenset(
        letter.id
        for letter in evidence.letters
        if letter.id is not None
        and _channel(letter.id, evidence) in evidence.spared
        and not (letter.reason in _REFUSALS and letter.id in evidence.refused)
        and not (
            letter.reason == Reason.UNKNOWN_OUTCOME
            and _may_be_unknown(seen.get(letter.id), excused)
        )
    )


def _may_be_unknown(sends: Sequence[Seen] | None, excused: Collection[Seen]) -> bool:
    """Whether the outcome may be unknown; what nobody saw is left to the rule that counts."""
    return sends is None or any(send in excused for send in sends)


def _channel(id: str, evidence: Evidence) -> str:
    return evidence.queues.get(id, "").partition("-")[0]
