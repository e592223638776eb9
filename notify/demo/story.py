"""The story: publish, deliver, back off, refuse, replay, fire a schedule, count."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from notify import provision
from notify.demo.account import latencies, take_account
from notify.demo.screen import Screen
from notify.demo.stage import Stage, stage
from notify.errors import NotifyError, Unavailable
from notify.notification import Notification
from notify.publish import Client
from notify.replay import Order, open_desk, run_replay
from notify.rows import read_rows
from notify.sandbox import Answer, Received
from notify.schedule import Book, parse_spec
from notify.schedule import spec as specs
from notify.store import ArchivedLetter, Filter, Store

# Two gateways misbehave. The numbers and names are those of the shipped file.
BUSY = "+491709999503"
BOUNCING = "nobody@bounce.example.com"
CLOSED = "/hook/closed"
_SCHEDULE = "demo-reminder"
_SETTLE_SECONDS = 45.0


def run_demo(directory: Path, screen: Screen) -> bool:
    """Plays the demo with its data below ``directory``; True when the counts add up."""
    with screen, stage(directory, screen.say) as ready, closing(_Story(ready, screen)) as story:
        return story.play()


class _Story:
    def __init__(self, ready: Stage, screen: Screen) -> None:
        self.settings = ready.settings
        self.sandbox = ready.sandbox
        self.screen = screen
        self.published: dict[str, Notification] = {}
        self._told = 0
        self.ledger = provision.ledger(self.settings)
        self.store = Store(self.settings.archive.url)
        self.store.create()

    def close(self) -> None:
        self.store.close()
        self.ledger.close()

    def play(self) -> bool:
        self._script_gateways()
        self._plan_occurrence()
        self._publish()
        self._watch(lambda: bool(self.store.get(self._id_of(CLOSED))))
        self._replay()
        self._watch(self._all_settled)
        account = take_account(list(self.published), self.sandbox.received(), self.store)
        times = latencies(self.published, self.sandbox.received(), self.ledger)
        self.screen.say("all settled: stopping the processes")
        self.screen.finish(account.to_dict(), times, self._attempts())
        return account.adds_up

    def _script_gateways(self) -> None:
        self.sandbox.script(BUSY, Answer(status=503), Answer(status=503))
        self.sandbox.script(CLOSED, Answer(status=404))
        refusal = Answer(smtp_stage="rcpt", smtp_reply="550 5.1.1 No such user")
        self.sandbox.script(BOUNCING, refusal, then=refusal)
        self.screen.say("gateways: one answers 503 twice, one has closed, one mailbox is gone")

    def _plan_occurrence(self) -> None:
        at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5)
        reminder = {"channel": "sms", "recipient": "+4915155555555", "priority": "urgent"}
        spec = parse_spec(_SCHEDULE, {"at": at, "body": "⏰ It is time.", **reminder})
        with closing(Book(self.settings)) as book:
            book.put(spec, replace=True)
        planned = specs.notification(spec, at, at)
        self.published[planned.id] = planned
        self.screen.say(f"schedule: one text planned for {at:%H:%M:%S} UTC")

    def _publish(self) -> None:
        begun = time.monotonic()
        with Client(self.settings) as client:
            for sent in client.send_many(self._notifications()):
                if sent.error is not None:
                    raise sent.error
        took = (time.monotonic() - begun) * 1000
        count = len(self.published) - 1
        self.screen.say(f"published: {count} notifications, each confirmed, in {took:.0f} ms")

    def _notifications(self) -> Iterator[Notification]:
        text = (files("notify.demo") / "notifications.csv").read_text(encoding="utf-8")
        lines = text.replace("{sandbox}", self.sandbox.http_url).splitlines(keepends=True)
        batch = f"demo-{int(time.time())}"
        for notification in read_rows(lines, "notifications.csv", batch):
            self.published[notification.id] = notification
            yield notification

    def _watch(self, over: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not over():
            if time.monotonic() > deadline:
                raise Unavailable("not everything was settled in time; see the logs")
            time.sleep(0.1)
            self._show()
        self._show()

    def _show(self) -> None:
        received = self.sandbox.received()
        for item in received[self._told :]:
            self._tell(item)
        self._told = len(received)
        self.screen.show(self.published, received, len(self._open_letters()))

    def _tell(self, item: Received) -> None:
        """What is out of the ordinary: a failure, a success after one, the schedule."""
        if not item.accepted:
            said = f"attempt {item.attempt_no} was answered {item.answered}"
            self.screen.say(f"{item.channel}: {said}; {self._what_next(item)}")
        elif item.attempt_no > 1:
            self.screen.say(f"{item.channel}: attempt {item.attempt_no} was accepted")
        elif item.id.startswith("schedule:"):
            late = (item.at - self.published[item.id].created_at.timestamp()) * 1000
            self.screen.say(f"schedule: fired and delivered {late:.0f} ms after its instant")

    def _what_next(self, item: Received) -> str:
        """The next step as the ledger has it, a moment after the answer."""
        # A mail that is refused before its content does not show its id.
        id = item.id or self._id_of(item.recipient)
        deadline = time.monotonic() + _SETTLE_SECONDS
        while (record := self.ledger.record(id)) is None or record.step is None:
            if time.monotonic() > deadline:
                raise Unavailable("an attempt was not settled in time; see the logs")
            time.sleep(0.01)
        if record.step.do == "dead":
            return "permanent, so it goes to the archive"
        return f"the next in {record.step.rung} s, waiting in RabbitMQ"

    def _all_settled(self) -> bool:
        archived = {row.letter.id for row in self._open_letters()}
        return self._delivered() | archived == set(self.published)

    def _delivered(self) -> set[str]:
        return {item.id for item in self.sandbox.received() if item.accepted}

    def _open_letters(self) -> Sequence[ArchivedLetter]:
        return self.store.find(Filter(state="open", limit=1000))

    def _replay(self) -> None:
        row = self.store.get(self._id_of(CLOSED))[0]
        self.screen.say(f"archive: dead letter {row.seq} is {row.letter.reason}; endpoint reopened")
        self.sandbox.script(CLOSED)
        with open_desk(self.settings) as desk:
            done = run_replay(desk, Order(wanted=(row.seq,), actor="demo"))
            (letter,) = desk.replays.letters(done.run.name)
        if not done.sent:
            raise NotifyError(f"the replay was refused: {letter.note}")
        self.screen.say(f"replay: sent again as generation {letter.generation}")

    def _id_of(self, recipient: str) -> str:
        return next(n.id for n in self.published.values() if n.recipient.endswith(recipient))

    def _attempts(self) -> list[dict[str, Any]]:
        """The attempts of the gateway that was busy, as the sandbox saw them."""
        seen = self.sandbox.received(BUSY)
        return [
            {
                "attempt": item.attempt_no,
                "answered": item.answered,
                "after s": round(item.at - seen[0].at, 1),
            }
            for item in seen
        ]
