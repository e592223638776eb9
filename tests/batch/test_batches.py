"""Batches in the archive's database."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from notify.store import Store
from notify.store.batches import (
    CANCELLED,
    PAUSED,
    RUNNING,
    Batch,
    Batches,
    BatchFailure,
    BatchProgress,
)


@pytest.fixture
def batches(archive_url: str) -> Iterator[Batches]:
    with closing(Store(archive_url)) as store, closing(Batches(archive_url)) as opened:
        store.create()
        opened.create()
        opened.create()
        yield opened


def test_a_batch_is_noted_once(batches: Batches) -> None:
    first = Batch(name="a", source={"path": "/x"}, fingerprint="1", total=5, rate=2.5)
    batches.add(first)
    again = batches.add(Batch(name="a", fingerprint="2"))
    assert (again.fingerprint, again.total, again.rate) == ("1", 5, 2.5)
    batches.add(Batch(name="b"))
    assert {each.name for each in batches.latest(10)} == {"a", "b"}
    assert len(batches.latest(1)) == 1
    assert batches.get("c") is None


def test_one_owner_at_a_time(batches: Batches) -> None:
    batches.add(Batch(name="a"))
    taken = batches.take("a", "one", lambda _: True, 10)
    assert taken
    assert (taken.owner, taken.repeats) == ("one", 0)
    assert batches.take("a", "two", lambda _: True, 10) is None
    assert batches.take("b", "two", lambda _: True, 10) is None
    stolen = batches.take("a", "two", lambda _: False, 10)
    assert stolen
    assert (stolen.owner, stolen.repeats) == ("two", 10)
    assert batches.save("a", "one", BatchProgress(cursor=5)) is None
    assert batches.save("a", "two", BatchProgress(cursor=7), leave="") == RUNNING
    left = batches.get("a")
    assert left
    assert (left.owner, left.cursor) == (None, 7)


def test_orders_change_only_what_may_be_changed(batches: Batches) -> None:
    batches.add(Batch(name="a"))
    assert batches.take("a", "one", lambda _: True, 10)
    assert batches.order("a", PAUSED, (RUNNING,))
    assert not batches.order("a", PAUSED, (RUNNING,))
    assert batches.save("a", "one", BatchProgress()) == PAUSED
    assert batches.save("a", "one", BatchProgress(), leave="") == PAUSED
    assert batches.order("a", CANCELLED, (RUNNING, PAUSED))
    assert not batches.order("b", CANCELLED, (RUNNING, PAUSED))


def test_failures_come_and_go(batches: Batches) -> None:
    batches.add(Batch(name="a"))
    assert batches.take("a", "one", lambda _: True, 10)
    bad = [BatchFailure(number=n, id=f"a:{n}", error="no\x00 queue") for n in range(4)]
    batches.save("a", "one", BatchProgress(published={"sms": 3}, failures=tuple(bad)))
    batches.save("a", "one", BatchProgress(published={"sms": 4}, failures=(bad[1],), mended=(2,)))
    assert [each.number for each in batches.failures("a")] == [0, 1, 3]
    assert batches.errors("a") == {"no\ufffd queue": 3}
    batch = batches.get("a")
    assert batch
    assert (batch.failed, batch.sent) == (3, 4)
