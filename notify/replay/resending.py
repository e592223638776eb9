"""How the letters of a run leave: each once, whoever else replays it, whatever is killed.

Each letter goes through four steps, and a run that was killed between any two of them goes on
where it was:

1. the run *takes* it in the archive, as a generation of its id that nobody else can take;
2. the ledger opens that generation: a second time changes nothing;
3. RabbitMQ confirms its message: a second one of the same generation is recognised;
4. the result is noted in the archive.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from notify.batch import TEMPORARY, Done
from notify.broker import Outgoing, Result
from notify.errors import Unavailable
from notify.ledger import Replayed, Replaying
from notify.message import Envelope, encode
from notify.replay.desk import Desk
from notify.replay.editing import renewed
from notify.replay.examining import Verdict
from notify.replay.results import Results
from notify.replay.values import WORDS, Order, Why
from notify.rows import Row
from notify.store.replayrows import FAILED, SENT
from notify.store.taking import Taken, Wish
from notify.topology import EXCHANGE

_GROUP: Final = 200
_GROUP_SECONDS: Final = 0.05
# What the ledger found where it did not open a generation.
_FOUND: Final = {
    "sent": Why.DELIVERED,
    "conflict": Why.CONFLICT,
    "dead": Why.SUPERSEDED,
    "unknown": Why.SUPERSEDED,
}
_T = TypeVar("_T")
_A = TypeVar("_A")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Opening:
    verdict: Verdict
    taken: Taken
    envelope: Envelope


class Resending:
    """The outlet of a batch whose rows are the letters of one run."""

    def __init__(
        self,
        desk: Desk,
        run: str,
        order: Order,
        results: Results,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._desk = desk
        self._run = run
        self._edits = order.edits
        self._results = results
        self._clock = clock
        self._out: deque[Done] = deque()

    def send(self, rows: Iterable[Row], *, window: int) -> Iterator[Done]:
        for result in self._desk.publisher.publish_many(self._outgoing(rows), window=window):
            yield self._published(result)
            yield from self._drained()
        yield from self._drained()

    def save(self) -> None:
        self._results.save()

    def _drained(self) -> Iterator[Done]:
        while self._out:
            yield self._out.popleft()

    def _outgoing(self, rows: Iterable[Row]) -> Iterator[Outgoing]:
        for group in self._groups(rows):
            taken = self._asked(self._in_time(group), self._take)
            for (number, generation), opening in self._opened(taken).items():
                message = encode(opening.envelope, now=datetime.now(UTC))
                yield Outgoing(key=(number, generation), exchange=EXCHANGE, message=message)

    def _groups(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """As many as come within a moment: one question for all of them."""
        group: list[Row] = []
        begun = 0.0
        for row in rows:
            begun = begun if group else self._clock()
            group.append(row)
            if len(group) >= _GROUP or self._clock() - begun >= _GROUP_SECONDS:
                yield group
                group = []
        if group:
            yield group

    def _in_time(self, group: Sequence[Row]) -> dict[int, Verdict]:
        """Those to ask for: not what was sent before, nor what has expired meanwhile."""
        now, found = datetime.now(UTC), {}
        for row in group:
            if self._results.sent_before(row.number):
                self._out.append(Done(number=row.number))
                continue
            verdict = self._results.verdict(row.number)
            if renewed(verdict.notification, self._edits, now).expired(now) and not verdict.ours:
                self._over(row.number, Why.EXPIRED)
            else:
                found[row.number] = verdict
        return found

    def _asked(
        self, about: Mapping[int, _T], ask: Callable[[Mapping[int, _T]], dict[int, _A]]
    ) -> dict[int, _A]:
        """Nothing where nobody answered: then the rows come again."""
        try:
            return ask(about) if about else {}
        except Unavailable as error:
            self._out.extend(Done(number=number, error=error) for number in about)
            return {}

    def _take(self, verdicts: Mapping[int, Verdict]) -> dict[int, _Opening]:
        wishes = [_wish(number, verdict) for number, verdict in verdicts.items()]
        found: dict[int, _Opening] = {}
        for number, answer in self._desk.replays.take(self._run, wishes).items():
            if isinstance(answer, Taken):
                envelope = self._envelope(verdicts[number], answer)
                found[number] = _Opening(verdict=verdicts[number], taken=answer, envelope=envelope)
            elif answer.run == self._run:
                self._over(number, Why.SAME_ID)
            else:
                self._over(number, Why.TAKEN, other=answer.run)
        return found

    def _envelope(self, verdict: Verdict, taken: Taken) -> Envelope:
        now = datetime.now(UTC)
        return Envelope(
            notification=renewed(verdict.notification, self._edits, now),
            generation=taken.generation,
            first_queued=now,
            provider=self._edits.provider,
        )

    def _opened(self, taken: Mapping[int, _Opening]) -> dict[tuple[int, int], _Opening]:
        found = {}
        for number, answer in self._asked(taken, self._open).items():
            opening = taken[number]
            if answer.ok:
                found[number, opening.taken.generation] = opening
            elif opening.taken.before and answer.generation >= opening.taken.generation:
                # It was published before this process was started, and somebody has it.
                self._results.over(number, SENT, generation=opening.taken.generation)
                self._out.append(Done(number=number))
            else:
                self._over(number, _FOUND.get(answer.state, Why.ON_ITS_WAY))
        return found

    def _open(self, openings: Mapping[int, _Opening]) -> dict[int, Replayed]:
        channels = self._desk.settings
        replays = [
            Replaying(
                envelope=each.envelope,
                retention=channels.channel(each.envelope.notification.channel).send.retention,
                archived=each.verdict.row.letter.attempt,
                digest=each.verdict.facts.digest,
            )
            for each in openings.values()
        ]
        return dict(zip(openings, self._desk.ledger.replay(replays), strict=True))

    def _published(self, result: Result) -> Done:
        number, generation = result.key
        if isinstance(result.error, TEMPORARY):
            return Done(number=number, error=result.error)
        if result.error is None:
            self._results.over(number, SENT, generation=generation)
        else:
            # Given back: whoever takes it next makes the same generation of it.
            self._results.over(number, FAILED, str(result.error))
        return Done(number=number, error=result.error)

    def _over(self, number: int, why: Why, *, other: str | None = None) -> None:
        note = f"{WORDS[why]}, {other}" if other else WORDS[why]
        self._results.over(number, why, note, other=other)
        self._out.append(Done(number=number, left_out=True))


def _wish(number: int, verdict: Verdict) -> Wish:
    return Wish(
        number=number,
        id=verdict.notification.id,
        generation=verdict.facts.generation + 1,
        again=verdict.facts.forgotten,
    )
