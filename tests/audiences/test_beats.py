"""Audiences as users have them: beats that are killed and stopped, and the command line."""

import csv
import json
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.sandbox import EVERYONE, Answer
from tests.audiences.rig import phone, table
from tests.cli.conftest import Ran, shell_of
from tests.deployment import Deployment, Process
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]


@pytest.fixture
def shell(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Ran]]:
    yield shell_of(deployment, monkeypatch, capsys)


def beat(deployment: Deployment) -> Process:
    process = deployment.start("beat")
    deployment.until_logged(process, '"event":"ready"')
    return process


def soon(seconds: float = 2) -> str:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
    return at.isoformat()


def named(name: str, at: str) -> str:
    return f"schedule-{name}-{datetime.fromisoformat(at):%Y%m%dT%H%M%SZ}"


def add(shell: Callable[..., Ran], name: str, *options: str) -> None:
    added = shell("schedule", "add", name, "sms", "--body", "Hello", *options)
    assert (added.code, added.err) == (0, "")


def shown(shell: Callable[..., Ran], batch: str) -> dict[str, Any]:
    answer = shell("batch", "show", batch, "--json")
    facts: dict[str, Any] = json.loads(answer.out) if answer.code == 0 else {}
    return facts


def until_state(shell: Callable[..., Ran], batch: str, state: str) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        facts = shown(shell, batch)
        return facts if facts.get("state") == state else None

    return eventually(reached, f"{batch} {state}", 60)


def until_counted(shell: Callable[..., Ran], batch: str) -> None:
    eventually(lambda: shown(shell, batch).get("rows"), f"{batch} has begun", 30)


def delivered(deployment: Deployment) -> Counter[str]:
    return Counter(item.id for item in deployment.sandbox.received())


@pytest.mark.slow
def test_a_beat_is_killed_in_the_middle_and_each_of_two_thousand_gets_it_once(
    deployment: Deployment, shell: Callable[..., Ran], tmp_path: Path
) -> None:
    deployment.worker()
    first, second = beat(deployment), beat(deployment)
    path, at = table(tmp_path / "people.csv", 2000), soon()
    batch = named("bills", at)
    add(shell, "bills", "--file", str(path), "--spread", "10s", "--at", at)
    deployment.sandbox.wait_for(400, 40)
    lead = first if "batch begins" in first.text() else second
    lead.kill()
    # What was uploaded anew belongs to the next firing.
    table(path, 2000, start=5000)
    facts = until_state(shell, batch, "finished")
    assert (facts["rows"], facts["rejected"], facts["not_published"]) == (2000, 0, 0)
    assert (facts["schedule"], facts["planned"]) == ("bills", at)
    eventually(lambda: len(delivered(deployment)) == 2000, "all deliveries", 60)
    eventually(lambda: deployment.ready() == 0, "an empty queue")
    counts = delivered(deployment)
    assert counts.keys() == {f"{batch}:{row}" for row in range(2, 2002)}
    assert set(counts.values()) == {1}
    assert {item.recipient for item in deployment.sandbox.received()} == {
        phone(n) for n in range(1, 2001)
    }
    history = json.loads(shell("schedule", "history", "bills", "--json").out)["history"]
    assert [(each["outcome"], each["ref"]) for each in history] == [("fired", batch)]


def test_a_beat_that_is_stopped_leaves_it_to_the_next(
    deployment: Deployment, shell: Callable[..., Ran], tmp_path: Path
) -> None:
    first = beat(deployment)
    at = soon()
    batch = named("bills", at)
    path = table(tmp_path / "people.csv", 100)
    add(shell, "bills", "--file", str(path), "--spread", "5s", "--at", at)
    eventually(lambda: deployment.ready() > 10, "some rows", 40)
    assert first.stop() == 0
    left = shown(shell, batch)
    assert (left["state"], left["running"]) == ("waiting", "")
    assert 10 < left["published"] < 100
    beat(deployment)
    until_state(shell, batch, "finished")
    # Nothing was killed, so that nothing is published twice.
    assert deployment.ready() == 100


def test_it_is_paused_shown_resumed_and_cancelled(
    deployment: Deployment, shell: Callable[..., Ran], tmp_path: Path
) -> None:
    beat(deployment)
    path = table(tmp_path / "people.csv", 300, wrong=[2])
    batches = {}
    for name in ("one", "two"):
        at = soon()
        batches[name] = named(name, at)
        add(shell, name, "--file", str(path), "--spread", "10m", "--at", at)
    for name, word in (("one", "pause"), ("two", "cancel")):
        until_counted(shell, batches[name])
        assert shell("batch", word, batches[name]).code == 0
    eventually(
        lambda: not any(shown(shell, b)["running"] for b in batches.values()), "both rest", 30
    )
    assert shown(shell, batches["two"])["state"] == "cancelled"
    listed = json.loads(shell("batch", "list", "--json").out)
    assert {each["schedule"] for each in listed} == {"one", "two"}
    assert shell("batch", "resume", batches["two"]).code == 2
    outcomes = tmp_path / "outcomes.csv"
    told = shell("batch", "show", batches["one"], "--outcomes", str(outcomes))
    assert "schedule       one" in told.out
    with outcomes.open(encoding="utf-8") as file:
        rows = {row["row"]: row for row in csv.DictReader(file)}
    assert len(rows) == 300
    assert rows["3"]["outcome"] == "rejected"
    # It goes on at its pace, here: Ctrl-C leaves it to the beat.
    process = deployment.start("batch", "resume", batches["one"])
    published = shown(shell, batches["one"])["published"]
    eventually(lambda: shown(shell, batches["one"])["published"] > published, "it goes on", 30)
    process.popen.send_signal(signal.SIGINT)
    assert process.popen.wait(20) == 0
    assert "the leading beat goes on with it" in process.text()
    eventually(lambda: "batch goes on" in deployment.processes[0].text(), "the beat has it")
    assert shell("batch", "pause", batches["one"]).code == 0
    eventually(lambda: not shown(shell, batches["one"])["running"], "it rests", 30)
    handed = shell("batch", "resume", batches["one"], "--no-wait")
    assert (handed.code, "the leading beat goes on with it" in handed.out) == (0, True)
    eventually(lambda: shown(shell, batches["one"])["running"], "the beat has it again")


def test_without_a_beat_cron_sends_to_an_audience(
    deployment: Deployment, shell: Callable[..., Ran], tmp_path: Path
) -> None:
    path = table(tmp_path / "people.csv", 50)
    add(shell, "bills", "--file", str(path), "--every", "1s", "--grace", "1h")
    fire = ("schedule", "fire", "bills", "--planned", "last", "--json")
    eventually(lambda: shell(*fire).code == 0, "an instant that is planned")
    first = json.loads(shell("batch", "list", "--json").out)[-1]
    assert (first["state"], first["published"]) == ("finished", 50)
    ready = deployment.ready()
    instant = first["planned"]
    again = shell("schedule", "fire", "bills", "--planned", instant, "--json")
    assert again.code == 0
    facts = json.loads(again.out)
    assert (facts["before"], facts["id"], facts["batch"]["published"]) == (True, first["name"], 50)
    assert deployment.ready() == ready
    table(path, 50, wrong=[1])
    extra = shell("schedule", "fire", "bills", "--yes")
    assert extra.code == 5
    assert "49 of 50 published; finished with failures" in extra.out
    over = shell("batch", "resume", extra.out.partition(":")[0])
    assert (over.code, "none of its rows is left" in over.err) == (2, True)
    later = json.loads(shell("schedule", "fire", "bills", "--yes", "--no-wait", "--json").out)
    assert (later["batch"]["state"], later["batch"]["published"]) == ("running", 0)
    path.unlink()
    refused = shell("schedule", "fire", "bills", "--yes")
    assert refused.code == 2
    assert "people.csv: cannot be read" in refused.err
    waiting = shell("batch", "resume", later["batch"]["batch"])
    assert (waiting.code, "cannot be read" in waiting.err) == (1, True)


def test_a_schedule_of_another_host_is_restored_without_its_file(
    deployment: Deployment, shell: Callable[..., Ran], tmp_path: Path
) -> None:
    path = table(tmp_path / "people.csv", 5)
    add(shell, "bills", "--file", str(path), "--every", "1h")
    path.unlink()
    refused = shell("schedule", "add", "other", "sms", "--body", "x", "--file", str(path),
                    "--every", "1h")  # fmt: skip
    assert (refused.code, "people.csv: cannot be read" in refused.err) == (2, True)
    redis = deployment.ledger._redis
    for key in list(redis.scan_iter(f"{deployment.prefix}:beat:*")):
        redis.delete(key)
    assert "1 are missing" in shell("schedule", "restore", "--yes").out
    assert json.loads(shell("schedule", "list", "--json").out)["schedules"][0]["name"] == "bills"
    assert shell("schedule", "pause", "bills").code == 0
    assert shell("schedule", "resume", "bills").code == 0


def test_its_dead_letters_are_found_by_schedule_and_by_batch(
    deployment: Deployment, shell: Callable[..., Ran], tmp_path: Path
) -> None:
    deployment.archiver()
    deployment.sandbox.script(EVERYONE, then=Answer(status=400))
    path = table(tmp_path / "people.csv", 3)
    add(shell, "bills", "--file", str(path), "--every", "1h")
    fired = json.loads(shell("schedule", "fire", "bills", "--yes", "--json").out)
    assert fired["batch"]["published"] == 3
    deployment.worker()

    def found(*options: str) -> int:
        """How many letters there are; each names its batch once, in its id."""
        return shell("dead", "list", *options, "--json").out.count(f'"id": "{fired["id"]}:')

    eventually(lambda: found("--schedule", "bills") == 3, "three dead letters", 40)
    assert found("--batch", fired["id"]) == 3
    assert found("--schedule", "other") == 0
