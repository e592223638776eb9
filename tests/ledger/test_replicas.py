"""A claim counts when a replica has it, where there is one."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from notify.errors import LedgerUnavailable
from notify.ledger import Claimed, Ledger
from notify.ledger.replication import Replication
from notify.local.ports import choose
from tests.ledger.books import ID, Books
from tests.waiting import eventually

pytestmark = pytest.mark.redis


@dataclass
class Server:
    """A bare Redis server."""

    port: int
    process: subprocess.Popen[bytes]
    client: redis.Redis

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def replicas(self) -> int:
        return int(self.client.info("replication")["connected_slaves"])

    @contextmanager
    def frozen(self) -> Iterator[None]:
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)


@contextmanager
def server(directory: Path, *options: str) -> Iterator[Server]:
    port = choose(["redis"])["redis"]
    directory.mkdir()
    executable = shutil.which("redis-server", path=f"{os.environ['PATH']}:/usr/sbin")
    assert executable, "redis-server is not installed"
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), *options]
    process = subprocess.Popen([executable, *arguments], stdout=subprocess.DEVNULL)
    client = redis.Redis(port=port, decode_responses=True)
    try:
        eventually(lambda: answers(client), "an answer")
        yield Server(port, process, client)
    finally:
        client.close()
        process.kill()
        process.wait()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def starting(name: str, *options: str) -> Server:
            return stack.enter_context(server(tmp_path / name, *options))

        yield starting


@pytest.fixture
def primary(start: Start) -> Server:
    return start("primary", "--appendonly", "yes", "--repl-diskless-sync-delay", "0")


def replica_of(primary: Server, start: Start) -> Server:
    found = start("replica", "--replicaof", "127.0.0.1", str(primary.port))
    eventually(lambda: primary.replicas() == 1, "a connected replica", 30)
    eventually(lambda: found.client.info("replication")["master_link_status"] == "up", "a link")
    return found


@contextmanager
def books(primary: Server, replicas: int | None) -> Iterator[Books]:
    ledger = Ledger(primary.url, timeout=1.0, replicas=replicas)
    ledger.mark()
    yield Books(ledger=ledger, raw=primary.client, prefix="notify")
    ledger.close()


@pytest.mark.parametrize("replicas", [1, None])
def test_a_claim_is_on_the_replica_when_it_is_granted(
    replicas: int | None, primary: Server, start: Start
) -> None:
    replica = replica_of(primary, start)
    with books(primary, replicas) as ours:
        for number in range(50):
            ours.notification = ours.notification.evolve(id=f"n{number}")
            assert isinstance(ours.claim(), Claimed)
            assert replica.client.hget(f"notify:n:n{number}", "s") == "sending"


@pytest.mark.parametrize("replicas", [1, None])
def test_a_claim_that_no_replica_has_is_given_back(
    replicas: int | None, primary: Server, start: Start
) -> None:
    """Nothing is sent under it, and it is no attempt."""
    replica = replica_of(primary, start)
    with books(primary, replicas) as ours:
        with replica.frozen(), pytest.raises(LedgerUnavailable, match="1 more replicas"):
            ours.claim()

        def claimed() -> bool:
            """As soon as the replica has caught up."""
            try:
                claim = ours.claim(owner="other")
            except LedgerUnavailable:
                return False
            return claim == Claimed(owner="other", generation=1, attempt=1)

        eventually(claimed, "a claim", 30)
        assert ours.ledger.attempts(ID) == ()


def test_a_number_of_replicas_is_insisted_on(primary: Server) -> None:
    with books(primary, 2) as ours:
        assert "Redis: 0 replicas are connected, redis.replicas asks for 2" in ours.ledger.check()
        with pytest.raises(LedgerUnavailable, match="2 more replicas"):
            ours.claim()


def test_while_no_claim_would_count_the_ledger_is_not_usable(primary: Server, start: Start) -> None:
    """A worker that began again after each such claim would hand its messages back for ever."""
    replica = replica_of(primary, start)
    with books(primary, 1) as ours:
        ours.ledger.probe()
        with replica.frozen(), pytest.raises(LedgerUnavailable, match="1 more replicas"):
            ours.ledger.probe()


def test_without_a_number_one_is_waited_for_while_there_is_any(
    primary: Server, start: Start
) -> None:
    now = 100.0
    replication = Replication(primary.client, None, clock=lambda: now)
    assert replication.awaited() == 0
    replica = replica_of(primary, start)
    assert replication.awaited() == 0
    now += 6
    assert replication.awaited() == 1
    replica.process.kill()
    eventually(lambda: primary.replicas() == 0, "no replica")
    now += 6
    assert replication.awaited() == 0


def test_a_server_that_forgot_the_script_is_told_it_again(primary: Server, start: Start) -> None:
    replica_of(primary, start)
    with books(primary, 1) as ours:
        primary.client.script_flush()
        assert isinstance(ours.claim(), Claimed)


def test_what_redis_refuses_is_an_error(primary: Server, start: Start) -> None:
    replica_of(primary, start)
    with books(primary, 1) as ours:
        primary.client.config_set("maxmemory", "1")
        with pytest.raises(LedgerUnavailable):
            ours.claim()


def test_claim_and_wait_are_one_round_trip(
    primary: Server, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica_of(primary, start)
    sent: list[Any] = []
    with books(primary, 1) as ours:
        ours.claim()
        wire = ours.ledger._slow_line._crew.wire
        assert wire is not None
        plain = wire.exchange

        def counted(packed: bytes, count: int) -> list[Any]:
            sent.append(packed)
            return plain(packed, count)

        monkeypatch.setattr(wire, "exchange", counted)
        ours.claim(owner="other")
        assert len(sent) == 1
