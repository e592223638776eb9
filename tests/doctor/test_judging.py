"""What the doctor makes of facts that no test server can be brought to show."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from notify import topology
from notify.config.secretfiles import secret_files
from notify.doctor import (
    ALL_CHECKS,
    Finding,
    Severity,
    archive,
    host,
    rabbitmq,
    redis_server,
    worst,
)

NODE = {
    "name": "rabbit@one",
    "running": True,
    "disk_free": 50 * 1024**3,
    "disk_free_limit": 50 * 1024**2,
    "mem_used": 10,
    "mem_limit": 100,
    "fd_used": 10,
    "fd_total": 1000,
}
DEAD = {
    "name": "notify.dead",
    "consumers": 1,
    "members": ["a", "b", "c"],
    "online": ["a", "b", "c"],
}
RABBIT = rabbitmq.RabbitFacts(
    version=(4, 0, 5),
    differences=[],
    alarms=[],
    nodes=[NODE, NODE, NODE],
    queues=[DEAD],
    topology=topology.build([("sms", "urgent")], [5], 10),
    flags=[],
    permissions={"configure": "", "write": ".*", "read": ".*"},
    user="notify",
    hosts=[],
    longest_hold=60.0,
    skew=0.0,
    needs_consumer=frozenset({"notify.dead"}),
)
REDIS = redis_server.RedisFacts(
    version=(7, 0, 15),
    info={
        "maxmemory_policy": "noeviction",
        "aof_enabled": 1,
        "used_memory": 10,
        "maxmemory": 100,
        "role": "master",
    },
    config={"appendfsync": "everysec"},
    wanted_replicas=None,
    at_risk=0,
    skew=0.0,
    exposed=False,
)


def severe(findings: Iterator[Finding]) -> dict[str, str]:
    """Those that somebody must act on: name and severity."""
    return {
        each.check.name: each.severity.name.lower()
        for each in findings
        if each.severity >= Severity.WARNING
    }


def test_healthy_servers_are_fine_and_every_check_says_so() -> None:
    everything = [
        *rabbitmq.judge(RABBIT),
        *rabbitmq.judge_go_live(RABBIT),
        *redis_server.judge(REDIS),
        *redis_server.judge_go_live(REDIS),
    ]
    assert {each.severity for each in everything} == {Severity.FINE}
    named = {each.check.name for each in everything}
    module_checks = {
        check.name
        for check in ALL_CHECKS
        if check.name.startswith(("rabbitmq-", "redis-", "clock-"))
    }
    assert module_checks - named == {"rabbitmq-answers", "redis-answers"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"version": (3, 9, 30)}, {"rabbitmq-version": "critical"}),
        ({"version": (5, 0, 0)}, {"rabbitmq-version": "warning"}),
        ({"differences": ["queue x: is missing"]}, {"rabbitmq-topology": "critical"}),
        ({"alarms": ["rabbit@one: disk alarm"]}, {"rabbitmq-alarms": "critical"}),
        (
            {"queues": [DEAD | {"effective_policy_definition": {"message-ttl": 5000}}]},
            {"rabbitmq-policies": "critical"},
        ),
        (
            {"queues": [DEAD | {"effective_policy_definition": {"consumer-timeout": 30000}}]},
            {"rabbitmq-consumer-timeout": "critical"},
        ),
        ({"nodes": [NODE | {"disk_free": 1024**3}]}, {"rabbitmq-room": "warning"}),
        ({"nodes": [NODE | {"mem_used": 90}]}, {"rabbitmq-room": "warning"}),
        ({"nodes": [NODE | {"fd_used": 900}]}, {"rabbitmq-room": "warning"}),
        (
            {"flags": [{"name": "khepri_db", "stability": "stable", "state": "disabled"}]},
            {"rabbitmq-feature-flags": "warning"},
        ),
        (
            {"flags": [{"name": "new", "stability": "experimental", "state": "disabled"}]},
            {},
        ),
        (
            {"permissions": {"read": "^notify", "write": "", "configure": ""}},
            {"rabbitmq-permissions": "critical"},
        ),
        ({"queues": [DEAD | {"online": ["a", "b"]}]}, {"rabbitmq-members": "warning"}),
        ({"queues": [DEAD | {"online": ["a"]}]}, {"rabbitmq-members": "critical"}),
        ({"queues": [DEAD | {"consumers": 0}]}, {"rabbitmq-consumers": "critical"}),
        ({"skew": -12.0}, {"clock-rabbitmq": "warning"}),
        ({"untrusted": ["the certificate is another's"]}, {"rabbitmq-tls": "critical"}),
    ],
)
def test_rabbitmq(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert severe(rabbitmq.judge(replace(RABBIT, **changes))) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"user": "guest"}, {"rabbitmq-login": "critical"}),
        ({"hosts": ["mq.example"]}, {"rabbitmq-tls": "warning"}),
        ({"nodes": [NODE]}, {"rabbitmq-cluster": "warning"}),
        ({"nodes": [NODE] * 4}, {"rabbitmq-cluster": "warning"}),
    ],
)
def test_rabbitmq_before_going_live(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert severe(rabbitmq.judge_go_live(replace(RABBIT, **changes))) == expected


def test_what_the_user_may_not_see_is_said_and_nothing_is_guessed() -> None:
    found = list(rabbitmq.judge(replace(RABBIT, flags=None, permissions=None, skew=None)))
    noted = {each.check.name for each in found if each.severity is Severity.NOTE}
    assert noted == {"rabbitmq-feature-flags", "rabbitmq-permissions", "clock-rabbitmq"}
    assert severe(iter(found)) == {}


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"maxmemory_policy": "allkeys-lru"}, {"redis-eviction": "critical"}),
        ({"evicted_keys": 3}, {"redis-eviction": "warning"}),
        ({"aof_enabled": 0}, {"redis-persistence": "critical"}),
        ({"aof_last_write_status": "err"}, {"redis-persistence": "critical"}),
        ({"aof_last_bgrewrite_status": "err"}, {"redis-persistence": "warning"}),
        ({"rdb_last_bgsave_status": "err"}, {"redis-persistence": "warning"}),
        ({"maxmemory": 0}, {"redis-memory": "warning"}),
        ({"used_memory": 75}, {"redis-memory": "warning"}),
        ({"used_memory": 95}, {"redis-memory": "critical"}),
        ({"role": "slave"}, {"redis-replicas": "critical"}),
        (
            {"slave0": {"state": "online", "offset": 0}, "master_repl_offset": 10**9},
            {"redis-replicas": "warning"},
        ),
        ({"slave0": {"state": "online", "offset": 10}, "master_repl_offset": 10}, {}),
    ],
)
def test_redis(info: dict[str, Any], expected: dict[str, str]) -> None:
    facts = replace(REDIS, info={**REDIS.info, **info})
    assert severe(redis_server.judge(facts)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"version": (6, 0, 16)}, {"redis-version": "critical"}),
        ({"config": {"appendfsync": "no"}}, {"redis-persistence": "warning"}),
        ({"config": None}, {}),
        ({"wanted_replicas": 1}, {"redis-replicas": "critical"}),
        ({"at_risk": 12}, {"redis-keys-lost": "warning"}),
        ({"skew": 1.5}, {"clock-redis": "warning"}),
    ],
)
def test_redis_as_configured(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert severe(redis_server.judge(replace(REDIS, **changes))) == expected


def test_a_redis_that_anybody_can_reach() -> None:
    assert severe(redis_server.judge_go_live(replace(REDIS, exposed=True))) == {
        "redis-login": "warning"
    }


ARCHIVE = archive.ArchiveFacts(version=6, newest=6, embedded=False, retention=True, waiting=3)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"version": None}, {}),
        ({"version": 5}, {"archive-schema": "critical"}),
        ({"version": 7}, {"archive-schema": "critical"}),
        ({"waiting": 50_000}, {"archive-backlog": "warning"}),
        ({"waiting": None}, {}),
        ({"retention": False}, {"archive-retention": "warning"}),
        ({"embedded": True}, {}),
    ],
)
def test_the_archive(changes: dict[str, Any], expected: dict[str, str]) -> None:
    facts = replace(ARCHIVE, **changes)
    assert severe(archive.judge(facts)) | severe(archive.judge_go_live(facts)) == expected


@pytest.mark.parametrize(
    ("schedules", "quarantined", "leader", "expected"),
    [
        (0, 0, "", {}),
        (3, 0, "host-a", {}),
        (3, 0, "", {"beat-leads": "critical"}),
        (3, 1, "host-a", {"schedules-quarantined": "critical"}),
    ],
)
def test_schedules(schedules: int, quarantined: int, leader: str, expected: dict[str, str]) -> None:
    facts = archive.ScheduleFacts(schedules=schedules, quarantined=quarantined, leader=leader)
    assert severe(archive.judge_schedules(facts)) == expected


def test_what_is_due_and_nobody_looks_at() -> None:
    facts = archive.ScheduleFacts(schedules=3, quarantined=0, leader="host-a", behind=True)
    assert severe(archive.judge_schedules(facts)) == {"beat-leads": "critical"}
    assert severe(archive.judge_schedules(replace(facts, behind=False))) == {}


def test_schedules_of_another_database() -> None:
    facts = archive.ScheduleFacts(schedules=3, quarantined=0, leader="host-a", foreign=True)
    assert severe(archive.judge_schedules(facts)) == {"schedules-ours": "critical"}
    assert severe(archive.judge_schedules(replace(facts, foreign=None))) == {}


SHOWN = """Id=notify-worker@sms-urgent.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled
NRestarts=0
NeedDaemonReload=no

Id=notify-beat.service
LoadState=loaded
ActiveState=failed
UnitFileState=disabled
NRestarts=9
NeedDaemonReload=yes

Id=notify-archiver.service
LoadState=not-found
ActiveState=inactive
"""


def test_units() -> None:
    states = host.read_units(SHOWN)
    wanted = [state.name for state in states]
    found = [(each.severity, each.what) for each in host.units(states, wanted)]
    assert found == [
        (
            Severity.CRITICAL,
            "notify-beat.service has failed: systemctl status notify-beat.service",
        ),
        (
            Severity.WARNING,
            "notify-beat.service does not start with the machine: it is not enabled",
        ),
        (
            Severity.WARNING,
            "notify-beat.service: its file has changed: systemctl daemon-reload",
        ),
        (Severity.NOTE, "not installed on this host: notify-archiver.service"),
    ]


def test_units_that_all_run_and_a_machine_without_systemd() -> None:
    states = host.read_units(SHOWN)[:1]
    assert worst([*host.units(states, [states[0].name])]) is Severity.FINE
    assert [each.severity for each in host.units(None, ["notify.target"])] == [Severity.NOTE]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0o600, {}), (0o640, {}), (0o660, {"secrets-modes": "warning"})]
    + [(mode, {"secrets-modes": "critical"}) for mode in (0o644, 0o602)],
)
def test_files_with_secrets(mode: int, expected: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "redis-password"
    path.write_text("hunter2")
    path.chmod(mode)
    assert severe(host.secrets([path, tmp_path / "gone"])) == expected


def test_which_files_hold_secrets(tmp_path: Path) -> None:
    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    own = make("elsewhere/token", "t")
    named = make("secrets/named", "n")
    unnamed = make("secrets/unnamed", "u")
    with_password = make("channels/email.toml", 'proxy = "http://ada:hunter2@proxy.example"')
    make("notify.toml", 'url = "amqp://guest:guest@127.0.0.1/"\n# "redis://:commented@host"\n')
    make(
        "channels/sms.toml",
        f'[[providers]]\ntoken_file = "{own}"\nca_file = "ca.pem"\n'
        '[providers.secrets]\nother_files = ["named"]\n',
    )
    make("channels/webhook.toml", "= not TOML")
    assert secret_files(tmp_path, {}) == sorted([own, named, unnamed, with_password])


@pytest.mark.parametrize("concurrency", [8, 200])
def test_open_files(concurrency: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 4096))
    expected = {} if concurrency == 8 else {"open-files": "critical"}
    assert severe(host.open_files(concurrency)) == expected


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        (10 * 1024**3, {}),
        (500 * 1024**2, {"disk": "warning"}),
        (50 * 1024**2, {"disk": "critical"}),
    ],
)
def test_disk(
    free: int, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Free:
        f_bavail, f_frsize = free // 4096, 4096

    monkeypatch.setattr("os.statvfs", lambda _: Free)
    assert severe(host.disk(tmp_path)) == expected


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert severe(host.disk(tmp_path / "gone")) == {"disk": "critical"}


def test_every_check_has_a_name_of_its_own_and_says_why() -> None:
    names = [check.name for check in ALL_CHECKS]
    assert len(names) == len(set(names)) > 25
    assert all(check.why and check.runbook for check in ALL_CHECKS)


def test_nothing_at_all_is_fine() -> None:
    assert worst([]) is Severity.FINE


def test_the_checklist_before_going_live_and_the_checks_are_the_same() -> None:
    text = (Path(__file__).parents[2] / "ops/runbooks/go-live.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[ \] .*: `([a-z-]+)`$", text, re.MULTILINE)
    assert sorted(listed) == sorted(check.name for check in ALL_CHECKS)
    assert len(listed) == text.count("- [ ]")
