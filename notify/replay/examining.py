"""Looks at dead letters, a page at a time: few questions to archive and Redis for all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from notify.errors import InvalidNotification
from notify.notification import Notification
from notify.replay.desk import Desk
from notify.replay.editing import edited, takes
from notify.replay.judging import Facts, judge, own, surely_kept
from notify.replay.values import OWN, WORDS, Order, Why
from notify.store import ArchivedLetter
from notify.store.replayrows import ReplayLetter


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What is to be done with a letter. ``other`` is the replay that had it before; ``ours``:
    this one has taken it already, and must bring it to an end; ``lost``: and the ledger may
    have forgotten that it was published."""

    facts: Facts
    why: Why | None = None
    note: str = ""
    other: str | None = None
    ours: bool = False
    lost: bool = False

    @property
    def row(self) -> ArchivedLetter:
        return self.facts.row

    @property
    def notification(self) -> Notification:
        """What is to be sent."""
        assert self.facts.notification is not None
        return self.facts.notification


class Examiner:
    """For one order. ``run`` is the replay that asks, where there is one already."""

    def __init__(self, desk: Desk, order: Order, run: str = "") -> None:
        self._desk = desk
        self._order = order
        self._run = run
        self._intact_since: datetime | None = None

    def examine(self, rows: Sequence[ArchivedLetter], numbers: Sequence[int] = ()) -> list[Verdict]:
        """One verdict for each; ``numbers`` are those that the letters have in the run.

        Raises ``Unavailable``.
        """
        now, self._intact_since = datetime.now(UTC), None
        known = self._with_blocks(self._with_records([self._read(row, now) for row in rows]))
        places = numbers or [0] * len(rows)
        return [self._verdict(*pair, now) for pair in zip(known, places, strict=True)]

    def _verdict(self, facts: Facts, number: int, now: datetime) -> Verdict:
        mine = own(facts, self._run, number) if facts.notification is not None else None
        if mine is not None:
            return self._of_mine(facts, mine, now)
        why = judge(facts, self._order, now)
        if why is None:
            return Verdict(facts=facts)
        other = facts.later.run if facts.later is not None else None
        if why is Why.TAKEN and other == self._run:
            why, other = Why.SAME_ID, None
        return Verdict(facts=facts, why=why, note=_note(why, facts, other), other=other)

    def _of_mine(self, facts: Facts, mine: ReplayLetter, now: datetime) -> Verdict:
        """The ledger knows of what was opened, unless it has forgotten that."""
        lost = facts.known is None and not self._surely_kept(facts, mine, now)
        if not lost or self._order.unknown:
            return Verdict(facts=facts, ours=True, lost=lost)
        return Verdict(
            facts=facts, why=Why.REPLAYED, note=WORDS[Why.REPLAYED], ours=True, lost=True
        )

    def _surely_kept(self, facts: Facts, mine: ReplayLetter, now: datetime) -> bool:
        assert facts.notification is not None
        retention = self._desk.settings.channel(facts.notification.channel).send.retention
        if self._intact_since is None:
            self._intact_since = self._desk.ledger.health().intact_since
        intact = self._intact_since
        return surely_kept(mine, intact_since=intact, retention=retention, now=now)

    def _read(self, row: ArchivedLetter, now: datetime) -> Facts:
        settings, order = self._desk.settings, self._order
        facts = Facts(row=row, configured=row.letter.channel in settings.channels)
        if row.letter.notification is None or row.letter.id is None or not facts.configured:
            return facts
        try:
            archived = Notification.from_dict(row.letter.notification)
            changed = edited(archived, order.edits, settings, now)
            if order.priority != OWN and changed.priority != order.priority:
                changed = changed.evolve(priority=order.priority)
        except InvalidNotification as error:
            return replace(facts, problem=str(error))
        provider = order.edits.provider
        fits = not provider or takes(provider, changed, settings)
        return replace(facts, notification=changed, digest=archived.digest, takes=fits)

    def _with_records(self, facts: Sequence[Facts]) -> list[Facts]:
        ids = sorted({each.row.letter.id for each in facts if each.row.letter.id is not None})
        records, now_ms = self._desk.ledger.known(ids)
        latest, makers = self._desk.replays.generations(ids), self._desk.replays.makers(ids)
        return [
            replace(
                each,
                known=records.get(id),
                now_ms=now_ms,
                latest=latest.get(id, 0),
                makers=makers.get(id, ()),
            )
            for each in facts
            for id in (each.row.letter.id or "",)
        ]

    def _with_blocks(self, facts: Sequence[Facts]) -> list[Facts]:
        asked = [each.notification for each in facts if each.notification is not None]
        blocks = iter(self._desk.blocklist.blocked_of(asked))
        return [
            each if each.notification is None else replace(each, block=next(blocks))
            for each in facts
        ]


def _note(why: Why, facts: Facts, other: str | None) -> str:
    more = ""
    if why is Why.SUPPRESSED and facts.block is not None:
        return f"it would be archived again as {facts.block.reason} ({facts.block.detail})"
    if why is Why.INVALID:
        more = f": {facts.problem}"
    elif other:
        more = f", {other}" if why is Why.TAKEN else f", by {other}"
    return f"{WORDS[why]}{more}"
