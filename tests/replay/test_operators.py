"""People at the command line: one is killed, two are at it at once, one filters for nothing."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from notify.broker.channel import connect, drop
from notify.outcomes import Reason
from notify.replay import Desk, Order, open_desk
from notify.replay.running import begin_replay
from notify.store import Filter, Store
from notify.store.batches import BatchProgress
from notify.store.taking import Wish
from tests.cli.conftest import Ran, shell, shell_of
from tests.deployment import Deployment, Process
from tests.replay.letters import bury, text
from tests.waiting import eventually

__all__ = ["shell"]

pytestmark = [pytest.mark.broker, pytest.mark.redis]

COUNT = 90


@pytest.fixture
def archived(deployment: Deployment, archive_url: str) -> Deployment:
    """A deployment with an archive of each kind of database."""
    deployment.environ["NOTIFY_ARCHIVE_URL"] = archive_url
    archive = deployment.settings.archive.model_copy(update={"url": archive_url})
    deployment.settings = deployment.settings.model_copy(update={"archive": archive})
    deployment.store.close()
    deployment.store = Store(archive_url)
    deployment.store.create()
    return deployment


def until_sent(desk: Desk, process: Process, name: str, count: int) -> None:
    def there() -> bool:
        assert process.popen.poll() is None, process.text()
        batch = desk.batches.get(name)
        return batch is not None and batch.sent >= count

    eventually(there, f"{count} letters of {name}", 60)


def report(process: Process) -> dict[str, Any]:
    """What a replay that was run with --json printed at its end, after its bar."""
    text = process.text()
    facts: dict[str, Any] = json.loads(text[text.index("{\n") :])
    return facts


def check_each_once(deployment: Deployment, count: int) -> None:
    deployment.worker()
    ids = {f"n-{n}" for n in range(count)}
    for id in ids:
        deployment.until_sent(id)
    deployment.until_depth("notify.sms.normal", 0)
    assert sorted(each.id for each in deployment.sandbox.received()) == sorted(ids)


def test_killed_twice_and_started_again_with_the_same_command(
    archived: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = shell_of(archived, monkeypatch, capsys)
    bury(archived, *(text(n) for n in range(COUNT)))
    command = (
        "dead",
        "replay",
        "--since",
        "6h",
        "--rate",
        "90",
        "--name",
        "mine",
        "--yes",
        "--json",
    )
    with open_desk(archived.settings) as desk:
        for count in (10, 40):
            process = archived.start(*command)
            until_sent(desk, process, "mine", count)
            process.kill()
        assert json.loads(shell("batch", "show", "mine", "--json").out)["state"] == "interrupted"
        done = shell(*command)
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert (facts["name"], facts["sent"], facts["left_out"]) == ("mine", COUNT, {})
    assert "going on with mine" in done.err
    other = shell("dead", "replay", "--state", "replayed", "--name", "mine", "--yes")
    assert (other.code, "there is a batch mine already" in other.err) == (2, True)
    check_each_once(archived, COUNT)


def test_two_operators_at_once_send_each_once(
    archived: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the same archive, by two filters that find the same."""
    bury(archived, *(text(n) for n in range(COUNT)))
    filters = {"a": Filter(channel="sms"), "b": Filter(reason="retries_exhausted")}
    with open_desk(archived.settings) as desk:
        for name, wanted in filters.items():
            begin_replay(desk, Order(wanted=wanted, actor=name, rate=50.0, name=name))
    processes = [archived.start("batch", "resume", name, "--json") for name in filters]
    assert {process.popen.wait(90) for process in processes} <= {0, 5}
    first, second = map(report, processes)
    assert first["sent"] + second["sent"] == COUNT
    for one, other in ((first, second), (second, first)):
        assert one["letters"] == one["sent"] + sum(one["left_out"].values()) == COUNT
        # What the other one took is said to be its.
        taken = {other["name"]: other["sent"]} if other["sent"] else {}
        assert one["taken_by_others"] == taken
    check_each_once(archived, COUNT)
    listed = json.loads(shell_of(archived, monkeypatch, capsys)("dead", "replays", "--json").out)
    assert {each["name"]: each["sent"] for each in listed} == {
        each["name"]: each["sent"] for each in (first, second)
    }


def test_paused_from_another_shell_and_resumed(
    deployment: Deployment, desk: Desk, shell: Callable[..., Ran]
) -> None:
    bury(deployment, *(text(n) for n in range(COUNT)))
    command = ("dead", "replay", "--all", "--rate", "20", "--name", "slow", "--yes")
    process = deployment.start(*command)
    until_sent(desk, process, "slow", 5)
    second = shell("batch", "resume", "slow")
    assert (second.code, f"runs already on {os.uname().nodename}" in second.err) == (2, True)
    plan = json.loads(shell("dead", "replay", "--all", "--json").out)
    assert plan["waiting_in_other_replays"]["slow"] > COUNT / 2
    second = shell(*command)
    assert (second.code, "replay slow runs already on" in second.err) == (2, True)
    assert shell("batch", "pause", "slow").out == "slow: paused\n"
    assert process.popen.wait(10) == 5
    second = shell(*command)
    assert (second.code, "slow is paused: notify batch resume slow" in second.err) == (2, True)
    assert "slow is paused: notify batch resume slow" in process.text()
    paused = desk.replays.counts("slow")["sent"]
    process = deployment.start("batch", "resume", "slow")
    until_sent(desk, process, "slow", paused + 5)
    assert shell("batch", "cancel", "slow").code == 0
    assert process.popen.wait(10) == 5
    facts = json.loads(shell("dead", "replays", "show", "slow", "--json").out)
    assert facts["state"] == "cancelled"
    assert facts["sent"] + facts["left_out"]["cancelled"] == COUNT
    assert deployment.ready() == facts["sent"]
    assert shell("batch", "cancel", "slow").code == 0
    assert shell("dead", "replay", "--all", "--yes").code == 0
    check_each_once(deployment, COUNT)


def test_cancelled_while_another_host_may_run_it(
    deployment: Deployment, desk: Desk, shell: Callable[..., Ran]
) -> None:
    """What that has in hand is its, until it is known to be gone."""
    bury(deployment, text(1), text(2))
    begin_replay(desk, Order(wanted=Filter(), actor="ann", name="far"))
    owner = json.dumps({"host": "far", "pid": 1, "machine": "another"})
    desk.batches.take("far", owner, lambda _: False, 0)
    desk.replays.take("far", [Wish(number=1, id="n-1", generation=2)])
    said = shell("batch", "cancel", "far")
    assert (said.code, "repeat this in a minute" in said.out) == (0, True)
    assert desk.replays.counts("far") == {"": 2}
    desk.batches.save("far", owner, BatchProgress(), leave="")
    assert shell("batch", "cancel", "far").out == ""
    assert desk.replays.counts("far") == {"cancelled": 2}
    again = shell("batch", "retry-failed", "far", "--yes")
    assert (again.code, "far is a replay itself" in again.err) == (2, True)


def test_what_is_shown(deployment: Deployment, shell: Callable[..., Ran]) -> None:
    bury(deployment, text(1), text(2))
    bury(deployment, text(3), reason=Reason.UNKNOWN_OUTCOME)
    phone = text(1).recipient
    dry = shell("dead", "replay", "--all", "--rate", "2")
    assert dry.code == 5
    assert dry.out.splitlines() == [
        "2 of 3 dead letters would be sent again",
        "  2 with reason retries_exhausted",
        "  2 with channel sms",
        "  left out: 1, unknown outcome: it may have arrived, so that this may be a second copy"
        " (--unknown)",
        "  at 2 a second: about 1 s",
        "nothing was sent; repeat with --yes",
    ]
    nothing = shell("dead", "replay", "--reason", "refused", "--yes")
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err == "notify: no open dead letter matches\n"
    done = shell("dead", "replay", "--recipient", phone, "--name", "one", "--yes")
    assert (done.code, done.out) == (0, "one: 1 of 1 sent again\n")
    listed = shell("dead", "replays")
    assert "recipient +49***01" in listed.out
    assert phone not in listed.out
    shown = shell("dead", "replays", "show", "one")
    assert "n-1" in shown.out
    assert phone not in shown.out
    assert shell("dead", "replays", "show", "two").code == 1
    batches = json.loads(shell("batch", "list", "--json").out)
    assert [(each["name"], each["source"], each["state"]) for each in batches] == [
        ("one", "replay", "finished")
    ]
    outcomes = shell("batch", "show", "one", "--outcomes")
    assert (outcomes.code, "notify dead replays show one" in outcomes.err) == (2, True)
    assert "was sent again: one" in shell("dead", "show", "n-1").out
    assert "since then: on its way, generation 2" in shell("dead", "show", "n-1").out


def test_urgent_and_own_priorities(deployment: Deployment, shell: Callable[..., Ran]) -> None:
    bury(deployment, text(1, priority="urgent"), text(2), text(3, priority="urgent"))
    assert shell("dead", "replay", "n-1", "--yes").code == 0
    assert deployment.ready("sms", "normal") == 1
    assert shell("dead", "replay", "n-2", "--priority", "urgent", "--yes").code == 0
    assert shell("dead", "replay", "n-3", "--priority", "own", "--yes").code == 0
    assert deployment.ready("sms", "urgent") == 2


def test_nothing_of_the_broker_travels_back(
    deployment: Deployment, desk: Desk, shell: Callable[..., Ran]
) -> None:
    bury(deployment, text(1))
    (row,) = desk.store.get("n-1")
    deaths = {"x-death": [{"queue": "q", "count": 3}], "x-first-death-queue": "q"}
    desk.store.add([row.letter.evolve(id="n-2", headers=deaths)])
    assert shell("dead", "replay", "n-2", "--unknown", "--yes").code == 0
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    try:
        message = connection.channel().basic_get("notify.sms.normal")
        assert message is not None
        assert not [name for name in message.headers if name.startswith("x-death")]
        assert "x-first-death-queue" not in message.headers
        assert message.headers["notify-generation"] == 2
    finally:
        drop(connection)
