"""``notify schedule`` and ``notify beat``: each planned instant is delivered once."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.conftest import Ran
from tests.deployment import Deployment
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

PHONE = "+491701234567"


def add(shell: Callable[..., Ran], name: str, *timing: str) -> None:
    added = shell("schedule", "add", name, "sms", PHONE, "--body", name, *timing)
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith(f"{name}: ")


def test_adding_listing_and_removing(shell: Callable[..., Ran]) -> None:
    add(shell, "yearly", "--cron", "0 3 29 2 *")
    add(shell, "hourly", "--every", "1h")
    listed = shell("schedule", "list")
    names = [line.split()[0] for line in listed.out.splitlines()]
    assert names == ["name", "hourly", "yearly", "2"]
    assert PHONE not in listed.out
    assert "+49***67" in listed.out
    assert [row["name"] for row in rows(shell)] == ["hourly", "yearly"]
    again = shell("schedule", "add", "hourly", "sms", PHONE, "--body", "x", "--every", "1m")
    assert again.code == 2
    assert "there is a schedule 'hourly'; remove it first" in again.err
    dry = shell("schedule", "remove", "hourly")
    assert (dry.code, dry.out.splitlines()) == (
        0,
        [
            "hourly: would be removed: every 1 hour",
            "nothing was removed; repeat with --yes",
        ],
    )
    assert shell("schedule", "remove", "hourly", "--yes").out == "hourly: removed\n"
    gone = shell("schedule", "remove", "hourly", "--yes")
    assert (gone.code, gone.err) == (1, "notify: there is no schedule 'hourly'\n")


def rows(shell: Callable[..., Ran]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(shell("schedule", "list", "--json").out)[
        "schedules"
    ]
    return found


def test_an_interval_and_a_one_shot_are_each_delivered_once_per_instant(
    deployment: Deployment, shell: Callable[..., Ran]
) -> None:
    deployment.worker()
    beat = deployment.start("beat")
    deployment.until_logged(beat, '"event":"ready"')
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=4)
    add(shell, "once", "--at", at.isoformat())
    add(shell, "tick", "--every", "1s")
    deployment.sandbox.wait_for(5, 20)
    eventually(lambda: "once" in bodies(deployment), "the one-shot")
    assert beat.stop() == 0
    settled(deployment)
    counts = Counter(item.id for item in deployment.sandbox.received())
    assert set(counts.values()) == {1}
    assert [id for id in counts if id.startswith("schedule:once:")] == [
        f"schedule:once:{at:%Y%m%dT%H%M%SZ}"
    ]
    once = next(item for item in deployment.sandbox.received() if item.body == "once")
    assert once.at >= at.timestamp() - 0.1
    assert [row["name"] for row in rows(shell)] == ["tick"]


def bodies(deployment: Deployment) -> set[str]:
    return {item.body for item in deployment.sandbox.received()}


def settled(deployment: Deployment) -> None:
    """What has been published is acknowledged: the worker hands back what it has not sent."""
    eventually(lambda: deployment.ready() == 0, "an empty queue")
    assert deployment.processes[0].stop() == 0
    assert deployment.ready() == 0


@pytest.mark.slow
def test_two_beats_deliver_each_instant_once_and_the_second_takes_over(
    deployment: Deployment, shell: Callable[..., Ran]
) -> None:
    deployment.worker()
    leader = deployment.start("beat")
    deployment.until_logged(leader, '"event":"ready"')
    add(shell, "tick", "--every", "1s")
    deployment.until_logged(leader, "schedule fired")
    follower = deployment.start("beat")
    deployment.until_logged(follower, '"event":"ready"')
    deployment.sandbox.wait_for(3, 20)
    assert "schedule fired" not in follower.text()
    leader.kill()
    deployment.until_logged(follower, "schedule fired", 40)
    before = len(deployment.sandbox.received())
    deployment.sandbox.wait_for(before + 2, 20)
    assert follower.stop() == 0
    settled(deployment)
    fired = leader.text().count("schedule fired") + follower.text().count("schedule fired")
    counts = Counter(item.id for item in deployment.sandbox.received())
    assert set(counts.values()) == {1}
    # The leader may have been killed between its publish and its log line.
    assert len(counts) <= fired + 1


def test_a_beat_that_waits_stops_at_once(deployment: Deployment) -> None:
    leader = deployment.start("beat")
    deployment.until_logged(leader, '"event":"ready"')
    follower = deployment.start("beat")
    deployment.until_logged(follower, '"event":"ready"')
    assert follower.stop(5) == 0
    assert leader.stop(5) == 0


def test_a_beat_without_redis_says_so_and_ends(deployment: Deployment) -> None:
    """systemd starts it again; while it runs it holds the lock or waits for it."""
    deployment.environ["NOTIFY_REDIS_URL"] = "redis://:hunter2@127.0.0.1:1/0"
    beat = deployment.cli("beat")
    assert beat.returncode == 4
    assert beat.stderr.endswith("notify: Redis: ConnectionError\n")
    assert "Traceback" not in beat.stderr
    assert "hunter2" not in beat.stderr
