"""The way past Celery: handed to threads, settled together, shown to Celery as it is."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from celery.worker import state
from kombu.asynchronous import Hub

from notify.errors import LedgerUnavailable
from notify.message import Envelope, encode
from notify.steps import HandBack
from notify.tasks import Verdict, Work
from notify.worker.intake import Intake
from notify.worker.light import is_plain, read
from notify.worker.pool import Pool
from tests.deployment import sms
from tests.waiting import eventually
from tests.worker.strangers import CASES


@dataclass
class FakeChannel:
    """A channel that says what it was asked to settle."""

    connection: Any = "there"
    settled: list[list[tuple[int, Verdict]]] = field(default_factory=list)

    def settle(self, verdicts: list[tuple[int, Verdict]]) -> bool:
        self.settled.append(verdicts)
        return self.connection is not None

    def __hash__(self) -> int:
        return id(self)


@dataclass
class FakeEvents:
    """Celery's dispatcher."""

    enabled: bool = True
    groups: set[str] = field(default_factory=lambda: {"worker", "task"})
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append((kind, fields))


@dataclass
class FakeMessage:
    """As kombu hands it over."""

    channel: FakeChannel
    delivery_tag: int
    body: str | bytes
    headers: dict[str, Any]
    properties: dict[str, Any] = field(default_factory=dict)
    errors: list[Any] = field(default_factory=list)
    content_type: str = "application/json"
    content_encoding: str = "utf-8"
    delivery_info: dict[str, Any] = field(
        default_factory=lambda: {"exchange": "notify", "redelivered": False}
    )


class Stand:
    """A consumer with its hub, its threads and its intake; its work is what a test says."""

    def __init__(self, deliver: Callable[[Envelope, bool], str]) -> None:
        self.hub, self.hostname = Hub(), "sms-normal@host"
        self.event_dispatcher: FakeEvents | None = FakeEvents()
        self.pool = Pool(4)
        self.pool.register_with_event_loop(self.hub)
        # Something that is always ready, so that no turn waits.
        self._ready, other = socket.socketpair()
        other.close()
        self.hub.add_reader(self._ready, lambda: None)
        self.intake = Intake(self, Work(deliver))
        self.celery: list[FakeMessage] = []
        self.intake.begin(self.celery.append)
        self.channel = FakeChannel()

    def message(self, tag: int, **changes: Any) -> FakeMessage:
        notification = sms(id=f"n-{tag}")
        made = encode(Envelope(notification=notification), now=datetime.now(UTC))
        values = {"body": made.body.decode(), "headers": dict(made.headers)} | changes
        return FakeMessage(channel=self.channel, delivery_tag=tag, **values)

    def turn_until(self, done: Callable[[], Any], what: str) -> None:
        def turned() -> Any:
            self.hub.run_once()
            return done()

        eventually(turned, what)

    def close(self) -> None:
        self.pool.on_stop()
        self.hub.close()
        self._ready.close()


class Gateway:
    """Deliveries that end when they are told to, and how."""

    def __init__(self) -> None:
        self.ends: dict[str, threading.Event] = {}
        self.raises: dict[str, BaseException] = {}
        self.begun: list[str] = []

    def hold(self, *tags: int) -> None:
        self.ends |= {f"n-{tag}": threading.Event() for tag in tags}

    def end(self, *tags: int) -> None:
        for tag in tags:
            self.ends[f"n-{tag}"].set()

    def deliver(self, envelope: Envelope, _: bool) -> str:
        id = envelope.notification.id
        self.begun.append(id)
        if id in self.ends:
            assert self.ends[id].wait(20)
        if id in self.raises:
            raise self.raises[id]
        return "sent"


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def stand(gateway: Gateway) -> Iterator[Stand]:
    state.reset_state()
    stand = Stand(gateway.deliver)
    yield stand
    for end in gateway.ends.values():
        end.set()
    stand.close()
    state.reset_state()


def settled(stand: Stand) -> dict[int, Verdict]:
    return {tag: verdict for batch in stand.channel.settled for tag, verdict in batch}


def test_what_has_ended_between_two_looks_is_settled_together(
    stand: Stand, gateway: Gateway
) -> None:
    gateway.hold(1, 2, 3)
    for tag in (1, 2, 3):
        assert stand.intake.take(stand.message(tag))
    eventually(lambda: len(gateway.begun) == 3, "all under way")
    gateway.end(1, 2, 3)
    eventually(lambda: len(stand.intake._told) == 3, "all ended")
    stand.turn_until(lambda: stand.channel.settled, "a settlement")
    (batch,) = stand.channel.settled
    assert sorted(batch) == [(tag, Verdict.DONE) for tag in (1, 2, 3)]
    assert stand.celery == []


def test_each_end_has_its_verdict(stand: Stand, gateway: Gateway) -> None:
    gateway.raises = {
        "n-2": HandBack("not now"),
        "n-3": LedgerUnavailable("a bug"),
        "n-4": SystemExit("a provider's"),
    }
    for tag in (1, 2, 3, 4):
        assert stand.intake.take(stand.message(tag))
    broken = stand.message(5)
    broken.headers["notify-attempt"] = "x"
    assert stand.intake.take(broken)
    stand.turn_until(lambda: len(settled(stand)) == 5, "five verdicts")
    assert settled(stand) == {
        1: Verdict.DONE,
        2: Verdict.HANDED_BACK,
        3: Verdict.REFUSED,
        4: Verdict.HANDED_BACK,
        5: Verdict.REFUSED,
    }


def test_celery_knows_what_is_under_way_and_what_waits(stand: Stand, gateway: Gateway) -> None:
    """More threads may work after a while, so here none may."""
    stand.pool._width._least = stand.pool._width._most = 1
    stand.pool.crew.widen(1)
    gateway.hold(1, 2)
    first, second = stand.message(1), stand.message(2)
    for message in (first, second):
        stand.intake.take(message)
    requests = {id: state.requests[id] for id in (first.headers["id"], second.headers["id"])}
    assert set(state.reserved_requests) == set(requests.values())
    assert [request.id for request in state.active_requests] == [first.headers["id"]]
    assert state.total_count == {"notify.deliver": 1}
    gateway.end(1)
    stand.turn_until(lambda: len(gateway.begun) == 2 and settled(stand), "the second's turn")
    assert [request.id for request in state.active_requests] == [second.headers["id"]]
    assert list(state.requests) == [second.headers["id"]]
    gateway.end(2)
    stand.turn_until(lambda: len(settled(stand)) == 2, "the end of both")
    assert not (state.requests or state.active_requests or state.reserved_requests)
    assert state.total_count == {"notify.deliver": 2}
    assert state.all_total_count == [2]


def test_what_is_shown_is_never_the_notification(stand: Stand, gateway: Gateway) -> None:
    gateway.hold(1)
    message = stand.message(1)
    message.headers["kwargsrepr"] = "{'body': 'secret'}"
    stand.intake.take(message)
    request = state.requests[message.headers["id"]]
    eventually(lambda: gateway.begun, "it is under way")
    shown = request.info()
    assert json.dumps(shown)
    assert (shown["kwargs"], shown["args"]) == ("{'id': 'n-1'}", "()")
    assert shown["time_start"]
    assert shown["delivery_info"]["exchange"] == "notify"
    assert "secret" not in repr(request) + str(shown)
    assert "+49" not in repr(request) + str(shown)


def test_events_are_sent_to_whom_they_interest(stand: Stand, gateway: Gateway) -> None:
    gateway.raises = {"n-2": HandBack("not now"), "n-3": ValueError("a bug")}
    messages = {tag: stand.message(tag) for tag in (1, 2, 3)}
    for message in messages.values():
        stand.intake.take(message)
    stand.turn_until(lambda: len(settled(stand)) == 3, "all settled")
    assert stand.event_dispatcher
    sent = stand.event_dispatcher.sent
    kinds = {
        tag: [kind for kind, fields in sent if fields["uuid"] == message.headers["id"]]
        for tag, message in messages.items()
    }
    begun = ["task-received", "task-started"]
    assert kinds == {
        1: [*begun, "task-succeeded"],
        2: [*begun, "task-rejected"],
        3: [*begun, "task-failed", "task-rejected"],
    }
    assert "Hello" not in str(sent)
    assert "a bug" not in str(sent)


@pytest.mark.parametrize(
    "events",
    [None, FakeEvents(enabled=False), FakeEvents(groups={"worker"})],
    ids=["none", "disabled", "others"],
)
def test_and_to_nobody_else(stand: Stand, gateway: Gateway, events: FakeEvents | None) -> None:
    stand.event_dispatcher = events
    stand.intake.take(stand.message(1))
    stand.turn_until(lambda: settled(stand), "it is settled")
    assert events is None or events.sent == []


def test_what_holds_something_else_goes_to_celery(stand: Stand, gateway: Gateway) -> None:
    message = stand.message(1, body='[[], {"notification": {}}, {"callbacks": [1]}]')
    assert stand.intake.take(message)
    stand.turn_until(lambda: stand.celery, "Celery's turn")
    assert stand.celery == [message]
    assert (gateway.begun, settled(stand), state.requests) == ([], {}, {})


def test_a_connection_lost_in_celerys_hands_leaves_nothing_half_done(
    stand: Stand, gateway: Gateway
) -> None:
    def lost(_: Any) -> None:
        raise ConnectionResetError

    stand.intake.begin(lost)
    stand.hub.run_once()
    gateway.hold(1)
    stand.intake.take(stand.message(2, body="[]"))
    stand.intake.take(stand.message(1))
    gateway.end(1)
    eventually(lambda: len(stand.intake._told) == 2, "both have ended")
    with pytest.raises(ConnectionResetError):
        stand.intake.settle()
    assert settled(stand) == {1: Verdict.DONE}
    assert not (state.requests or state.active_requests or state.reserved_requests)


def test_a_foreign_header_spoils_no_event(stand: Stand, gateway: Gateway) -> None:
    message = stand.message(1)
    message.headers |= {"root_id": b"\xff", "parent_id": [1], "retries": b"\xfe"}
    stand.intake.take(message)
    stand.turn_until(lambda: settled(stand), "it is settled")
    assert stand.event_dispatcher
    assert json.dumps(stand.event_dispatcher.sent)


def test_what_came_by_a_lost_connection_is_not_settled(
    stand: Stand, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.hold(1, 2)
    caplog.set_level("INFO")
    stand.intake.take(stand.message(1))
    lost, stand.channel = stand.channel, FakeChannel()
    stand.intake.take(stand.message(2))
    lost.connection = None
    gateway.end(1, 2)
    stand.turn_until(lambda: settled(stand) and lost.settled, "both ended")
    assert settled(stand) == {2: Verdict.DONE}
    assert [r.message for r in caplog.records] == ["connection lost: a message will come again"]
    assert not state.requests


def test_an_end_that_was_told_to_a_loop_that_failed_is_not_forgotten(
    stand: Stand, gateway: Gateway
) -> None:
    """The hub throws away what it has not come to when another callback fails."""
    stand.intake.take(stand.message(1))
    eventually(lambda: stand.intake._told, "it has ended")
    stand.hub._pop_ready()
    stand.intake.begin(stand.celery.append)
    stand.turn_until(lambda: settled(stand), "it is settled")


def test_what_waits_for_a_thread_goes_back_at_once_when_the_worker_stops(
    stand: Stand, gateway: Gateway
) -> None:
    """One send takes long: another worker need not wait for its end."""
    stand.pool.on_left, stand.pool.on_drained = stand.intake.hand_back, stand.intake.settle
    stand.pool._width._least = stand.pool._width._most = 1
    stand.pool.crew.widen(1)
    gateway.hold(1)
    for tag in (1, 2, 3):
        stand.intake.take(stand.message(tag))
    eventually(lambda: gateway.begun, "it is under way")

    def end_when_others_are_back() -> None:
        eventually(lambda: len(settled(stand)) == 2, "two are back while one is under way")
        gateway.end(1)

    thread = threading.Thread(target=end_when_others_are_back)
    thread.start()
    stand.pool.on_stop()
    thread.join()
    assert settled(stand) == {2: Verdict.HANDED_BACK, 3: Verdict.HANDED_BACK, 1: Verdict.DONE}
    assert gateway.begun == ["n-1"]
    assert not (state.requests or state.active_requests or state.reserved_requests)


def test_a_body_that_is_too_much_to_read_goes_back(
    stand: Stand, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("notify.worker.intake.read", fail)
    stand.intake.take(stand.message(1))
    stand.turn_until(lambda: settled(stand), "a verdict")
    assert settled(stand) == {1: Verdict.HANDED_BACK}
    assert not (state.requests or state.active_requests or state.reserved_requests)


PLAIN = {
    # Ours by all that can be seen outside; its content is the pipeline's business.
    "attempt-text", "attempt-zero", "attempt-huge", "generation-list", "first-queued-text",
    "json-deep", "json-list", "json-null", "json-number", "json-object", "json-two", "json-types",
    "embed-list", "embed-text", "embed-other", "embed-callbacks", "embed-chain", "empty",
    "keywords-self", "keywords-list", "not-json", "retries-text", "lang-list", "timelimit",
    "ignore-result", "raw-header", "own-headers-missing", "wrong-channel", "oversize",
    "control-id", "id-not-text", "version-2", "unknown-field", "not-a-number", "expired-itself",
}  # fmt: skip
READABLE = {
    "attempt-text", "attempt-zero", "attempt-huge", "generation-list", "first-queued-text",
    "retries-text", "lang-list", "timelimit", "ignore-result", "raw-header",
    "own-headers-missing", "wrong-channel", "oversize", "control-id", "id-not-text", "version-2",
    "unknown-field", "not-a-number", "expired-itself",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_only_what_is_nothing_but_a_notification_passes_by_celery(name: str) -> None:
    stranger = CASES[name](name)
    content = stranger.properties
    message = FakeMessage(
        channel=FakeChannel(),
        delivery_tag=1,
        body=stranger.body,
        headers=stranger.headers,
        content_type=content.get("content_type", ""),
        content_encoding=content.get("content_encoding", ""),
    )
    assert is_plain(message) == (name in PLAIN)
    try:
        body: str | bytes = stranger.body.decode()
    except UnicodeDecodeError:
        body = stranger.body
    if name in PLAIN:
        assert (read(body) is not None) == (name in READABLE)
