"""Small drills on real servers, through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from notify.cli.drill import drill
from notify.drill.plan import Kind
from notify.errors import UsageError
from notify.local import servers_from_environment

COUNT = 300


def run(name: str, directory: Path, *options: str) -> dict[str, Any]:
    """The account of a drill that passed."""
    arguments = [name, "--data", str(directory), "--seed", "3", "--json", *options]
    done = CliRunner().invoke(drill, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    facts: dict[str, Any] = json.loads(done.stdout)
    assert facts["passed"]
    return facts


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.broker
@pytest.mark.redis
def test_nothing_is_lost_when_workers_are_killed(tmp_path: Path) -> None:
    facts = run("worker-kill", tmp_path, "--count", str(COUNT), "--rate", "40", "--every", "1.5")
    account = facts["account"]
    assert (account["published"], account["lost"]) == (COUNT, 0)
    assert account["unknown"] <= account["in flight at the faults"]
    assert facts["recovery"]["worker-kill"]["faults"] >= 3
    saved = tmp_path / "accounts" / f"worker-kill-{facts['run']}.json"
    assert json.loads(saved.read_text()) == facts


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.broker
@pytest.mark.redis
@pytest.mark.skipif(servers_from_environment() is not None, reason="the servers are given")
def test_nothing_is_lost_when_everything_happens_at_once(tmp_path: Path) -> None:
    facts = run("mixed", tmp_path, "--count", str(COUNT), "--rate", "30")
    assert (facts["account"]["published"], facts["account"]["lost"]) == (COUNT, 0)
    injected = {fault["kind"] for fault in facts["faults"]}
    assert injected == {
        Kind.WORKER_KILL,
        Kind.ARCHIVER_KILL,
        Kind.BROKER_RESTART,
        Kind.BROKER_KILL,
        Kind.REDIS_KILL,
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.broker
@pytest.mark.redis
def test_a_second_provider_delivers_while_the_first_is_away(tmp_path: Path) -> None:
    facts = run("provider-outage", tmp_path, "--count", str(COUNT), "--outage", "8")
    account, archived = facts["account"], facts["account"]["archived"]
    assert (account["published"], account["lost"], account["unknown"]) == (COUNT, 0, 0)
    assert account["delivered more than once"] == 0
    assert archived.keys() <= {"refused", "recipient_refused", "endpoint_gone"}
    assert account["delivered once"] == COUNT - sum(archived.values())
    assert min(account[f"delivered by the spare, {name}"] for name in ("sms", "email")) > 0
    (fault,) = facts["faults"]
    assert fault["lasted"] >= 8


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.broker
@pytest.mark.redis
def test_nothing_is_lost_when_gateways_fail_in_every_way(tmp_path: Path) -> None:
    options = ("--count", str(COUNT), "--rate", "30", "--every", "5")
    facts = run("gateway-outage", tmp_path, *options)
    account = facts["account"]
    assert (account["published"], account["lost"]) == (COUNT, 0)
    assert account["unknown"] <= account["in flight at the faults"]
    assert min(account[f"delivered by the spare, {name}"] for name in ("sms", "email")) > 0


def test_an_outage_is_stated_for_one_drill_only(tmp_path: Path) -> None:
    arguments = ["worker-kill", "--outage", "60", "--data", str(tmp_path)]
    done = CliRunner().invoke(drill, arguments)
    assert done.exit_code == 2
    assert "--outage is for provider-outage only" in done.output


@pytest.mark.parametrize("name", ["broker-restart", "redis-restart", "mixed"])
def test_servers_that_are_not_ours_are_not_restarted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_BROKER_URLS", "amqp://guest:guest@127.0.0.1:1/")
    monkeypatch.setenv("NOTIFY_REDIS_URL", "redis://127.0.0.1:1/0")
    with pytest.raises(UsageError, match=f"drill {name} restarts .* unset NOTIFY_BROKER_URLS"):
        CliRunner().invoke(drill, [name, "--data", str(tmp_path)], catch_exceptions=False)


def test_an_unknown_drill_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    done = CliRunner().invoke(drill, ["everything", "--data", str(tmp_path)])
    assert done.exit_code == 2
    assert "'worker-kill'" in done.output
