"""Nothing is lost and nothing is doubled, whatever goes away at whatever moment."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from notify.local import PrivateServers
from notify.store import Filter, Store
from tests.archive.rabbit import Rabbit
from tests.archive.running import Outage, Troubled, archiving
from tests.archive.test_archiver import ALL, letters, until_archived, until_empty
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def test_killed_between_commit_and_acknowledgement(
    rabbit: Rabbit, store: Store, archive_url: str
) -> None:
    rabbit.kill(letters(300))
    command = [sys.executable, "-m", "tests.archive.killed", rabbit.url]
    for _ in range(4):
        killed = subprocess.run([*command, archive_url], timeout=30)
        assert killed.returncode == -signal.SIGKILL
    assert 60 <= store.count(ALL) < 300
    with archiving(rabbit.url, store=store):
        until_archived(store, 300)
        until_empty(rabbit)
    rows = store.find(ALL)
    assert sorted(str(row.letter.id) for row in rows) == sorted(f"n-{n}" for n in range(300))
    assert {row.count for row in rows} == {1}


def test_a_store_slower_than_the_heartbeat(rabbit: Rabbit, store: Store) -> None:
    slow = Troubled(store, lambda: threading.Event().wait(4.5))
    rabbit.kill(letters(10))
    with archiving(rabbit.url, store=slow, heartbeat=2) as running:
        until_archived(store, 10)
        until_empty(rabbit)
    assert slow.additions == 1
    assert running.statuses.count("connecting to RabbitMQ") == 1


def test_a_store_that_goes_away_and_comes_back(
    rabbit: Rabbit, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    outage = Outage()
    troubled = Troubled(store, outage)
    rabbit.kill(letters(100))
    with archiving(rabbit.url, store=troubled, batch_size=20) as running:
        running.until("waiting for the archive")
        eventually(lambda: rabbit.ready() == 100, "all letters are back in RabbitMQ")
        eventually(lambda: troubled.additions >= 3, "the store is tried again")
        assert rabbit.ready() == 100
        assert rabbit.consumers() == 0
        outage.over.set()
        until_archived(store, 100)
        until_empty(rabbit)
    assert running.statuses.count("connecting to RabbitMQ") == 2
    deliveries = [row.letter.headers.get("x-delivery-count", 0) for row in store.find(ALL)]
    assert max(deliveries) <= 1
    assert caplog.text.count("archive is unavailable") == 1


def test_a_store_that_is_away_at_the_start(rabbit: Rabbit, tmp_path: Path) -> None:
    blocker = tmp_path / "var"
    directory = blocker / "db"
    blocker.mkdir()
    late = Store(f"sqlite:///{directory}/archive.sqlite3")
    directory.rmdir()
    rabbit.kill(letters(1))
    with archiving(rabbit.url, store=late) as running:
        running.until("waiting for the archive")
        assert rabbit.consumers() == 0
        directory.mkdir()
        eventually(lambda: running.statuses[-1].startswith("archiving"), "it archives")
        until_archived(late, 1)
    late.close()


def test_a_broker_that_is_killed_and_restarts(
    rabbit: Rabbit, store: Store, restartable: PrivateServers
) -> None:
    with archiving(rabbit.url, store=store, heartbeat=2) as running:
        rabbit.kill(letters(5, "before"))
        until_archived(store, 5)
        restartable.restart_broker(kill=True)
        rabbit.kill(letters(5, "after"))
        until_archived(store, 10)
        until_empty(rabbit)
    assert any("RabbitMQ is unavailable" in status for status in running.statuses)
    assert store.count(Filter(reason="recipient_refused")) == 10
