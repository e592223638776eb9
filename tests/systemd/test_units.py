"""The units as text: what they promise stands in them, and agrees with the code."""

import re
import subprocess
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from notify.config import load_settings
from notify.errors import ConfigError, UsageError
from notify.notification import CHANNELS, PRIORITIES
from notify.policy import DEFAULT_RUNGS
from notify.provision import stop_problem
from notify.systemd import STOP_TIMEOUT
from notify.topology import DEAD, EXCHANGE, RETURN_EXCHANGE, build, work_queue
from notify.worker import watch

ROOT = Path(__file__).parents[2]
SYSTEMD = ROOT / "systemd"
UNITS = sorted(path.name for path in SYSTEMD.glob("*.service"))
DROP_INS = sorted(path.name for path in (SYSTEMD / "drop-ins").glob("*.conf"))
# Kept from every unit, whatever else is in it.
SANDBOX = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "PrivateUsers": "yes",
    "ProtectProc": "invisible",
    "MemoryDenyWriteExecute": "yes",
    "RestrictNamespaces": "yes",
    "SystemCallErrorNumber": "EPERM",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
}


def directives(path: Path) -> list[tuple[str, str]]:
    """In the order of the file; a key may come again."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        (key, value)
        for line in lines
        if line and line[0] not in "#["
        for key, _, value in [line.partition("=")]
    ]


def values(path: Path, key: str) -> list[str]:
    return [value for name, value in directives(path) if name == key]


# A worker for normal notifications makes itself nice.
LOOSENED = ("SystemCallFilter", "setpriority")


def sandbox(name: str) -> tuple[tuple[str, str], ...]:
    """From its first directive on, but for what only a worker may do."""
    found = directives(SYSTEMD / name)
    rest = found[found.index(("NoNewPrivileges", "yes")) : -1]
    return tuple(each for each in rest if each != LOOSENED)


def test_the_sandbox_stands_in_each_unit_and_is_the_same() -> None:
    assert len({sandbox(name) for name in UNITS}) == 1
    found = dict(directives(SYSTEMD / UNITS[0]))
    assert {key: found.get(key) for key in SANDBOX} == SANDBOX
    loosened = [name for name in UNITS if LOOSENED in directives(SYSTEMD / name)]
    assert loosened == ["notify-worker@.service"]
    filters = values(SYSTEMD / "notify-worker@.service", "SystemCallFilter")
    # In this order: a later line wins.
    assert filters == ["@system-service", "~@privileged @resources", "setpriority"]


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_reports_is_watched_and_does_not_loop(name: str) -> None:
    unit = dict(directives(SYSTEMD / name))
    assert (unit["Type"], unit["NotifyAccess"]) == ("notify", "main")
    assert unit["KillMode"] == "mixed"
    assert unit["Restart"] == "always"
    assert unit["StartLimitIntervalSec"] == "0"
    assert unit["PartOf"] == unit["WantedBy"] == "notify.target"
    assert int(unit["WatchdogSec"]) > watch._SILENCE + watch._FRESH
    own = {"notify-worker@": "%i"}.get(name.partition(".")[0], name[len("notify-") : -8])
    files = values(SYSTEMD / name, "EnvironmentFile")
    assert files == ["-/etc/default/notify", f"-/etc/default/notify-{own}"]


def test_what_waits_for_a_person_are_the_two_exit_codes_of_a_person(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from notify.cli.context import exit_code

    codes = sorted(exit_code(error) for error in (UsageError(), ConfigError([])))
    for name in UNITS:
        (found,) = values(SYSTEMD / name, "RestartPreventExitStatus")
        assert [int(code) for code in found.split()] == codes


def test_stopping_takes_less_than_systemd_waits() -> None:
    settings = load_settings(ROOT / "config", {})
    assert [stop_problem(settings, name) for name in CHANNELS] == [""] * len(CHANNELS)
    for path in (SYSTEMD / "notify-worker@.service", SYSTEMD / "drop-ins/long-deadlines.conf"):
        (seconds,) = values(path, "TimeoutStopSec")
        assert f"NOTIFY_STOP_TIMEOUT={seconds}" in values(path, "Environment")
    (shipped,) = values(SYSTEMD / "notify-worker@.service", "TimeoutStopSec")
    assert float(shipped) == STOP_TIMEOUT


def test_every_drop_in_is_explained() -> None:
    text = (SYSTEMD / "drop-ins" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\S+\.conf)` \|", text, re.MULTILINE) != []
    assert sorted(re.findall(r"^\| `(\S+\.conf)` \|", text, re.MULTILINE)) == DROP_INS


# --- RabbitMQ's permissions --------------------------------------------------------------------


def permissions() -> dict[str, re.Pattern[str]]:
    """What ops/rabbitmq/setup lets the processes configure, write and read."""
    text = (ROOT / "ops/rabbitmq/setup").read_text(encoding="utf-8")
    (setting,) = re.findall(r"^channels=.*?^worker_read=.*?$", text, re.MULTILINE | re.DOTALL)
    names = ("configure", "write", "read")
    shown = "; ".join(f'echo "$worker_{name}"' for name in names)
    said = subprocess.run(
        ["bash", "-c", f"{setting}\n{shown}"], capture_output=True, text=True, check=True
    )
    return {
        name: re.compile(line) for name, line in zip(names, said.stdout.splitlines(), strict=True)
    }


def test_a_process_may_what_it_does_and_declares_no_foreign_queue() -> None:
    may = permissions()
    pairs = [(channel, priority) for channel in CHANNELS for priority in PRIORITIES]
    topology = build(pairs, DEFAULT_RUNGS, 10)
    work = {work_queue(*pair) for pair in pairs}
    exchanges = {each.name for each in topology.exchanges}
    assert all(may["configure"].search(name) for name in {*work, EXCHANGE, RETURN_EXCHANGE})
    assert all(may["write"].search(name) for name in exchanges - {RETURN_EXCHANGE})
    assert may["write"].search("amq.default"), "probes go to their queue by name"
    assert all(may["read"].search(name) for name in {*work, DEAD})
    rest = {queue.name for queue in topology.queues} - work
    assert [name for name in sorted(rest) if may["configure"].search(name)] == []


@pytest.mark.parametrize(
    "name", ["notify.probe.1f", "notify.sentinel.sms-urgent@a", "sms-urgent@a.1f.celery.pidbox"]
)
def test_a_worker_may_have_what_ends_with_its_connection(name: str) -> None:
    assert all(pattern.search(name) for pattern in permissions().values())


@pytest.mark.parametrize("name", ["other", "notify.sms", "notify.sms.urgent.mine", "amq.topic"])
def test_nothing_else_is_of_its_concern(name: str) -> None:
    assert not any(pattern.search(name) for pattern in permissions().values())


# --- Packages ------------------------------------------------------------------------------------


def entries(path: Path) -> dict[str, str]:
    """Each package with its version, markers and hashes."""
    blocks = re.split(r"^(?=\S)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {block.partition("==")[0].lower(): block for block in blocks if "==" in block}


def needed(package: str, extras: frozenset[str] = frozenset()) -> Iterator[str]:
    """What is installed with it here, however indirectly."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(package, extras)]
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        for line in requires(each[0]) or []:
            wanted = Requirement(line)
            marks = wanted.marker
            if marks is None or any(marks.evaluate({"extra": x}) for x in (each[1] or {""})):
                name = re.sub(r"[-_.]+", "-", wanted.name).lower()
                waiting.append((name, frozenset(wanted.extras)))
                yield name


def test_what_is_installed_is_what_is_tested_without_what_only_tests_need() -> None:
    tested, run = entries(ROOT / "requirements.lock"), entries(ROOT / "requirements-run.lock")
    assert [name for name, block in run.items() if tested.get(name) != block] == []
    assert set(needed("notify-pipeline")) <= run.keys()
    assert not run.keys() & {"pytest", "mypy", "ruff", "hypothesis", "hatchling"}


def test_what_builds_our_package_is_named_in_full() -> None:
    (names,) = re.findall(r"^build_backend=\((.*?)\)$", (ROOT / "ops/install").read_text(), re.M)
    assert set(names.split()) == {"hatchling", *needed("hatchling")}
    image = (ROOT / "ops/systemd-image").read_text()
    assert f"^({'|'.join(names.split())})==" in image
