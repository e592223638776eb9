"""The engine: whatever the order of the confirms and wherever it is killed, each row once."""

import random
import uuid
from collections.abc import Collection, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notify.batch.engine import Engine, LostLease, TooManyFailures
from notify.batch.source import Given
from notify.errors import (
    BrokerUnavailable,
    NotifyError,
    QueueFull,
    StoreUnavailable,
    Unroutable,
)
from notify.notification import Notification
from notify.store.batches import (
    CANCELLED,
    FINISHED,
    PAUSED,
    RUNNING,
    WITH_FAILURES,
    Batches,
    BatchProgress,
)
from tests.batch.rig import Broker, Killed, Mortal, Rows, start, stored
from tests.deployment import sms

WINDOW = 10


@pytest.fixture
def url(archive_url: str) -> str:
    return archive_url


def close(engine: Engine) -> None:
    engine._batches.close()


def finish(url: str, broker: Broker, rows: Rows) -> str:
    engine, _ = start(url, broker, rows, rows.name, window=WINDOW)
    try:
        return engine.run()
    finally:
        close(engine)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    count=st.integers(0, 60),
    kills=st.lists(st.integers(0, 40), max_size=4),
    wrong=st.sets(st.integers(1, 60).map(lambda n: 3 * n), max_size=8),
    seed=st.integers(0, 999),
)
def test_no_row_is_left_out_and_a_kill_repeats_no_more_than_the_window(
    url: str, count: int, kills: list[int], wrong: set[int], seed: int
) -> None:
    rows = Rows(f"b{uuid.uuid4().hex}", count, frozenset(wrong))
    broker = Broker(chance=random.Random(seed))
    killed = 0
    for lives in kills:
        broker.lives = lives
        engine, _ = start(url, broker, rows, rows.name, window=WINDOW)
        try:
            engine.run()
        except Killed:
            killed += 1
        finally:
            close(engine)
    broker.lives = -1
    state = finish(url, broker, rows)
    batch = stored(url, rows.name)
    assert broker.published.keys() == rows.good()
    assert broker.published.total() - len(rows.good()) <= batch.repeats == killed * WINDOW
    rejected = len(wrong & set(rows.numbers()))
    assert (batch.sent, batch.rejected) == (len(rows.good()), rejected)
    assert (batch.cursor, batch.owner) == (3 * count, None)
    assert batch.state == state == (WITH_FAILURES if rejected else FINISHED)


def test_what_cannot_be_routed_is_noted_and_mended_later(url: str) -> None:
    rows = Rows("mended", 30, frozenset({9}))
    bad = {"mended:6", "mended:60", "mended:90"}
    broker = Broker(refuse=lambda id: Unroutable() if id in bad else None)
    assert finish(url, broker, rows) == WITH_FAILURES
    batch = stored(url, "mended")
    assert (batch.sent, batch.rejected, batch.failed, batch.cursor) == (26, 1, 3, 90)
    bad.remove("mended:60")
    assert finish(url, broker, rows) == WITH_FAILURES
    bad.clear()
    assert finish(url, broker, rows) == WITH_FAILURES
    batch = stored(url, "mended")
    assert (batch.sent, batch.rejected, batch.failed) == (29, 1, 0)
    assert broker.published.keys() == rows.good()
    assert set(broker.published.values()) == {1}


def test_a_source_that_can_be_read_once_is_read_once(url: str) -> None:
    items = [sms() for _ in range(30)]
    broker = Broker(refuse=lambda id: Unroutable() if id == "once:3" else None, lives=25)
    with pytest.raises(Killed):
        run_given(url, broker, iter(items))
    broker.lives, broker.refuse = -1, lambda _: None
    assert run_given(url, broker, iter(items)) == FINISHED
    assert broker.published.keys() == {f"once:{n}" for n in range(1, 31)}


def run_given(url: str, broker: Broker, items: Iterator[Notification]) -> str:
    engine, _ = start(url, broker, Given(batch="once", items=items), "once", window=WINDOW)
    try:
        return engine.run()
    finally:
        close(engine)


def test_a_failed_row_beyond_the_cursor_of_a_kill_is_published_once_counted_once(
    url: str,
) -> None:
    rows = Rows("twice", 30)
    refused = {"twice:3"}
    broker = Broker(refuse=lambda id: Unroutable() if id in refused else None, lives=25)
    with pytest.raises(Killed):
        finish(url, broker, rows)
    refused.clear()
    broker.lives = -1
    assert finish(url, broker, rows) == FINISHED
    batch = stored(url, "twice")
    assert (batch.sent, batch.failed) == (30, 0)


def test_a_full_queue_is_tried_again_after_a_growing_pause(url: str) -> None:
    rows, tries = Rows("full", 20), dict.fromkeys(("full:3", "full:30"), 3)

    def refuse(id: str) -> NotifyError | None:
        return QueueFull() if tries.get(id, 0) > 0 else None

    broker = Broker()
    answer = broker._answer

    def counting(waiting: list[str]) -> object:
        sent = answer(waiting)
        tries[sent.id] = tries.get(sent.id, 0) - 1
        return sent

    broker.refuse, broker._answer = refuse, counting  # type: ignore[method-assign,assignment]
    engine, clock = start(url, broker, rows, "full", window=WINDOW)
    assert engine.run() == FINISHED
    close(engine)
    assert broker.published.keys() == rows.good()
    assert stored(url, "full").sent == 20
    assert clock.now > 0.5


def test_a_broker_that_is_gone_ends_the_run_and_the_next_one_goes_on(url: str) -> None:
    rows, gone = Rows("gone", 40), False

    def refuse(_id: str) -> NotifyError | None:
        return BrokerUnavailable() if gone else None

    broker = Broker(refuse=refuse)
    engine, _ = start(url, broker, rows, "gone", window=WINDOW)

    def watch(_: object) -> None:
        nonlocal gone
        gone = gone or broker.published.total() >= 15

    engine._watch = watch
    with pytest.raises(BrokerUnavailable):
        engine.run()
    close(engine)
    batch = stored(url, "gone")
    assert (batch.state, batch.owner) == (RUNNING, None)
    assert 0 < batch.sent < 40
    gone = False
    assert finish(url, broker, rows) == FINISHED
    assert broker.published.keys() == rows.good()


def test_too_many_failures_pause_the_batch(url: str) -> None:
    rows = Rows("many", 1500)
    broker = Broker(refuse=lambda _: Unroutable())
    with pytest.raises(TooManyFailures, match="1000 rows could not be published"):
        finish(url, broker, rows)
    batch = stored(url, "many")
    assert (batch.state, batch.owner, batch.failed) == (PAUSED, None, 1000)


@pytest.mark.parametrize("order", [PAUSED, CANCELLED])
def test_an_order_in_the_archive_is_obeyed_and_nothing_is_under_way_after_it(
    url: str, order: str
) -> None:
    rows, broker = Rows("ordered", 100), Broker()
    engine, clock = start(url, broker, rows, "ordered", window=WINDOW, rate=50)
    other = Batches(url)

    def watch(_: object) -> None:
        if broker.published.total() >= 20:
            other.order("ordered", order, (RUNNING,))

    engine._watch = watch
    assert engine.run() == order
    close(engine)
    other.close()
    batch = stored(url, "ordered")
    assert (batch.state, batch.owner, batch.repeats) == (order, None, 0)
    assert batch.sent == broker.published.total() < 20 + 50 * 1.0
    assert clock.now < 2.0
    if order == PAUSED:
        assert finish(url, broker, rows) == FINISHED
        assert set(broker.published.values()) == {1}


def test_a_stopped_engine_leaves_a_batch_that_goes_on(url: str) -> None:
    rows, broker = Rows("stopped", 50), Broker()
    engine, _ = start(url, broker, rows, "stopped", window=WINDOW)

    def watch(_: object) -> None:
        if broker.published.total() > 10:
            engine.stop()

    engine._watch = watch
    assert engine.run() == RUNNING
    close(engine)
    assert finish(url, broker, rows) == FINISHED
    assert set(broker.published.values()) == {1}
    assert broker.published.keys() == rows.good()


def test_who_lost_the_batch_stops(url: str) -> None:
    rows, broker = Rows("lost", 100), Broker()
    engine, _ = start(url, broker, rows, "lost", window=WINDOW)
    other, _ = start(url, Broker(), rows, "lost", window=WINDOW)
    with pytest.raises(LostLease):
        engine.run()
    assert broker.published.total() <= WINDOW
    assert other.run() == FINISHED
    close(engine)
    close(other)


def test_a_slow_rate_is_kept_with_nothing_under_way(url: str) -> None:
    engine, clock = start(url, Broker(), Rows("slow", 5), "slow", rate=0.5)
    assert engine.run() == FINISHED
    close(engine)
    assert clock.now == pytest.approx(8.0, abs=0.5)
    assert max(clock.slept) <= 0.5


def test_a_source_that_breaks_gives_the_batch_back(url: str) -> None:
    class Breaking(Rows):
        def rows(self, after: int = 0) -> Iterator[object]:  # type: ignore[override]
            yield from super().rows(after)
            raise NotifyError("the rest is damaged")

    rows, broker = Breaking("broken", 30), Broker()
    with pytest.raises(NotifyError, match="damaged"):
        finish(url, broker, rows)
    batch = stored(url, "broken")
    assert (batch.state, batch.owner) == (RUNNING, None)
    assert finish(url, broker, Rows("broken", 30)) == FINISHED
    assert broker.published.keys() == rows.good()


class Away(Mortal):
    """An archive that is away for the saves ``at``, and the first time when a batch ends: then
    it notes the end, and only its answer is lost."""

    at: Collection[int] = ()
    saves = 0
    ended = False

    def save(
        self, name: str, owner: str, progress: BatchProgress, *, leave: str | None = None
    ) -> str | None:
        self.saves += 1
        if self.saves in self.at:
            raise StoreUnavailable("away")
        state = super().save(name, owner, progress, leave=leave)
        if leave is not None and not self.ended:
            self.ended = True
            raise StoreUnavailable("gone before it answered")
        return state


def test_an_archive_that_is_away_for_a_while_is_waited_for(url: str) -> None:
    rows, broker = Rows("away", 40), Broker()
    engine, clock = start(url, broker, rows, "away", window=WINDOW)
    close(engine)
    engine._batches = store = Away(url)
    store.at = range(2, 6)
    assert engine.run() == FINISHED
    close(engine)
    assert set(broker.published.values()) == {1}
    batch = stored(url, "away")
    assert (batch.state, batch.owner, batch.sent) == (FINISHED, None, 40)
    assert clock.now >= 7.5


def test_an_archive_that_stays_away_ends_the_run(url: str) -> None:
    rows, broker = Rows("stays", 40), Broker()
    engine, clock = start(url, broker, rows, "stays", window=WINDOW)
    close(engine)
    engine._batches = store = Away(url)
    store.at = range(2, 99)
    with pytest.raises(StoreUnavailable):
        engine.run()
    close(engine)
    assert clock.now > 60
    assert max(clock.slept) <= 0.5
    assert finish(url, broker, rows) == FINISHED
    assert broker.published.keys() == rows.good()
