"""The archiver against a real RabbitMQ."""

import logging
import struct
import threading
import time
from dataclasses import replace
from typing import Any

import pika.data
import pytest

from notify.deadletter import encode
from notify.message import Message
from notify.store import Filter, Store
from tests.archive.letters import NOW, dead, sms, work_message
from tests.archive.rabbit import Rabbit
from tests.archive.running import Troubled, archiving
from tests.waiting import eventually

pytestmark = pytest.mark.broker
ALL = Filter(limit=None)


def letters(number: int, prefix: str = "n") -> list[Message]:
    return [encode(dead(f"{prefix}-{n}"), now=NOW) for n in range(number)]


def until_archived(store: Store, number: int, seconds: float = 20) -> None:
    eventually(lambda: store.count(ALL) >= number, f"{number} archived", seconds)


def until_empty(rabbit: Rabbit) -> None:
    eventually(lambda: rabbit.ready() == 0, "the queue of the dead is empty")


def test_a_letter_of_ours_is_archived_and_acknowledged(
    rabbit: Rabbit, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    rabbit.kill(letters(1))
    with caplog.at_level(logging.INFO, "notify"), archiving(rabbit.url, store=store):
        until_archived(store, 1)
    assert rabbit.ready() == 0
    (row,) = store.get("n-0")
    assert row.letter.evolve(headers={}) == dead("n-0")
    assert row.letter.headers["amqp"]["message_id"] == "n-0"
    logged = {record.message: vars(record)["notify_event"] for record in caplog.records}
    assert logged["archived"] == {"count": 1}
    expected = {"id": "n-0", "channel": "sms", "reason": "recipient_refused"}
    assert logged["dead letter archived"] == expected


def test_what_the_broker_dead_letters_is_archived_with_its_reason(
    rabbit: Rabbit, store: Store
) -> None:
    with archiving(rabbit.url, store=store):
        rabbit.publish(work_message("rejected"))
        rabbit.take(requeue=False)
        broken = replace(work_message("broken"), body=b'[[], {"notification": {"v": 3}}, {}]')
        rabbit.publish(broken)
        rabbit.take(requeue=False)
        rabbit.publish(work_message("returned"))
        for _ in range(3):
            rabbit.take(requeue=True)
        rabbit.publish(work_message("waited"), "notify.delay.normal.1s")
        rabbit.take(requeue=False)
        lost = replace(work_message("lost"), routing_key="sms.urgent")
        rabbit.publish(lost, "notify.delay.normal.1s")
        until_archived(store, 5)
    found = {row.letter.id: (row.letter.reason, row.letter.detail) for row in store.find(ALL)}
    assert found == {
        "rejected": ("internal_error", "rejected by a worker of notify.sms.normal"),
        None: ("invalid", "id: is missing"),
        "returned": (
            "delivery_limit",
            "handed back too many times by workers of notify.sms.normal",
        ),
        "waited": ("internal_error", "rejected by a worker of notify.sms.normal"),
        "lost": ("unroutable", "no queue for routing key sms.urgent"),
    }
    assert store.get("rejected")[0].letter.notification == sms("rejected").to_dict()


class _Beyond(int):
    """A time in milliseconds where seconds are meant: pika cannot decode it."""


def _encode_value(pieces: list[bytes], value: Any, original: Any = pika.data.encode_value) -> int:
    if isinstance(value, _Beyond):
        pieces.append(struct.pack(">cQ", b"T", value))
        return 9
    return int(original(pieces, value))


def _nested(levels: int) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for _ in range(levels):
        table = {"a": table}
    return table


def test_garbage_is_archived_as_it_is(
    rabbit: Rabbit, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pika.data, "encode_value", _encode_value)
    plain = Message(body=b"", headers={}, properties={}, routing_key="")
    garbage = [
        plain,
        replace(plain, body=b"\xff\x00", headers={"at": _Beyond(1796076257000), "ok": 1}),
        replace(plain, body=b"deep", headers=_nested(50)),
        replace(plain, body=b"{", properties={"content_type": "application/vnd.notify.dead+json"}),
        replace(plain, body=b"x" * 2_000_000, properties={"message_id": "m", "timestamp": 2**63}),
    ]
    rabbit.kill(garbage)
    rabbit.kill(letters(1))
    with archiving(rabbit.url, store=store) as running:
        until_archived(store, 6)
    assert running.statuses.count("connecting to RabbitMQ") == 1
    kept = {row.letter.raw for row in store.find(Filter(reason="unparseable"))}
    assert kept == {message.body for message in garbage}
    assert rabbit.ready() == 0


def test_deep_headers_do_not_stop_the_archive(
    rabbit: Rabbit, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode_deep(pieces: list[bytes], _: dict[str, Any]) -> int:
        table = struct.pack(">I", 0)
        for _level in range(3000):
            inner = b"\x01aF" + table
            table = struct.pack(">I", len(inner)) + inner
        pieces.append(table)
        return len(table)

    with monkeypatch.context() as patched, rabbit.channel() as channel:
        patched.setattr(pika.data, "encode_table", encode_deep)
        properties = pika.BasicProperties(headers={"any": 1})
        channel.basic_publish("notify.dead", "x", b"very deep", properties)
    with archiving(rabbit.url, store=store):
        until_archived(store, 1)
    assert [row.letter.raw for row in store.find(ALL)] == [b"very deep"]
    assert rabbit.ready() == 0


def test_the_next_url_is_tried(rabbit: Rabbit, store: Store) -> None:
    rabbit.kill(letters(1))
    with archiving("amqp://127.0.0.1:1/", rabbit.url, store=store):
        until_archived(store, 1)


def test_a_missing_queue_is_said_and_waited_for(
    rabbit: Rabbit, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    rabbit.delete()
    with archiving(rabbit.url, store=store) as running:
        running.until("queue notify.dead is missing")
        rabbit.declare()
        rabbit.kill(letters(1))
        until_archived(store, 1)
    assert "queue notify.dead is missing" in caplog.text


@pytest.mark.parametrize("at_once", [True, False])
def test_a_queue_deleted_and_declared_again_is_consumed_again(
    rabbit: Rabbit, store: Store, at_once: bool
) -> None:
    with archiving(rabbit.url, store=store, renew_after=0.5) as running:
        rabbit.kill(letters(3, "before"))
        until_archived(store, 3)
        until_empty(rabbit)
        rabbit.delete()
        if not at_once:
            running.until("queue notify.dead is missing")
        rabbit.declare()
        rabbit.kill(letters(3, "after"))
        until_archived(store, 6)
    assert rabbit.ready() == 0


def test_a_renewed_consumer_loses_nothing(rabbit: Rabbit, store: Store) -> None:
    with archiving(rabbit.url, store=store, renew_after=0.001, batch_wait=0.001) as running:
        for n in range(50):
            rabbit.kill(letters(3, f"n-{n}"))
        until_archived(store, 150)
        until_empty(rabbit)
    assert running.statuses.count("connecting to RabbitMQ") == 1


def test_a_stop_finishes_the_batch_in_hand(rabbit: Rabbit, store: Store) -> None:
    started = threading.Event()

    def slowly() -> None:
        started.set()
        threading.Event().wait(0.7)

    rabbit.kill(letters(10))
    with archiving(rabbit.url, store=Troubled(store, slowly)) as running:
        assert started.wait(10)
        before = time.monotonic()
        running.finish()
        assert time.monotonic() - before < 2
    assert store.count(ALL) == 10
    assert rabbit.ready() == 0


def test_a_store_that_hangs_cannot_hold_the_stop(rabbit: Rabbit, store: Store) -> None:
    started, released = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        released.wait(30)

    rabbit.kill(letters(10))
    with archiving(rabbit.url, store=Troubled(store, hang)) as running:
        assert started.wait(10)
        before = time.monotonic()
        running.finish()
        assert time.monotonic() - before < 3
    eventually(lambda: rabbit.ready() == 10, "the letters are back in the queue")
    released.set()
    until_archived(store, 10)  # by the thread that hung, while the store is still open


def test_an_unexpected_error_is_not_swallowed(rabbit: Rabbit, store: Store) -> None:
    def bug() -> None:
        raise ZeroDivisionError

    rabbit.kill(letters(1))
    with pytest.raises(ZeroDivisionError), archiving(rabbit.url, store=Troubled(store, bug)) as run:
        run.thread.join(10)
    eventually(lambda: rabbit.ready() == 1, "the letter is back in the queue")


def test_ten_thousand_letters(
    rabbit: Rabbit, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    rabbit.kill(letters(10_000))
    began = time.monotonic()
    with archiving(rabbit.url, store=store):
        until_archived(store, 10_000, 30)
        seconds = time.monotonic() - began
        until_empty(rabbit)
    with capsys.disabled():
        print(f"\narchived 10,000 letters: {10_000 / seconds:,.0f} a second")  # noqa: T201
