"""A beat counts what it publishes: by itself, and to audiences."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from notify.broker.channel import connect, drop
from notify.config.numbers import PROCESSES
from notify.metrics.process import PUBLISHED
from notify.topology import work_queue
from tests.audiences.rig import table
from tests.cli.conftest import shell_of
from tests.deployment import Deployment
from tests.metrics.scrapes import samples, until_shown, value
from tests.ports import first_of
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

PHONE = "+491701234567"


def soon() -> str:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    return at.isoformat()


def remove_queue(deployment: Deployment, channel: str, priority: str) -> None:
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=30)
    try:
        connection.channel().queue_delete(work_queue(channel, priority))
    finally:
        drop(connection)


def test_each_publish_is_counted_once_by_its_answer(
    deploy: Callable[..., Deployment],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = first_of(len(PROCESSES))
    deployment, port = deploy(metrics=first), first + PROCESSES.index(("beat",))
    shell = shell_of(deployment, monkeypatch, capsys)
    deployment.until_logged(deployment.start("beat"), '"event":"ready"')
    until_shown(port)

    def count(outcome: str) -> float | None:
        return value(samples(port), "notify_publishes_total", outcome=outcome)

    assert [count(outcome) for outcome in PUBLISHED] == [0] * len(PUBLISHED)
    people = table(tmp_path / "people.csv", 20)
    content = ("--body", "Hello", "--at", soon())
    assert shell("schedule", "add", "one", "sms", PHONE, *content).code == 0
    assert shell("schedule", "add", "many", "sms", "--file", str(people), *content).code == 0
    eventually(lambda: deployment.ready() == 21, "all in their queue", 40)
    eventually(lambda: count("confirmed") == 21, "all counted")
    remove_queue(deployment, "sms", "urgent")
    lost = ("--body", "Hello", "--at", soon(), "--priority", "urgent")
    assert shell("schedule", "add", "lost", "sms", PHONE, *lost).code == 0
    eventually(lambda: count("unroutable"), "what no queue took", 40)
    assert count("confirmed") == 21
    others = set(PUBLISHED) - {"confirmed", "unroutable"}
    assert {count(outcome) for outcome in others} == {0}
