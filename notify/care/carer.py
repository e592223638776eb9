"""Carries the rules out: looks at new letters, and sends those again whose time has come.

Everything that must survive a kill is in the database. A letter is taken before it is sent
again and given back afterwards; one that was taken by a process that died is sent again under
the same generation, which delivers it once.
"""

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import starmap
from typing import Final, Protocol

from notify.care.readiness import Ready
from notify.care.rules import decide
from notify.config import CareRule, CareSettings
from notify.store import ArchivedLetter
from notify.store.care import REFUSED, REPLAYED, WAITING, CareBook, Case, Ending
from notify.store.erasing import ERASED
from notify.store.rows import OPEN
from notify.telemetry import event

log = logging.getLogger(__name__)

_PAGE: Final = 500
_HOUR: Final = 3600.0
_CURSOR: Final = "cursor"
# Longer than any transaction that adds letters lasts.
_SETTLED: Final = 60.0
_LATER: Final = timedelta(minutes=1)
_RATE: Final = "rate"
_ALWAYS: Final = Ready(letters=sys.maxsize)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came of sending a letter again: ``later`` where nothing is decided yet."""

    note: str = ""
    later: bool = False


class Resend(Protocol):
    """Sends letters again, each under the next generation of its id: repeated, it is once."""

    def __call__(self, rows: Sequence[ArchivedLetter], rule: CareRule) -> Mapping[int, Answer]:
        """An answer for each, by its number; at the pace of the rule."""
        ...

    def recover(self) -> Mapping[int, Answer]:
        """What came of letters whose sending was cut short."""
        ...


class Providers(Protocol):
    """Whether providers work, asked once."""

    def of(self, channel: str | None, provider: str | None) -> Ready: ...


@dataclass(kw_only=True, slots=True)
class Done:
    """What one look did, or would do: counts by rule; ``why`` letters wait that are due."""

    looked_at: int = 0
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    why: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def more(self) -> bool:
        """Whether only the rate keeps letters from being sent now."""
        return any(why == _RATE for _, why in self.why)


class Carer:
    """Carries the rules out while ``owner`` leads. Raises ``Unavailable``."""

    def __init__(
        self,
        book: CareBook,
        settings: CareSettings,
        resend: Resend,
        *,
        owner: str,
        wait: Callable[[float], bool],
        settled: float = _SETTLED,
    ) -> None:
        """``wait`` sleeps for so many seconds and says whether to stop."""
        self._book = book
        self._settings = settings
        self._resend = resend
        self._owner = owner
        self._wait = wait
        self._settled = settled

    def look(self, providers: Providers, keep_leading: Callable[[], bool]) -> Done:
        """One look at everything."""
        done = Done()
        self._book.finish(starmap(_ending, self._resend.recover().items()))
        self._book.overtake()
        self._take_up(done)
        paused = {pause.rule for pause in self._book.pauses()}
        for rule in self._settings.rules:
            if rule.action != "replay":
                continue
            before = datetime.now(UTC) - timedelta(seconds=rule.not_after)
            self._book.give_up(rule.name, before, "it is older than not_after")
            if paused & {rule.name, ""}:
                done.why[rule.name, "paused"] += self._book.waiting().get(rule.name, 0)
            elif not self._send_all(rule, providers, done, keep_leading):
                break
        return done

    def _take_up(self, done: Done) -> None:
        """Decides about letters that came since the last look; all anew for other rules."""
        rules, since = self._settings.rules, datetime.now(UTC) - reach(self._settings)
        place = json.loads(self._book.noted(_CURSOR) or "{}")
        if place.get("rules") != fingerprint(rules):
            self._book.forget([rule.name for rule in rules], since)
            place = {"seq": 0, "rules": fingerprint(rules)}
        while True:
            found, reached = self._book.unseen(place["seq"], since, self._settled, _PAGE)
            cases = [each.case for row in found if (each := decide(row, rules)) and each.case]
            self._book.open(cases)
            done.looked_at += len(found)
            done.taken.update((case.rule, case.state) for case in cases)
            if reached != place["seq"]:
                place["seq"] = reached
                self._book.note(_CURSOR, json.dumps(place))
            if len(found) < _PAGE or self._wait(0):
                return

    def _send_all(
        self, rule: CareRule, providers: Providers, done: Done, keep_leading: Callable[[], bool]
    ) -> bool:
        """Whether to go on with the next rule."""
        for place, due in self._book.places(rule.name).items():
            ready = providers.of(*place) if rule.when == "breaker_closed" else _ALWAYS
            room = self._room(rule)
            most = min(due, ready.letters, room, self._share(rule))
            if most < due:
                why = ready.why if ready.letters < due else ""
                why = why or ("most_per_hour is reached" if room <= most else _RATE)
                done.why[rule.name, why] += due - most
            if most > 0:
                self._send(self._book.due(rule.name, place, most), rule, done)
            if self._wait(0) or not keep_leading():
                return False
        return True

    def _share(self, rule: CareRule) -> int:
        """Of one look, so that the next one sees soon whether the provider still works."""
        return max(1, min(_PAGE, int(rule.rate * self._settings.every)))

    def _room(self, rule: CareRule) -> int:
        """How many letters may be sent again now; what was taken counts, whatever came of it."""
        spent = self._book.sent_again(_HOUR)
        own = rule.most_per_hour - spent.get(rule.name, 0)
        return max(0, min(own, self._settings.most_per_hour - sum(spent.values())))

    def _send(self, rows: Sequence[ArchivedLetter], rule: CareRule, done: Done) -> None:
        taken = self._book.take([row.seq for row in rows], self._owner)
        mine = [row for row in rows if row.seq in taken]
        answers = self._resend([row for row in mine if row.state == OPEN], rule)
        answers = {row.seq: _over(row) for row in mine if row.state != OPEN} | dict(answers)
        # Without an answer its run is not over, and tells later.
        ended = [row for row in mine if row.seq in answers]
        self._book.finish(_ending(row.seq, answers[row.seq]) for row in ended)
        for row in ended:
            note = answers[row.seq].note
            count = done.refused if note else done.sent
            count[rule.name] += 1
            details = event(id=row.letter.id, rule=rule.name, dead_letter=row.seq, why=note)
            log.info("not sent again" if note else "sent again", extra=details)


def _over(row: ArchivedLetter) -> Answer:
    """It was sent again before its process died, or there is nothing left of it to send."""
    return Answer(note="it was erased" if row.state == ERASED else "")


def _ending(seq: int, answer: Answer) -> Ending:
    if answer.later:
        again_at = datetime.now(UTC) + _LATER
        return Ending(dead_seq=seq, state=WAITING, note=answer.note, again_at=again_at)
    return Ending(dead_seq=seq, state=REFUSED if answer.note else REPLAYED, note=answer.note)


def reach(settings: CareSettings) -> timedelta:
    """How long ago a letter may have died to be looked at."""
    return timedelta(seconds=max((rule.not_after for rule in settings.rules), default=0.0))


def fingerprint(rules: Sequence[CareRule]) -> str:
    """Of all that decides what becomes of letters."""
    return json.dumps([rule.model_dump(mode="json") for rule in rules], sort_keys=True)


def preview(
    book: CareBook, settings: CareSettings, now: datetime, settled: float = 0.0
) -> Mapping[str, list[Case]]:
    """Cases that a look would open, by rule; nothing changes."""
    since, after = now - reach(settings), 0
    found: dict[str, list[Case]] = {rule.name: [] for rule in settings.rules}
    while True:
        rows, after = book.unseen(after, since, settled, _PAGE)
        for row in rows:
            decision = decide(row, settings.rules)
            if decision and decision.case:
                found[decision.rule].append(decision.case)
        if len(rows) < _PAGE:
            return found
