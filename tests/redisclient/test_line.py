"""One connection for all threads: who gets which answer, and what a lost one means."""

import _thread
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
import redis

from notify.errors import LedgerUnavailable
from notify.local import PrivateServers, Servers
from notify.redisclient import Line, Question, Script
from tests.redisclient.held import Held
from tests.waiting import eventually

pytestmark = pytest.mark.redis

DOUBLE = Script("redis.call('INCR', KEYS[1]) return ARGV[1] * 2")


@pytest.fixture
def raw(servers: Servers) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(servers.redis_url, decode_responses=True)
    yield client
    client.close()


@pytest.fixture
def key() -> str:
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def line(servers: Servers) -> Iterator[Line]:
    opened = Line(servers.redis_url, 2.0)
    yield opened
    opened.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(100) as threads:
        yield threads


def echo(text: str, **options: Any) -> Question[str]:
    return Question(("ECHO", text), **options)


def add_one(key: str) -> Question[int]:
    return Question(("INCR", key), int)


def wrong(key: str, *, needed: bool = True) -> Question[Any]:
    """What Redis refuses once there is a number in the key."""
    return Question(("LPUSH", key, "x"), needed=needed)


def waiting(line: Line) -> int:
    return len(line._crew.waiting)


def cut(line: Line, raw: redis.Redis) -> None:
    """Redis ends the connection."""
    wire = line._crew.wire
    assert wire is not None
    host, port = wire._socket.getsockname()
    raw.client_kill(f"{host}:{port}")


def failed(asked: Future[Any]) -> str:
    with pytest.raises(LedgerUnavailable) as raised:
        asked.result(20)
    return str(raised.value)


def test_every_answer_finds_its_question(line: Line, key: str) -> None:
    first, second = add_one(key), echo("é")
    assert line.ask(first, second, DOUBLE.question([key], [21])) == 0
    assert (first.answer, second.answer) == (1, "é")
    assert line.get(DOUBLE.question([key], [4], lambda answer: answer + 1)) == 9
    assert line.ask() == 0


def test_what_comes_meanwhile_goes_out_in_one_write(line: Line, pool: ThreadPoolExecutor) -> None:
    with Held(line) as held:
        first = pool.submit(line.get, echo("first"))
        held.until_busy()
        others = {text: pool.submit(line.get, echo(text)) for text in map(str, range(50))}
        eventually(lambda: waiting(line) == 50, "all others")
        held.let_go()
        assert first.result(20) == "first"
        assert {text: asked.result(20) for text, asked in others.items()} == {t: t for t in others}
        assert held.counts == [1, 50]


def test_so_many_at_most_share_a_write(line: Line, pool: ThreadPoolExecutor) -> None:
    with Held(line) as held:
        asked = [pool.submit(line.get, echo("first"))]
        held.until_busy()
        asked += [pool.submit(line.get, echo(str(n))) for n in range(70)]
        eventually(lambda: waiting(line) == 70, "all others")
        held.let_go()
        assert len({each.result(20) for each in asked}) == 71
        assert held.counts == [1, 64, 6]


def test_many_threads_all_get_their_own(line: Line, key: str, pool: ThreadPoolExecutor) -> None:
    def work(thread: int) -> bool:
        return all(
            line.get(DOUBLE.question([key], [1000 * thread + n])) == 2 * (1000 * thread + n)
            for n in range(30)
        )

    assert all(pool.map(work, range(100)))
    assert line.get(add_one(key)) == 3001


def test_replicas_are_waited_for_once_for_all_that_goes_out_together(
    servers: Servers, key: str, pool: ThreadPoolExecutor
) -> None:
    """There is none, so that each is told so, after half of the time."""
    line = Line(servers.redis_url, 0.5)
    with Held(line) as held:
        first = pool.submit(line.ask, add_one(key))
        held.until_busy()
        others = [pool.submit(line.ask, add_one(key), replicas=n) for n in (1, 2, 1)]
        eventually(lambda: waiting(line) == 3, "all others")
        held.let_go()
        assert [each.result(20) for each in (first, *others)] == [0, 0, 0, 0]
        assert [packed.count(b"WAIT") for packed in held.packed] == [0, 1]
    line.close()


def test_a_script_that_was_forgotten_is_told_again_and_nothing_else_is(
    line: Line, key: str, raw: redis.Redis
) -> None:
    line.ask(DOUBLE.question([key], [1]))
    raw.script_flush()
    counted, doubled = add_one(key), DOUBLE.question([key], [21], int)
    line.ask(counted, doubled)
    assert (counted.answer, doubled.answer) == (2, 42)
    assert line.get(add_one(key)) == 4


def test_what_reads_is_read_after_a_script_that_had_to_be_told_again(
    line: Line, key: str, raw: redis.Redis
) -> None:
    read = Script("return redis.call('GET', KEYS[1])")
    raw.script_flush()
    assert line.get(read.question([key], [], reads=True)) is None
    plain = Question(("GET", key), int, reads=True)
    before: Question[Any] = read.question([key], [], reads=True)
    known = read.question([key], [], int, reads=True)
    line.ask(before, DOUBLE.question([key], [1]), known, plain, add_one(key))
    assert (before.answer, known.answer, plain.answer) == (None, 2, 2)
    assert raw.get(key) == "2"


def test_a_refusal_concerns_who_asked_alone(line: Line, key: str, pool: ThreadPoolExecutor) -> None:
    line.ask(add_one(key))
    with Held(line) as held:
        first = pool.submit(line.get, echo("first"))
        held.until_busy()
        refused = pool.submit(line.ask, echo("a"), wrong(key))
        fine = pool.submit(line.get, echo("fine"))
        eventually(lambda: waiting(line) == 2, "both")
        held.let_go()
        assert failed(refused) == "Redis: WRONGTYPE"
        assert (first.result(20), fine.result(20)) == ("first", "fine")
    assert line.get(echo("on the same connection")) == "on the same connection"


def test_what_is_not_needed_may_be_refused(line: Line, key: str) -> None:
    line.ask(add_one(key))
    unneeded, fine = wrong(key, needed=False), echo("fine")
    line.ask(unneeded, fine)
    assert fine.answer == "fine"
    assert not hasattr(unneeded, "answer")


def test_what_cannot_be_sent_harms_nobody(line: Line) -> None:
    with pytest.raises(UnicodeEncodeError):
        line.ask(echo("\udcff"))
    assert line.get(echo("fine")) == "fine"


@contextmanager
def frozen(own: PrivateServers) -> Iterator[None]:
    os.kill(own.redis_pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(own.redis_pid, signal.SIGCONT)


def test_a_frozen_server_holds_nobody_and_what_waited_is_never_carried_out(
    restartable: PrivateServers, servers: Servers, key: str, pool: ThreadPoolExecutor
) -> None:
    line = Line(servers.redis_url, 0.5)
    assert line.get(add_one(key)) == 1
    with frozen(restartable):
        asked = [pool.submit(line.get, add_one(key))]
        eventually(lambda: line._crew.busy, "the first")
        asked += [pool.submit(line.get, add_one(key)) for _ in range(50)]
        eventually(lambda: all(each.done() for each in asked), "an end for all", 5)
        assert {failed(each) for each in asked} == {"Redis: TimeoutError"}
    # The first was on its way when nobody waited for it any more.
    eventually(lambda: line.get(Question(("GET", key))) == "2", "the first", 5)
    assert line.get(add_one(key)) == 3
    line.close()


def test_a_connection_that_is_lost_fails_what_was_under_way_and_nothing_else(
    line: Line, key: str, raw: redis.Redis, pool: ThreadPoolExecutor
) -> None:
    line.ask(echo("x"))
    blocking: Question[Any] = Question(("BLPOP", key, 0))
    blocked = pool.submit(line.get, blocking)
    eventually(lambda: raw.info("clients")["blocked_clients"], "the first")
    others = [pool.submit(line.get, add_one(key + str(n))) for n in range(20)]
    eventually(lambda: waiting(line) == 20, "all others")
    cut(line, raw)
    assert failed(blocked) == "Redis: ConnectionError"
    assert [each.result(20) for each in others] == [1] * 20


def test_a_connection_that_ended_while_it_was_idle_costs_no_question(
    line: Line, raw: redis.Redis
) -> None:
    line.ask(echo("x"))
    cut(line, raw)
    line._crew.used = 0.0
    wire = line._crew.wire
    assert wire is not None
    eventually(wire.is_over, "the end")
    assert line.get(echo("fine")) == "fine"


@pytest.mark.parametrize("scripted", [False, True])
def test_a_server_that_became_a_replica_is_left(
    restartable: PrivateServers, servers: Servers, key: str, raw: redis.Redis, scripted: bool
) -> None:
    """It ends no connection, and the name may lead to another one by now."""
    line = Line(servers.redis_url, 5.0)
    script = Script("return redis.call('INCR', KEYS[1])")
    one_more = script.question([key], []) if scripted else add_one(key)
    assert line.get(one_more) == 1
    which: Question[int] = Question(("CLIENT", "ID"))
    before = line.get(which)
    raw.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        with pytest.raises(LedgerUnavailable, match=r"READONLY|ReadOnly"):
            line.get(one_more)
    finally:
        raw.execute_command("REPLICAOF", "NO", "ONE")
    assert line.get(one_more) == 2
    assert line.get(which) != before
    line.close()


def test_a_server_that_is_not_there(unused_url: str) -> None:
    line = Line(unused_url, 1.0)
    for _ in range(2):
        with pytest.raises(LedgerUnavailable, match="Redis: ConnectionError"):
            line.ask(echo("x"))


@pytest.fixture
def unused_url() -> str:
    return "redis://127.0.0.1:1/0"


def test_who_is_interrupted_while_waiting_keeps_nobody_up(
    line: Line, key: str, pool: ThreadPoolExecutor
) -> None:
    with Held(line) as held:
        first = pool.submit(line.get, echo("first"))
        held.until_busy()

        def interrupt() -> None:
            eventually(lambda: waiting(line), "the main thread")
            _thread.interrupt_main()

        interrupting = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            line.ask(add_one(key))
        interrupting.result(20)
        assert waiting(line) == 0
        held.let_go()
        assert first.result(20) == "first"
    assert line.get(add_one(key)) == 1


def test_who_is_interrupted_while_leading_lets_the_others_go_on(
    line: Line, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.ask(echo("x"))
    wire = line._crew.wire
    assert wire is not None
    entered, interrupted = threading.Event(), threading.Event()

    def exchange(packed: bytes, count: int) -> list[Any]:
        entered.set()
        assert interrupted.wait(20)
        raise KeyboardInterrupt

    monkeypatch.setattr(wire, "exchange", exchange)
    first = pool.submit(line.get, echo("first"))
    assert entered.wait(20)
    second = pool.submit(line.get, echo("second"))
    eventually(lambda: waiting(line), "the second")
    interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        first.result(20)
    assert second.result(20) == "second"


def test_a_leader_that_never_ends_is_not_waited_for_for_ever(
    servers: Servers, pool: ThreadPoolExecutor
) -> None:
    line = Line(servers.redis_url, 0.2)
    with Held(line) as held:
        first = pool.submit(line.get, echo("first"))
        held.until_busy()
        assert failed(pool.submit(line.get, echo("second"))) == "Redis: TimeoutError"
        assert line.get(echo("third")) == "third"
        held.let_go()
        assert first.result(20) == "first"
    line.close()


def test_a_forked_process_makes_its_own_connection(
    line: Line, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a thread that is not there any more had the line at that moment."""
    with Held(line) as held:
        first = pool.submit(line.get, echo("first"))
        held.until_busy()
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: -1)
            assert line.get(echo("in the child")) == "in the child"
            line.close()
        held.let_go()
        assert first.result(20) == "first"


def test_it_can_be_used_after_it_was_closed(line: Line) -> None:
    line.ask(echo("x"))
    line.close()
    line.close()
    assert line.get(echo("fine")) == "fine"
