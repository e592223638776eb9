"""What a rule makes of a dead letter. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from notify.config import PROVIDER_OUTAGE, CareMatch, CareRule, is_outage
from notify.store import ArchivedLetter
from notify.store.care import (
    GIVEN_UP,
    HELD,
    OVERTAKEN,
    REFUSED,
    REPLAYED,
    REPLAYING,
    WAITING,
    Case,
)

_TOLD: Final = {
    WAITING: "sends it again after {due:%Y-%m-%d %H:%M:%S}",
    REPLAYING: "is sending it again",
    REPLAYED: "sent it again",
    HELD: "holds it for a person",
    REFUSED: "did not send it again",
    GIVEN_UP: "sends it no more",
    OVERTAKEN: "left it to somebody who took care of it",
}
_UNSURE: Final = "an earlier attempt may have arrived"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Which rule decided about a letter; without a case there is nothing to do about it."""

    rule: str
    case: Case | None = None


def decide(row: ArchivedLetter, rules: Sequence[CareRule]) -> Decision | None:
    """By the first rule that matches; None where none does."""
    for rule in rules:
        if matches(row, rule.match):
            return Decision(rule=rule.name, case=_case(row, rule))
    return None


def matches(row: ArchivedLetter, wanted: CareMatch) -> bool:
    """Whether all of what is given matches; of several values, one."""
    letter = row.letter
    values = {
        "channel": letter.channel,
        "priority": letter.priority,
        "provider": letter.provider,
        "code": row.code,
        "template": row.template,
        "batch": row.batch,
        "schedule": row.schedule,
    }
    if wanted.reason and not reasons(row) & {*wanted.reason}:
        return False
    if any(letter.labels.get(name) != value for name, value in wanted.label.items()):
        return False
    given = {name: getattr(wanted, name) for name in values}
    return all(values[name] in several for name, several in given.items() if several)


def reasons(row: ArchivedLetter) -> set[str]:
    """The reason of a letter, and what it may be called besides."""
    last: Any = row.letter.attempts[-1].get("reason") if row.letter.attempts else ""
    found = {row.letter.reason}
    return found | {PROVIDER_OUTAGE} if is_outage(row.letter.reason, str(last)) else found


def due_at(row: ArchivedLetter, rule: CareRule) -> datetime:
    """When it is to be sent again: the later the more often that was done before."""
    times = row.letter.generation - 1
    # Beyond that the cap has been reached for every factor that there is, or never will be.
    wait = rule.first * rule.factor ** min(times, 64)
    return row.letter.dead_at + timedelta(seconds=min(wait, rule.cap))


def _case(row: ArchivedLetter, rule: CareRule) -> Case | None:
    if rule.action == "ignore":
        return None
    state, note, when = WAITING, "", due_at(row, rule)
    if rule.action == "hold":
        state, when = HELD, row.letter.dead_at
    elif row.letter.generation > rule.most:
        state, note = GIVEN_UP, f"it was sent again {row.letter.generation - 1} times before"
    elif not rule.may_repeat and _unsure(row):
        state, note = HELD, _UNSURE
    return Case(dead_seq=row.seq, rule=rule.name, state=state, due_at=when, note=note)


def _unsure(row: ArchivedLetter) -> bool:
    """Whether any attempt of its last generation may have arrived after all."""
    return any(attempt.get("outcome") == "unknown" for attempt in row.letter.attempts)


def told(case: Case | None) -> str:
    """A case in words, for the story of a letter; "" without one."""
    if case is None:
        return ""
    note = f" ({case.note})" if case.note else ""
    words = _TOLD.get(case.state, case.state).format(due=case.due_at)
    return f"rule {case.rule} {words}{note}"
