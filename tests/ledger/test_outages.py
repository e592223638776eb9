"""Redis away, frozen, full, read-only or closed to us: one error, in time, without values."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
import redis

from notify.errors import LedgerUnavailable
from notify.ledger import Claimed, Ledger
from notify.local import PrivateServers, Servers
from tests.ledger.books import ID, Books
from tests.waiting import eventually

pytestmark = pytest.mark.redis

CLAIM = Claimed(owner="me", generation=1, attempt=1)
WRITES: dict[str, Callable[[Books], object]] = {
    "claim": lambda books: books.claim(),
    "settle sent": lambda books: books.settle(CLAIM, "sent"),
    "settle dead": lambda books: books.settle(CLAIM, "dead"),
    "replay": lambda books: books.replay(2),
    "probe": lambda books: books.ledger.probe(),
    "note_progress": lambda books: books.ledger.note_progress("q", 1),
}
READS: dict[str, Callable[[Books], object]] = {
    "clear": lambda books: books.ledger.clear(ID, 1, 1),
    "record": lambda books: books.ledger.record(ID),
    "progress": lambda books: books.ledger.progress(["q"]),
    "now": lambda books: books.ledger.now(),
    "check": lambda books: books.ledger.check(),
}
ALL = WRITES | READS


def refusal(books: Books, act: Callable[[Books], object], seconds: float = 1.0) -> str:
    """The error's text, which tells nothing of the notification."""
    started = time.monotonic()
    with pytest.raises(LedgerUnavailable) as raised:
        act(books)
    assert time.monotonic() - started < seconds
    text = str(raised.value)
    assert text.startswith("Redis: ")
    for value in (ID, books.notification.recipient, books.notification.digest, "me", "wr0ng"):
        assert value not in text.split()
    return text


@contextmanager
def setting(raw: redis.Redis, name: str, value: str) -> Iterator[None]:
    before = str(raw.config_get(name)[name] or "")
    raw.config_set(name, value)
    try:
        yield
    finally:
        raw.config_set(name, before)


@pytest.mark.parametrize("act", ALL.values(), ids=list(ALL))
def test_a_refused_connection(act: Callable[[Books], object], raw: redis.Redis) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    books = Books(Ledger(f"redis://127.0.0.1:{port}", timeout=1), raw, "notify")
    refusal(books, act)
    books.ledger.close()


@pytest.mark.parametrize("act", ALL.values(), ids=list(ALL))
def test_a_frozen_server(
    act: Callable[[Books], object], raw: redis.Redis, restartable: PrivateServers
) -> None:
    """Over a connection that is open, and over one that is not yet."""
    url = raw_url(raw)
    books = Books(Ledger(url, timeout=0.3), raw, "frozen")
    books.ledger.now()
    os.kill(restartable.redis_pid, signal.SIGSTOP)
    try:
        assert "Timeout" in refusal(books, act, 0.7)
        assert "Timeout" in refusal(books, act, 0.7)
    finally:
        os.kill(restartable.redis_pid, signal.SIGCONT)
    books.ledger.now()
    books.ledger.close()


def raw_url(raw: redis.Redis) -> str:
    options = raw.connection_pool.connection_kwargs
    return f"redis://{options['host']}:{options['port']}/{options['db']}"


@pytest.mark.parametrize("act", WRITES.values(), ids=list(WRITES))
def test_a_full_server_takes_no_claims_but_answers(
    act: Callable[[Books], object],
    books: Books,
    raw: redis.Redis,
    restartable: PrivateServers,
) -> None:
    with setting(raw, "maxmemory", "1"):
        assert "OutOfMemory" in refusal(books, act) or "OOM" in refusal(books, act)
        assert books.ledger.record(ID) is None
    assert isinstance(books.claim(), Claimed)


@pytest.mark.parametrize("act", WRITES.values(), ids=list(WRITES))
def test_a_replica_takes_no_claims(
    act: Callable[[Books], object],
    books: Books,
    raw: redis.Redis,
    restartable: PrivateServers,
) -> None:
    raw.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        assert "ReadOnly" in refusal(books, act) or "READONLY" in refusal(books, act)
    finally:
        raw.execute_command("REPLICAOF", "NO", "ONE")
    assert isinstance(books.claim(), Claimed)


def test_a_wrong_password(raw: redis.Redis, servers: Servers) -> None:
    address = urlsplit(servers.redis_url).netloc
    books = Books(Ledger(f"redis://nobody:wr0ng@{address}/0", timeout=1), raw, "notify")
    for act in ALL.values():
        refusal(books, act)
    books.ledger.close()


def test_a_missing_password(raw: redis.Redis, restartable: PrivateServers) -> None:
    raw.ping()
    with setting(raw, "requirepass", "s3cret"):
        books = Books(Ledger(raw_url(raw), timeout=1), raw, "notify")
        assert refusal(books, WRITES["claim"]) == "Redis: AuthenticationError"
        books.ledger.close()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("maxmemory-policy", "allkeys-lru", "maxmemory-policy must be noeviction"),
        ("maxmemory-policy", "volatile-ttl", "maxmemory-policy must be noeviction"),
        ("appendonly", "no", "appendonly must be yes"),
    ],
)
def test_settings_that_would_lose_the_ledger(
    name: str,
    value: str,
    problem: str,
    books: Books,
    raw: redis.Redis,
    restartable: PrivateServers,
) -> None:
    assert books.ledger.check() == []
    with setting(raw, name, value):
        (found,) = books.ledger.check()
    # Redis cannot be stopped while it writes its first file.
    eventually(lambda: not raw.info("persistence")["aof_rewrite_in_progress"], "a whole file")
    assert problem in found
    assert books.ledger.check() == []


def test_a_server_that_forgot_the_scripts_is_told_them_again(
    books: Books, raw: redis.Redis, restartable: PrivateServers
) -> None:
    books.claim()
    raw.script_flush()
    assert books.settle(CLAIM, "sent")


def test_a_restart_of_redis_keeps_the_records(books: Books, restartable: PrivateServers) -> None:
    books.arrange("dead!", 1, 2)
    before = books.dump()
    restartable.restart_redis()
    books.raw.close()
    assert books.dump() == before
