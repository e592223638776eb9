"""Files as batches on real servers: killed, paused, cancelled, refused, reconciled."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from notify import run_batch
from notify.batch import Knobs
from notify.broker.channel import connect, drop
from notify.errors import UsageError
from notify.sandbox import Answer
from notify.store.batches import Batch, Batches
from notify.topology import work_queue
from tests.broker.rabbit import Rabbit
from tests.deployment import ROOT, Deployment, Process, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

Deploy = Callable[..., Deployment]

HEAD = "channel,recipient,body\n"
WINDOW = Knobs().window
# A hundred thousand when that is wanted to be seen: NOTIFY_TEST_ROWS=100000.
ROWS = int(os.environ.get("NOTIFY_TEST_ROWS", "1500"))
TOO_LONG = 60 + ROWS / 50


def rows(count: int, head: str = HEAD) -> str:
    return head + "".join(f"sms,+4917{n:08},Hello {n}\n" for n in range(count))


def stored(deployment: Deployment, name: str) -> Batch | None:
    with closing(Batches(deployment.settings.archive.url)) as batches:
        batches.create()
        return batches.get(name)


def sent(deployment: Deployment, name: str) -> int:
    batch = stored(deployment, name)
    return batch.sent if batch else 0


def started(deployment: Deployment, *arguments: str) -> Process:
    log = deployment.directory / f"batch-{len(deployment.processes)}.log"
    process = Process(arguments, deployment.environ, log)
    deployment.processes.append(process)
    return process


def _taken(deployment: Deployment) -> list[str]:
    taken = Rabbit(deployment.vhost_url).take_all()
    return [message.properties["message_id"] for message in taken]


def until_sent(
    deployment: Deployment, process: Process, name: str, count: int, seconds: float = 60.0
) -> None:
    def there() -> bool:
        assert process.popen.poll() is None, process.text()
        return sent(deployment, name) >= count

    eventually(there, f"{count} rows of {name}", seconds)


@pytest.mark.slow
def test_killed_twice_it_goes_on_and_every_row_is_published_once_but_for_the_window(
    deployment: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(rows(5000))
    command = ("send", "--file", str(path), "--name", "spring", "--rate", "1500/s")
    for count in (800, 2600):
        process = started(deployment, *command)
        until_sent(deployment, process, "spring", count)
        process.kill()
        assert (
            json.loads(deployment.cli("batch", "show", "spring", "--json").stdout)["state"]
            == "interrupted"
        )
    last = deployment.cli(*command)
    assert last.returncode == 0, last.stderr
    assert last.stdout.startswith("5000 of 5000 published\n  at most 2000 were published again")
    found = Counter(Rabbit(deployment.vhost_url).ids(5000))
    assert found.keys() == {f"spring:{line}" for line in range(2, 5002)}
    assert found.total() - 5000 <= 2 * WINDOW
    batch = stored(deployment, "spring")
    assert batch
    assert (batch.state, batch.sent, batch.owner, batch.cursor) == ("finished", 5000, None, 5001)


@pytest.mark.slow
@pytest.mark.timeout(2 * TOO_LONG)
def test_killed_twice_it_is_delivered_to_each_once(deploy: Deploy, tmp_path: Path) -> None:
    deployment = deploy(concurrency=16)
    path = tmp_path / "people.csv"
    path.write_text(rows(ROWS))
    for _ in range(2):
        deployment.worker()
    command = ("send", "--file", str(path), "--name", "everybody", "--rate", "1000/s")
    for part in (0.2, 0.6):
        process = started(deployment, *command)
        until_sent(deployment, process, "everybody", int(part * ROWS), TOO_LONG)
        process.kill()
    last = started(deployment, *command)
    assert last.popen.wait(TOO_LONG) == 0, last.text()

    def settled() -> bool:
        return not deployment.depth(work_queue("sms", "normal"))

    eventually(settled, "everything delivered", TOO_LONG)
    found = deployment.sandbox.wait_for(ROWS, timeout=30)
    counts = Counter(received.recipient for received in found)
    assert set(counts.values()) == {1}
    assert counts.keys() == {f"+4917{n:08}" for n in range(ROWS)}


def test_paused_resumed_and_cancelled_from_another_shell(
    deployment: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(rows(2000))
    process = started(deployment, "send", "--file", str(path), "--name", "slow", "--rate", "100/s")
    until_sent(deployment, process, "slow", 20)
    second = deployment.cli("send", "--file", str(path), "--name", "slow")
    assert second.returncode == 2
    assert f"batch slow runs already on {os.uname().nodename}, process" in second.stderr
    assert deployment.cli("batch", "pause", "slow").stdout == "slow: paused\n"
    assert process.popen.wait(5) == 5
    paused = sent(deployment, "slow")
    assert deployment.ready() == paused < 2000
    again = deployment.cli("send", "--file", str(path), "--name", "slow")
    assert (again.returncode, "is paused: notify batch resume slow" in again.stderr) == (2, True)

    process = started(deployment, "batch", "resume", "slow")
    until_sent(deployment, process, "slow", paused + 20)
    assert deployment.cli("batch", "cancel", "slow").returncode == 0
    assert process.popen.wait(5) == 5
    assert deployment.cli("batch", "resume", "slow").returncode == 2
    listed = json.loads(deployment.cli("batch", "list", "--json").stdout)
    assert [(each["name"], each["state"]) for each in listed] == [("slow", "cancelled")]
    ids = Counter(_taken(deployment))
    assert max(ids.values()) == 1
    assert ids.total() == listed[0]["published"] == sent(deployment, "slow")


def test_a_signal_ends_it_cleanly_and_resume_goes_on(
    deployment: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(rows(600))
    process = started(deployment, "send", "--file", str(path), "--name", "halt", "--rate", "200/s")
    until_sent(deployment, process, "halt", 20)
    process.popen.send_signal(signal.SIGTERM)
    assert process.popen.wait(5) == 5
    assert "to go on: notify batch resume halt" in process.text()
    with path.open("a") as file:
        file.write("sms,+4917000000,More\n")
    changed = deployment.cli("batch", "resume", "halt")
    assert changed.returncode == 2
    assert "it or its template is not what it was" in changed.stderr
    assert deployment.cli("send", "--file", str(path), "--name", "halt").returncode == 2
    path.write_text(rows(600))
    assert deployment.cli("batch", "resume", "halt").stdout == "600 of 600 published\n"
    assert deployment.ready() == 600


@pytest.mark.parametrize("more", [(), ("--name", "named")], ids=["unnamed", "named"])
def test_bad_rows_stop_it_or_are_left_out(
    deployment: Deployment, tmp_path: Path, more: tuple[str, ...]
) -> None:
    lines = rows(2000).splitlines(keepends=True)
    lines[7] = "sms,0170314159,Hello\n"
    lines[1000] = "sms,+491701234567\n"
    lines[2000] = "sms,+491701234567,\n"
    path, listed = tmp_path / "people.csv", tmp_path / "bad.csv"
    path.write_text("".join(lines))
    stopped = deployment.cli("send", "--file", str(path), "--rejects", str(listed), *more)
    assert (stopped.returncode, stopped.stdout, deployment.ready()) == (2, "", 0)
    assert f"{path}:8: column recipient: must be a phone number" in stopped.stderr
    assert f"(and 2 more rows; all are in {listed})" in stopped.stderr
    assert [row[:2] for row in csv.reader(listed.read_text().splitlines())] == [
        ["line", "column"], ["8", "recipient"], ["1001", ""], ["2001", "body"],
    ]  # fmt: skip
    assert "314159" not in listed.read_text() + stopped.stderr
    skipped = deployment.cli("send", "--file", str(path), "--on-error", "skip", *more)
    assert (skipped.returncode, skipped.stdout) == (5, "1997 of 2000 published\n  3 rejected\n")
    assert Path(f"{path}.rejects.csv").read_text() == listed.read_text()
    assert deployment.ready() == 1997
    shown = json.loads(deployment.cli("batch", "list", "--json").stdout)[0]
    assert shown["state"] == "finished with failures"
    assert (shown["rows"], shown["published"], shown["rejected"]) == (2000, 1997, 3)


def piped(deployment: Deployment, content: bytes, *more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "notify", "send", "--file", "-", *more],
        input=content,
        env=deployment.environ,
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_what_spreadsheets_and_pipes_bring(deployment: Deployment, tmp_path: Path) -> None:
    text = HEAD.replace(",", ";") + 'sms;+491701234567;"Grüße; an, alle"\n'
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(("\ufeff" + text * 1).encode()))
    assert deployment.cli("send", "--file", str(path)).stdout == "1 of 1 published\n"
    latin = piped(deployment, text.encode("latin-1"), "--encoding", "latin-1", "--name", "pipe")
    assert (latin.returncode, latin.stdout) == (0, b"1 of 1 published\n")
    wrong = piped(deployment, text.encode("latin-1"))
    assert wrong.returncode == 2
    assert b"standard input:2: column body: has bytes" in wrong.stderr
    twins = HEAD + "sms,+491701234567,Hello\n" * 3
    assert piped(deployment, twins.encode()).stdout == b"3 of 3 published\n"
    assert piped(deployment, twins.encode()).stdout == b"3 of 3 published\n"
    assert deployment.ready() == 5
    large = piped(deployment, (HEAD + f"sms,+491701234567,{'x' * 10_000_000}\n").encode())
    assert large.returncode == 2
    assert b"standard input:2: column body: has more than 131072 characters" in large.stderr
    assert len(large.stderr) < 300


def test_every_row_has_an_outcome_and_the_dead_are_sent_again(
    deploy: Callable[..., Deployment], tmp_path: Path
) -> None:
    deployment = deploy()
    bad = "+491700000003"
    deployment.sandbox.script(bad, then=Answer(status=400))
    path, listed = tmp_path / "people.csv", tmp_path / "rows.csv"
    lines = "".join(f"{'own' if n == 5 else ''},sms,+49170000000{n},Hi\n" for n in range(8))
    path.write_text("id,channel,recipient,body\n" + lines + ",sms,1,Hi\n")
    deployment.cli("send", "--file", str(path), "--name", "eight", "--on-error", "skip")
    before = deployment.cli("batch", "show", "eight", "--outcomes", "--json")
    assert before.returncode == 5
    assert json.loads(before.stdout)["outcomes"] == {"not found": 8, "rejected": 1}
    deployment.worker()
    deployment.archiver()

    def outcomes() -> dict[str, int]:
        shown = deployment.cli("batch", "show", "eight", "--json", "--outcomes", str(listed))
        found: dict[str, int] = json.loads(shown.stdout)["outcomes"]
        return found

    def settled() -> dict[str, int]:
        found = outcomes()
        return found if found.get("delivered") == 7 and "dead" not in found else {}

    found = eventually(settled, "seven delivered", 40)
    (dead,) = [name for name in found if name.startswith("dead: ")]
    assert found == {"delivered": 7, dead: 1, "rejected": 1}
    table = [*csv.reader(listed.read_text().splitlines())]
    assert table[4] == ["5", "eight:5", "dead", dead.removeprefix("dead: ")]
    assert table[6][1:3] == ["own", "delivered"]
    assert table[9][2] == "rejected"

    deployment.sandbox.script(bad)
    dry = deployment.cli("batch", "retry-failed", "eight")
    assert dry.stdout.startswith("1 of 1 dead letters would be sent again\n")
    assert dry.stdout.endswith("nothing was sent; repeat with --yes\n")
    done = deployment.cli("batch", "retry-failed", "eight", "--yes")
    assert "1 of 1 sent again" in done.stdout
    eventually(lambda: outcomes().get("delivered") == 8, "eight delivered", 40)
    assert "no open dead letters" in deployment.cli("batch", "retry-failed", "eight").stdout


def test_rows_without_a_queue_are_named_and_published_later(
    deployment: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("channel,recipient,subject,body\nsms,+491701234567,,a\nemail,a@b.de,b,b\n")
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    connection.channel().queue_delete(work_queue("email", "normal"))
    drop(connection)
    first = deployment.cli("send", "--file", str(path), "--name", "two")
    assert first.returncode == 5
    assert "1 of 2 published\n  1 not published: no queue is bound" in first.stdout
    deployment.cli("topology", "declare")
    assert deployment.cli("batch", "resume", "two").stdout == "2 of 2 published\n"
    assert (deployment.ready(), deployment.ready("email")) == (1, 1)


def test_the_same_from_python(deployment: Deployment) -> None:
    notifications = [sms(f"Hello {n}") for n in range(50)]
    first = run_batch(deployment.settings, "python", notifications, rate=1000)
    assert (first.state, first.sent, first.cursor) == ("finished", 50, 50)
    again = run_batch(deployment.settings, "python", iter(notifications))
    assert again.sent == 50
    mixed = run_batch(
        deployment.settings,
        "mixed",
        [{"channel": "sms", "recipient": "+491701234567", "body": "a"}, {"channel": "fax"}],
    )
    assert (mixed.state, mixed.sent, mixed.rejected) == ("finished with failures", 1, 1)
    assert set(Rabbit(deployment.vhost_url).ids(51)) == {
        *(f"python:{n}" for n in range(1, 51)), "mixed:1",
    }  # fmt: skip
    with pytest.raises(UsageError):
        run_batch(deployment.settings, "a:b", [])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(deployment: Deployment, tmp_path: Path) -> None:
    """Two hundred thousand wrong and good rows are checked, and the good ones published."""
    measured = tmp_path / "measured.py"
    measured.write_text(
        "import resource, sys\nfrom notify import cli\n"
        "try:\n    cli.main(sys.argv[1:])\n"
        "finally:\n    sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))\n"
    )

    def peak(count: int) -> int:
        path = tmp_path / f"{count}.csv"
        bad = "sms,1,Hello\n" * 19
        good = "".join(f"sms,+4917{n:08},Hello\n{bad}" for n in range(count // 20))
        path.write_text(HEAD + good)
        ran = subprocess.run(
            [sys.executable, str(measured), "send", "--file", str(path), "--on-error", "skip"],
            env=deployment.environ | {"PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert ran.stdout.startswith(f"{count // 20} of {count} published"), ran.stderr
        return int(ran.stderr.splitlines()[-1])

    small, large = peak(2000), peak(200_000)
    assert large - small < 20_000  # KiB
