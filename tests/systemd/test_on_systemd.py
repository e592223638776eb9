"""Notify as an operator runs it: installed, watched, cut off, drained, upgraded, rebooted.

The tests follow one host through its life, in this order.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.systemd.host import UNITS, Host
from tests.systemd.runbook import commands
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(900)]

WORKER = "notify-worker@sms-urgent"
NORMAL = "notify-worker@sms-normal"
SMS = "/etc/notify/channels/sms.toml"


def current(host: Host) -> str:
    return host.run("readlink", "/opt/notify/current").strip()


def statuses(host: Host) -> dict[str, str]:
    return {unit: host.status(unit) for unit in UNITS}


def test_a_dry_run_says_everything_and_changes_nothing(host: Host) -> None:
    host.follow(commands("deploy.md", "Servers"))
    checkout = host.checkout("first", "0.1.0")
    said = host.follow(commands("deploy.md", "Install")[:1], checkout)
    assert "would: build /opt/notify/0.1.0-" in said
    assert "would: add the user notify-publisher" in said
    assert f"would: enable {' '.join(f'{unit}.service' for unit in UNITS)}" in said
    assert "nothing was changed" in said
    assert not host.machine.ask("test", "-e", "/opt/notify")
    assert not host.machine.ask("id", "notify")


def test_it_installs_as_the_runbook_says(host: Host) -> None:
    checkout = "/srv/shared/first"
    said = host.follow(commands("deploy.md", "Install")[1:], checkout)
    assert re.search(r"^Notify 0\.1\.0-\w{8} runs here", said, re.MULTILINE)
    assert host.run("systemctl", "is-active", "notify.target").strip() == "active"
    told = statuses(host)
    assert told.pop("notify-beat").startswith("leading")
    assert told.pop("notify-archiver") == "archiving from notify.dead"
    assert told.pop("notify-exporter") == "looking at RabbitMQ and Redis"
    assert set(told.values()) == {"consuming"}


def test_once_more_it_has_nothing_to_do(host: Host) -> None:
    before = [host.pid(unit) for unit in UNITS]
    (said,) = host.follow(commands("deploy.md", "Install")[1:], "/srv/shared/first").splitlines()
    assert re.match(r"Notify \S+ runs here", said)
    assert [host.pid(unit) for unit in UNITS] == before


def test_secrets_and_permissions_are_the_least(host: Host) -> None:
    modes = host.run("stat", "-c", "%a %U:%G", "/etc/notify/secrets/broker-password").strip()
    assert modes == "640 root:notify"
    users = host.run("rabbitmqctl", "-q", "list_users", "--no-table-headers")
    assert "notify-worker\t[]" in users
    assert "notify-publisher\t[]" in users
    assert "notify-monitor\t[monitoring]" in users
    assert "notify-setup" not in users
    may = host.run("rabbitmqctl", "-q", "list_user_permissions", "notify-publisher")
    assert may.splitlines()[-1].split("\t") == ["notify", "^$", "^notify$", "^$"]
    environment = host.shell(f"tr '\\0' '\\n' </proc/{host.pid(WORKER)}/environ")
    password = host.run("cat", "/etc/notify/secrets/broker-password").strip()
    assert password not in environment


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_runs_inside_its_sandbox(host: Host, unit: str) -> None:
    pid = host.pid(unit)
    status = dict(re.findall(r"^(\w+):\s+(.*)$", host.run("cat", f"/proc/{pid}/status"), re.M))
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    for kind in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    assert status["Uid"].split()[0] == host.run("id", "-u", "notify").strip()
    mounts = host.run("cat", f"/proc/{pid}/mountinfo").splitlines()
    options = {line.split()[4]: line.split()[5].split(",") for line in mounts}
    assert "ro" in options["/"]
    state = host.show(unit, "StateDirectory")
    assert {path for path in options if path.startswith("/var/lib/")} == (
        {"/var/lib/notify"} if state else set()
    )
    assert "/etc/notify/secrets" in options, "hidden"
    assert "ro" in options[f"/run/credentials/{unit}.service"]
    scored = host.run("systemd-analyze", "security", "--no-pager", unit).splitlines()[-1]
    found = re.search(r"level for \S+: (\d+\.\d+)", scored)
    assert found, scored
    assert float(found[1]) <= 1.5


def test_normal_ones_leave_the_processors_to_urgent_ones(host: Host) -> None:
    """Inside the sandbox, which forbids most of what changes priorities."""
    nice = {unit: host.run("ps", "-o", "nice=", "-p", str(host.pid(unit))) for unit in UNITS}
    workers = {unit: int(each) for unit, each in nice.items() if "@" in unit}
    assert workers == {unit: 10 if unit.endswith("-normal") else 0 for unit in workers}


def test_systemd_finds_nothing_wrong_with_the_units(host: Host) -> None:
    units = "/usr/local/lib/systemd/system"
    assert host.shell(f"systemd-analyze verify --man=no {units}/notify* 2>&1") == ""


def test_a_notification_is_delivered(host: Host) -> None:
    host.start_sandbox()
    (line,) = [x for x in commands("deploy.md", "Verify") if x.startswith("notify send")]
    eventually(lambda: host.received() or host.machine.ask("test", "-d", "/var/lib/sandbox"), "it")
    sent = host.follow([line]).strip()
    host.wait_delivered(sent, host.send("+491701234568", "--priority", "urgent"))


def test_a_killed_worker_is_repaired(host: Host) -> None:
    before = host.pid(WORKER)
    host.run("kill", "-KILL", str(before))
    host.wait_active(WORKER, other_than=before)
    host.wait_delivered(host.send("+491701234569", "--priority", "urgent"))


@pytest.fixture
def short_watchdog(host: Host) -> Iterator[None]:
    """As shipped it takes a minute, which is long for a test."""
    drop_in = f"/run/systemd/system/{WORKER}.service.d/watchdog.conf"
    host.machine.write(drop_in, "[Service]\nWatchdogSec=8\nTimeoutAbortSec=2\n")
    host.shell(f"systemctl daemon-reload && systemctl restart {WORKER}")
    yield
    host.shell(f"rm {drop_in} && systemctl daemon-reload && systemctl restart {WORKER}")


def test_the_watchdog_sees_a_worker_that_only_exists_and_no_broker_at_fault(
    host: Host, short_watchdog: None
) -> None:
    before = host.wait_active(WORKER)
    node = host.shell("pgrep -o beam.smp").strip()
    host.run("kill", "-STOP", node)
    eventually(
        lambda: re.match(r"waiting for RabbitMQ since \d\d:\d\d:\d\d UTC", host.status(WORKER)),
        "the worker says what it waits for",
        seconds=40,
    )
    # Longer than its watchdog's time.
    until = time.monotonic() + 10
    eventually(lambda: time.monotonic() > until, "its time")
    host.run("kill", "-CONT", node)
    eventually(lambda: host.status(WORKER) == "consuming", "it consumes again", seconds=60)
    assert host.pid(WORKER) == before
    host.run("kill", "-STOP", str(before))
    host.wait_active(WORKER, other_than=before)
    assert "Watchdog timeout" in host.journal(WORKER)


def test_a_worker_whose_connections_are_cut_behind_its_back_delivers_again(host: Host) -> None:
    pid = host.wait_active(WORKER)
    lines = host.shell(f"ss -Htnp state established dport = :5672 | grep pid={pid},").splitlines()
    ports = [line.split()[2].rpartition(":")[2] for line in lines]
    assert len(ports) >= 2
    rules = [
        f"add rule inet cut {chain} tcp {side} {{ {', '.join(ports)} }} drop"
        for chain, side in (("out", "sport"), ("in", "dport"))
    ]
    chains = [
        f"add chain inet cut {name} {{ type filter hook {hook} priority 0; }}"
        for name, hook in (("out", "output"), ("in", "input"))
    ]
    host.machine.run("nft", "-f", "-", stdin="\n".join(["add table inet cut", *chains, *rules]))
    try:
        host.wait_delivered(host.send("+491701234570", "--priority", "urgent"), seconds=90)
    finally:
        host.run("nft", "delete", "table", "inet", "cut")
    assert host.accepted()


def test_stopping_finishes_what_is_in_flight_and_hands_the_rest_back(host: Host) -> None:
    recipient = "+491701234571"
    host.slow(recipient, 8)
    ids = [f"drain-{number}" for number in range(12)]
    rows = [f"sms,{recipient},{each},Number {each}" for each in ids]
    file = "\n".join(["channel,recipient,id,body", *rows])
    host.run("notify", "send", "--file", "-", stdin=file)
    eventually(lambda: "8 under way" in host.status(NORMAL), "eight sends under way", seconds=30)
    stopping = host.machine.start("systemctl", "stop", NORMAL)
    eventually(
        lambda: re.match(r"draining; \d under way", host.status(NORMAL)) or stopping.poll() == 0,
        "it says that it drains",
    )
    said, _ = stopping.communicate(timeout=60)
    assert stopping.returncode == 0, said
    assert host.show(NORMAL, "Result") == "success"
    finished = host.accepted().keys() & set(ids)
    left = {"ready": len(ids) - len(finished), "unacknowledged": 0}
    # RabbitMQ counts now and then.
    eventually(lambda: left.items() <= host.queue("notify.sms.normal").items(), f"{left}")
    host.slow(recipient, 0)
    assert len(finished) == 8
    host.run("systemctl", "start", NORMAL)
    host.wait_delivered(*ids)
    assert {host.accepted()[each] for each in ids} == {1}


@contextmanager
def edited(host: Host, path: str, old: str, new: str) -> Iterator[None]:
    before = host.machine.read(path)
    assert old in before
    host.machine.write(path, before.replace(old, new, 1))
    try:
        yield
    finally:
        host.machine.write(path, before)


def test_a_reload_takes_what_can_change_and_says_what_cannot(host: Host) -> None:
    pids = [host.pid(unit) for unit in UNITS]
    # In the order of the file: the key of [retry], then that of [send].
    with (
        edited(host, SMS, "# first = ", "first = "),
        edited(host, SMS, "max_bytes = 16384", "max_bytes = 8192"),
    ):
        host.follow(commands("deploy.md", "Reload"))
        eventually(lambda: "channels.sms.send.max_bytes" in host.status(NORMAL), "it says so")
        assert host.status(NORMAL).startswith("consuming; restart to use the new ")
    assert [host.pid(unit) for unit in UNITS] == pids
    host.run("systemctl", "reload", NORMAL)
    eventually(lambda: host.status(NORMAL) == "consuming", "all is as it was")


def test_a_broken_configuration_is_reported_and_not_looped(host: Host) -> None:
    before = host.pid(NORMAL)
    with edited(host, SMS, "concurrency = 8", "concurrency = 'many'"):
        assert not host.machine.ask("systemctl", "reload", NORMAL)
        assert (host.pid(NORMAL), host.show(NORMAL, "ActiveState")) == (before, "active")
        assert not host.machine.ask("systemctl", "restart", NORMAL)
        assert host.show(NORMAL, "ExecMainStatus") == "3"
        assert host.show(NORMAL, "ActiveState") == "failed"
        assert f"{SMS}: queues.urgent.concurrency" in host.journal(NORMAL)
    # A loop would have started it again by now: the file has been right for longer than that.
    until = time.monotonic() + 4
    eventually(lambda: time.monotonic() > until, "twice the pause between starts")
    assert host.show(NORMAL, "ActiveState") == "failed"
    host.run("systemctl", "start", NORMAL)


def install_broken(host: Host, checkout: str, like: str) -> str:
    """Puts a version there whose workers cannot start; its name.

    Built by hand, as a copy: to build a third one takes as long as the two before.
    """
    module = "lib/python3*/site-packages/notify/worker/run.py"
    found = re.search(r"would: build /opt/notify/(\S+)", host.run(f"{checkout}/ops/install"))
    assert found
    name = found[1]
    host.shell(
        f"cd /opt/notify && cp -a {like} {name} && rm -rf {name}/share &&"
        f" cp -a {checkout} {name}/share && sed -i 's,{like},{name},' {name}/bin/notify &&"
        f" echo 'def run_worker(*_): return 1' | tee -a {name}/{module}"
    )
    return name


@pytest.fixture
def load(host: Host) -> Iterator[None]:
    """Twenty notifications a second until the test is over."""
    script = (Path(__file__).parent / "load.py").read_text()
    host.machine.write("/var/lib/load/load.py", script)
    python = f"/opt/notify/{current(host)}/bin/python"
    publisher = host.machine.start(
        "env",
        "NOTIFY_CONFIG=/etc/notify",
        python,
        "/var/lib/load/load.py",
        "/var/lib/load/confirmed",
        "/var/lib/load/stop",
    )
    eventually(
        lambda: host.machine.ask("test", "-s", "/var/lib/load/confirmed"), "load", seconds=30
    )
    yield
    host.run("touch", "/var/lib/load/stop")
    said, _ = publisher.communicate(timeout=60)
    assert publisher.returncode == 0, said


def test_an_upgrade_a_bad_one_and_a_way_back_under_load_lose_and_double_nothing(
    host: Host, load: None
) -> None:
    first = current(host)
    # What was edited stays, and what was not is renewed.
    host.shell(f"sed -i 's/^max_bytes = 16384/max_bytes = 16000/' {SMS}")
    checkout = host.checkout("second", "0.1.1")
    with (host.machine.shared / "second/config/notify.toml").open("a") as shipped:
        shipped.write("# of 0.1.1\n")
    said = host.follow(commands("deploy.md", "Upgrade"), checkout)
    second = current(host)
    assert "# of 0.1.1" in host.machine.read("/etc/notify/notify.toml")
    assert second.startswith("0.1.1-")
    assert f"Notify {second} runs here" in said
    assert "max_bytes = 16000" in host.machine.read(SMS)

    checkout = host.checkout("third", "0.1.2")
    third = install_broken(host, checkout, second)
    ended = host.machine.call([f"{checkout}/ops/install", "--yes"])
    assert ended.returncode == 1, ended.stdout
    assert f"switch /opt/notify/current to {third}" in ended.stdout
    assert f"went back to {second}" in ended.stdout
    assert current(host) == second

    host.shell(f"/opt/notify/current/share/ops/rollback {first} --yes")
    assert current(host) == first
    assert "# of 0.1.1" not in host.machine.read("/etc/notify/notify.toml")
    for unit in UNITS:
        host.wait_active(unit)
        assert f"/opt/notify/{first}/bin/" in host.shell(f"cat /proc/{host.pid(unit)}/cmdline")


def test_what_was_published_meanwhile_arrived_once(host: Host) -> None:
    confirmed = host.machine.read("/var/lib/load/confirmed").split()
    assert len(confirmed) > 200
    host.wait_delivered(*confirmed, seconds=60)
    counts = host.accepted()
    assert {each: counts[each] for each in confirmed if counts[each] != 1} == {}
    assert host.queue("notify.dead")["ready"] == 0


def test_the_runbook_rolls_forward_again(host: Host) -> None:
    before = current(host)
    host.follow(commands("roll-back.md", "Diagnosis"))
    host.follow(commands("roll-back.md", "Mitigation"))
    assert current(host) != before
    host.follow(commands("roll-back.md", "Verify"))


def test_a_reboot_comes_back_by_itself(host: Host) -> None:
    waiting = host.send("+491701234572", "--priority", "urgent")
    host.machine.reboot()
    for unit in UNITS:
        host.wait_active(unit, seconds=90)
    host.wait_delivered(waiting, host.send("+491701234573"), seconds=60)


def test_a_host_is_drained_and_comes_back(host: Host) -> None:
    host.follow(commands("drain-a-host.md", "Diagnosis"))
    host.follow(commands("drain-a-host.md", "Mitigation"))
    assert [host.show(unit, "ActiveState") for unit in UNITS] == ["inactive"] * len(UNITS)
    assert [host.show(unit, "Result") for unit in UNITS] == ["success"] * len(UNITS)
    host.follow(commands("drain-a-host.md", "Verify"))
    host.follow(commands("drain-a-host.md", "Back again"))
    for unit in UNITS:
        host.wait_active(unit)
