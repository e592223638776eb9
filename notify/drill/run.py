"""Plays a drill: publish while things break, wait until all is settled, count."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from notify.drill.account import Evidence, Letter, Seen, take_account
from notify.drill.faults import Lane
from notify.drill.plan import Fault, Kind, Plan
from notify.drill.publishing import Publishing
from notify.drill.report import Result
from notify.drill.scheduling import Scheduling
from notify.drill.screen import Screen
from notify.drill.settling import Progress, Settling
from notify.drill.stage import RECORD, SPARE_RECORD, Stage, stage
from notify.drill.traffic import LONGEST_DELAY, Item, traffic
from notify.errors import ManagementUnavailable, NotifyError
from notify.provision import management
from notify.sandbox import Received, read_record
from notify.store import Filter, Store

_LOOK_EVERY: Final = 0.5
_OPEN: Final = Filter(state="open", limit=None)


def run_drill(plan: Plan, directory: Path, screen: Screen) -> bool:
    """Runs the drill with its data below ``directory``; True when it passes.

    Raises ``UsageError`` and ``Unavailable`` with one line that says what is wrong.
    """
    items, started = traffic(plan), time.monotonic()
    with screen, ExitStack() as kept:
        with stage(plan, items, directory, screen.say) as ready:
            played = kept.enter_context(closing(_Play(plan, items, ready, screen)))
            played.play()
            screen.say("queues: empty; stopping the processes" if played.settled else "giving up")
        result = played.result(directory, time.monotonic() - started)
        screen.finish(result.to_dict(), str(_save(result, directory)))
    return result.passed


class _Play:
    def __init__(self, plan: Plan, items: Sequence[Item], ready: Stage, screen: Screen) -> None:
        self._plan = plan
        self._items = items
        self._ready = ready
        self._screen = screen
        self._api = management(ready.settings)
        self._lanes = [Lane(p, ready.breaker, screen.say) for p in (plan.once(), plan.again())]
        publishing = Scheduling if plan.drill.scheduled else Publishing
        self._publishing = publishing(
            ready.settings, items, http_url=ready.gateways.sandbox.http_url, rate=plan.rate
        )
        self._store = Store(ready.settings.archive.url)
        self._delivered: set[str] = set()
        self.begun = time.time()
        self.settled = False

    def close(self) -> None:
        self._store.close()
        self._api.close()

    def play(self) -> None:
        what = f"{self._plan.count} notifications, {self._plan.rate:g} a second"
        self._screen.say(f"publishing: {what}; faults begin (seed {self._plan.seed})")
        with self._running():
            self._watch_faults()
        self._screen.say("faults: enough; waiting until all is settled")
        self._watch_settling()

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Publishing and both lanes; whatever was broken is mended at the end."""
        once, again = self._lanes
        with ExitStack() as stack:
            stack.callback(self._publishing.abandon)
            self._publishing.start()
            for lane in (again, once):
                lane.start()
                stack.callback(lane.finish)
            yield

    def _watch_faults(self) -> None:
        """Until little is left, and every kind of fault has been."""
        while True:
            self._raise_errors()
            progress = self._look()
            if progress.enough_faults and not self._missing_kinds():
                return
            time.sleep(_LOOK_EVERY)

    def _missing_kinds(self) -> set[Kind]:
        return self._plan.drill.kinds - {f.kind for lane in self._lanes for f in lane.faults}

    def _watch_settling(self) -> None:
        settling = Settling(clock=time.monotonic)
        while not settling.over(progress := self._look(settling=True)):
            time.sleep(_LOOK_EVERY)
        self.settled = progress.left == 0

    def _raise_errors(self) -> None:
        errors = [self._publishing.error, *(lane.error for lane in self._lanes)]
        for error in filter(None, errors):
            raise error

    def _look(self, *, settling: bool = False) -> Progress:
        received = self._ready.gateways.received()
        self._delivered = {item.id for item in received if item.accepted}
        progress = Progress(
            count=self._plan.count,
            published=len(self._publishing.confirmed),
            delivered=len(self._delivered),
            archived=self._not_delivered() if settling else self._store.count(_OPEN),
            seen=len(received),
            left=self._left() if settling else None,
        )
        self._screen.show(progress)
        return progress

    def _not_delivered(self) -> int:
        """Archived ones that were not delivered: with the delivered, all that is settled."""
        return len({row.letter.id for row in self._store.find(_OPEN)} - self._delivered)

    def _left(self) -> int | None:
        with suppress(ManagementUnavailable):
            queues = self._api.queues().values()
            return sum(q.ready + q.unacknowledged + q.held_back for q in queues)
        return None

    def result(self, directory: Path, seconds: float) -> Result:
        """Counted after all processes have ended."""
        faults = sorted((f for lane in self._lanes for f in lane.faults), key=lambda f: f.at)
        seen = _seen(read_record(directory / RECORD), self._items)
        if self._plan.drill.spare:
            seen += _seen(read_record(directory / SPARE_RECORD), self._items, spare=True)
        evidence = self._evidence(seen, faults)
        return Result(
            plan=self._plan,
            broker=self._ready.broker_version,
            account=take_account(evidence),
            evidence=evidence,
            begun=self.begun,
            seconds=seconds,
            repeats=self._publishing.repeats,
            settled=self.settled,
            ended_by_themselves=self._ready.crew.ended_by_themselves,
        )

    def _evidence(self, seen: Sequence[Seen], faults: Sequence[Fault]) -> Evidence:
        channels = self._ready.settings.channels
        return Evidence(
            published=self._publishing.confirmed,
            refused={item.id for item in self._items if item.fate == "refused"},
            queues={item.id: item.queue for item in self._items},
            resending={c for c, own in channels.items() if own.send.unknown == "resend"},
            spared={c for c, own in channels.items() if len(own.providers) > 1},
            seen=seen,
            letters=[
                Letter(id=r.letter.id, reason=r.letter.reason, at=r.archived_at.timestamp())
                for r in self._store.find(_OPEN)
            ],
            faults=faults,
            longest_delay=LONGEST_DELAY,
        )


def _seen(
    received: Sequence[Received], items: Sequence[Item], *, spare: bool = False
) -> list[Seen]:
    """A mail that is refused before its content came does not show its id."""
    by_address = {item.address: item.id for item in items}
    return [
        Seen(
            id=item.id or by_address.get(item.recipient, ""),
            at=item.at,
            accepted=item.accepted,
            cut=item.answered == "reset",
            spare=spare,
        )
        for item in received
    ]


def _save(result: Result, directory: Path) -> Path:
    accounts = directory / "accounts"
    path = accounts / f"{result.plan.name}-{result.plan.run}.json"
    try:
        accounts.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps(result.to_dict(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise NotifyError(f"{path}: cannot be written: {error.strerror}") from error
    return path
