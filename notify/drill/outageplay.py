"""Plays the drill outage-replay: many die of an outage, and somebody sends the right ones again.

50,000 notifications get into the archive through the pipeline, for four reasons. A person at
the command line finds, counts and explains those that died of the outage, and sends them again
at a steady rate, while urgent notifications flow. The replay is killed in the middle and
started again with the same command. The gateway's own record says whether each came once.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from notify.drill.live import LiveTraffic
from notify.drill.outage import MEANT, NAME, Latency, OutagePlan, Seen, latency
from notify.drill.outagestage import OutageStage, outage_stage, recover
from notify.drill.person import Person
from notify.drill.screen import Screen
from notify.drill.settling import Progress
from notify.errors import NotifyError, Unavailable
from notify.local.process import GuardedProcess
from notify.notification import Notification
from notify.publish import Client
from notify.sandbox import Received
from notify.store import Filter, Store
from notify.store.batches import Batches

_LOOK_EVERY: Final = 0.5
_PATIENCE: Final = 90.0
_RUN: Final = "outage-drill"


def run_outage_drill(plan: OutagePlan, directory: Path, screen: Screen) -> bool:
    """Runs the drill with its data below ``directory``; True when it passes.

    Raises ``UsageError`` and ``Unavailable`` with one line that says what is wrong.
    """
    begun = time.monotonic()
    with screen, outage_stage(plan, directory, screen.say) as ready:
        with (
            closing(Store(ready.settings.archive.url)) as store,
            closing(Batches(ready.settings.archive.url)) as batches,
        ):
            seen = _Play(plan, ready, screen, store, batches).play()
        facts = seen.to_dict() | {
            "rabbitmq": ready.broker_version,
            "archive": store_kind(plan),
            "seconds": round(time.monotonic() - begun, 1),
        }
        screen.end(facts, list(_lines(facts)), str(_save(facts, directory)))
    return not seen.problems


def store_kind(plan: OutagePlan) -> str:
    return plan.archive.partition(":")[0] or "sqlite"


class _Play:
    def __init__(
        self,
        plan: OutagePlan,
        ready: OutageStage,
        screen: Screen,
        store: Store,
        batches: Batches,
    ) -> None:
        self._plan = plan
        self._ready = ready
        self._screen = screen
        self._store = store
        self._batches = batches
        self._person = Person(ready.environ, ready.logs)
        self._number = plan.expected.get(str(MEANT), 0)
        self._published = 0
        self._facts: dict[str, Any] = {}

    def play(self) -> Seen:
        say = self._screen.say
        say(f"publishing: {self._plan.count} notifications; the provider is down")
        self._timed("publishing s", self._publish)
        self._ready.start("normal", "archiver")
        self._timed("dying s", self._until_archived)
        archived = self._store.counts_by("reason", Filter())
        say(f"archive: {archived}")
        recover(self._plan, self._ready.sandbox)
        self._ready.start("urgent")
        with LiveTraffic(self._ready.settings, self._plan.run) as live:
            self._check(live)
            calm = self._calm(live)
            found = self._look_and_explain()
            begun = time.time()
            killed_at = self._timed("replaying s", lambda: self._replay(live))
            self._until_delivered(live)
            ended = time.time()
        self._until_arrived(live)
        return self._seen(archived, found, killed_at, live, calm, (begun, ended))

    def _timed(self, name: str, act: Callable[[], Any]) -> Any:
        begun = time.monotonic()
        result = act()
        self._facts[name] = round(time.monotonic() - begun, 1)
        return result

    def _publish(self) -> None:
        with Client(self._ready.settings) as client:
            for sent in client.send_many(self._notifications()):
                if sent.error is not None:
                    raise sent.error
                self._published += 1
        # Those that expire do so before a worker sees them.
        time.sleep(5.0)

    def _notifications(self) -> Iterator[Notification]:
        return map(self._plan.notification, range(self._plan.count))

    def _until_archived(self) -> None:
        self._until(lambda: self._store.count(Filter()), self._plan.count, "in the archive")

    def _until(self, count: Callable[[], int], wanted: int, what: str) -> None:
        """Until there are so many; raises ``Unavailable`` when no more come for long."""
        last, since = -1, time.monotonic()
        while (now := count()) < wanted:
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() - since > _PATIENCE:
                raise Unavailable(f"only {now} of {wanted} are {what}; see the logs")
            self._show()
            time.sleep(_LOOK_EVERY)

    def _show(self) -> None:
        self._screen.show(
            Progress(
                count=self._plan.count,
                published=self._published,
                archived=self._store.count(Filter()),
                delivered=len(self._accepted()),
            )
        )

    def _calm(self, live: LiveTraffic) -> float:
        """Urgent traffic alone, for a while once it gets through; when that began."""
        ids = live.published.keys()
        self._until(lambda: len(self._accepted().keys() & ids), 1, "delivered")
        begun = time.time()
        time.sleep(self._plan.calm)
        return begun

    def _look_and_explain(self) -> int:
        """What the runbook says: count, read one story, and look at what would be done."""
        person, say = self._person, self._screen.say
        counts = person.asks("dead", "count", "--by", "reason")["counts"]
        say(f"person: counts {counts}")
        (first,) = person.asks("dead", "list", "--reason", MEANT, "--limit", "1")["dead_letters"]
        (story,) = person.asks("dead", "show", str(first["seq"]))
        say(f"person: reads of letter {first['seq']}: {story['means']}")
        plan = person.asks(*self._command())
        say(f"person: {plan['ready']} of {plan['matching']} would be sent again")
        return int(plan["ready"])

    def _command(self) -> tuple[str, ...]:
        rate = ("--rate", f"{self._plan.rate:g}", "--name", _RUN)
        return ("dead", "replay", "--reason", str(MEANT), *rate)

    def _replay(self, live: LiveTraffic) -> int:
        """Killed in the middle, and started again with the same command; when it was killed."""
        self._screen.say(f"person: replays at {self._plan.rate:g} a second")
        process = self._person.starts(*self._command(), "--yes")
        self._until_sent(process, self._number // 2, live)
        process.kill()
        killed_at = self._sent()
        self._screen.say(f"replay: killed after {killed_at}; started again")
        process = self._person.starts(*self._command(), "--yes")
        self._until_sent(process, self._number, live)
        while process.alive():
            time.sleep(_LOOK_EVERY)
        process.abandon()
        return killed_at

    def _until_sent(self, process: GuardedProcess, wanted: int, live: LiveTraffic) -> None:
        def count() -> int:
            self._check(live)
            sent = self._sent()
            if sent < wanted and not process.alive():
                raise NotifyError(f"the replay ended after {sent}; see {process.log}")
            return sent

        self._until(count, wanted, "sent again")

    def _sent(self) -> int:
        batch = self._batches.get(_RUN)
        return 0 if batch is None else batch.sent

    def _check(self, live: LiveTraffic) -> None:
        if live.error is not None:
            raise live.error

    def _until_delivered(self, live: LiveTraffic) -> None:
        def delivered() -> int:
            self._check(live)
            return sum(1 for id in self._accepted() if id.startswith(f"outage-{self._plan.run}:"))

        self._until(delivered, self._number, "delivered")

    def _until_arrived(self, live: LiveTraffic) -> None:
        """The last live ones; then a moment, in which nothing more may come."""
        ids = live.published.keys()
        self._until(lambda: len(self._accepted().keys() & ids), len(ids), "delivered")
        time.sleep(2.0)

    def _accepted(self) -> Counter[str]:
        return Counter(each.id for each in self._received())

    def _received(self) -> list[Received]:
        return [each for each in self._ready.sandbox.received() if each.accepted]

    def _seen(
        self,
        archived: dict[str, int],
        found: int,
        killed_at: int,
        live: LiveTraffic,
        calm: float,
        replay: tuple[float, float],
    ) -> Seen:
        arrived = {each.id: each.at for each in self._received()}
        begun, ended = replay

        def between(start: float, end: float) -> Latency:
            return latency(
                [
                    arrived[id] - at
                    for id, at in live.published.items()
                    if id in arrived and start <= at < end
                ]
            )

        run = self._person.asks("dead", "replays", "show", _RUN, "--limit", "1")
        return Seen(
            plan=self._plan,
            archived=archived,
            found=found,
            accepted=self._accepted(),
            urgent=list(live.published),
            states=self._store.counts_by("state", Filter()),
            replayed=run["sent"],
            before=between(calm, calm + self._plan.calm),
            during=between(begun, ended),
            killed_at=killed_at,
            facts=self._facts,
        )


def _save(facts: dict[str, Any], directory: Path) -> Path:
    accounts = directory / "accounts"
    path = accounts / f"{NAME}-{facts['run']}.json"
    try:
        accounts.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise NotifyError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    left_out = ("drill", "run", "passed", "problems", "wrong ids")
    for name, value in facts.items():
        if name not in left_out:
            shown = value.items() if isinstance(value, dict) else ()
            yield name, ", ".join(f"{k}: {v}" for k, v in shown) if shown else str(value)
