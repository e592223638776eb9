"""What support is told of a notification that waits, or waited, for its instant."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.config import Settings
from notify.doctor import asking
from notify.errors import InvalidInput
from notify.schedule.marker import Mark, Marker
from notify.schedule.once import OneShots
from notify.schedule.truth import Truth
from notify.store.occurrences import MISSED
from notify.templates import Templates
from tests.cli.conftest import Ran
from tests.schedule_life.rig import HOUR, NOW, PHONE, Rig, spec

pytestmark = pytest.mark.redis

Shell = Callable[..., Ran]
AT = NOW + HOUR


def later(shell: Shell, id: str) -> None:
    ran = shell(f"send sms {PHONE} --body Today --id {id} --at {AT.isoformat()}")
    assert ran.code == 0, ran


def status(shell: Shell, id: str) -> tuple[str, Any]:
    facts = json.loads(shell(f"status {id} --json").out)
    return facts["state"], facts["scheduled"]


def test_it_is_said_for_when_it_is_scheduled(shell: Shell) -> None:
    later(shell, "order-7")
    ran = shell("status order-7")
    assert ran.code == 0
    assert ran.out == (
        f"order-7: scheduled, and not sent yet\n  is to be sent at {AT.isoformat()}\n"
    )
    said = {"state": "scheduled", "at": str(AT), "problem": ""}
    assert status(shell, "order-7") == ("scheduled", said)
    shown = shell("schedule show order-7")
    assert "scheduled" not in shown.out
    assert f"once at {AT:%Y-%m-%d %H:%M:%S}" in shown.out
    assert PHONE not in ran.out + shown.out


def test_what_became_of_it(shell: Shell, rig: Rig) -> None:
    for id in ("a", "b", "c", "d"):
        later(shell, id)
    assert shell("send --cancel a").code == 0
    assert status(shell, "a") == ("cancelled", {"state": "cancelled", "at": None, "problem": ""})
    assert "cancelled before it was sent" in shell("status a").out
    rig.fired("b", AT, outcome=MISSED, note="too late")
    rig.book.remove("b")
    assert status(shell, "b")[1] == {"state": "missed", "at": str(AT), "problem": "too late"}
    assert f"was to be sent at {AT.isoformat()}\n  too late" in shell("status b").out
    rig.fired("c", AT)
    rig.book.remove("c")
    assert status(shell, "c")[0] == "fired"
    rig.set_aside("d")
    assert status(shell, "d")[1]["problem"] == "cannot be made"
    assert status(shell, "d")[0] == "quarantined"
    rig.raw.hset(rig.book.shelf.key("d"), "definition", "{")
    assert status(shell, "d")[1]["at"] == str(AT)
    for id, state in (("a", "removed"), ("b", "missed"), ("c", "fired"), ("d", "quarantined")):
        assert json.loads(shell(f"schedule show {id} --json").out)["state"] == state
    assert shell("status e").code == 1
    assert shell("schedule show e").code == 1


def test_one_that_redis_has_lost(shell: Shell, rig: Rig) -> None:
    later(shell, "a")
    rig.flush()
    assert status(shell, "a")[0] == "missing"
    shown = json.loads(shell("schedule show a --json").out)
    assert (shown["state"], shown["channel"]) == ("missing", "sms")
    assert "restores it" in shown["problem"]
    rig.look()
    assert status(shell, "a")[0] == "scheduled"


def test_a_schedule_of_that_name_is_no_notification(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"))
    ran = shell("status a")
    assert (ran.code, "not found" in ran.out) == (1, True)
    rig.truth.remove("a", "ann")
    assert shell("status a").code == 1


def test_its_moment_passes_while_it_is_stored(
    settings: Settings, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was ahead when it was asked for is sent, not forgotten."""
    shots = OneShots(settings, rig.truth, Templates(settings.templates))
    at = datetime.now(UTC) + timedelta(seconds=5)
    rig.clock.now = at + timedelta(seconds=1)
    values = {"channel": "sms", "recipient": PHONE, "body": "x", "at": at.isoformat()}
    assert shots.add("a", values, "ann").state == "scheduled"
    assert rig.book.get("a").next_at == at
    assert shots.add("a", values, "ann").state == "scheduled"


def test_what_is_over_when_it_is_stored_is_refused(rig: Rig) -> None:
    """Nobody is told that it is stored, and then it never comes."""
    made = spec("a", at=(NOW + HOUR).isoformat())
    rig.clock.now = NOW + HOUR
    with pytest.raises(InvalidInput, match="nothing is planned from now on"):
        rig.truth.add(made, "ann")
    assert rig.truth.row("a") is None


def test_an_edit_fires_nothing_again_that_was_fired_early(rig: Rig) -> None:
    rig.add(spec("a"))
    first = NOW.replace(minute=0, second=0) + HOUR
    assert rig.book.fired("a", first)
    rig.fired("a", first)
    rig.truth.change("a", lambda old: spec("a", every=1800), "ann")
    assert rig.look() == {"behind": 1}
    assert rig.book.get("a").next_at == first + HOUR / 2


def test_ids_of_firings_are_not_given_away(settings: Settings, rig: Rig) -> None:
    shots = OneShots(settings, rig.truth, Templates(settings.templates))
    values = {"channel": "sms", "recipient": PHONE, "body": "x", "at": AT.isoformat()}
    with pytest.raises(InvalidInput, match="id: must not begin with schedule:"):
        shots.add("schedule:standup:20270301T080000Z", values, "ann")


def test_a_file_takes_no_id_from_a_notification(shell: Shell, tmp_path: Path) -> None:
    later(shell, "order-7")
    path = tmp_path / "more.toml"
    path.write_text(
        f'[order-7]\nevery = "1h"\nchannel = "sms"\nrecipient = "{PHONE}"\nbody = "x"\n'
    )
    ran = shell(f"schedule import {path} --yes")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "notify: order-7: is the id of a notification that waits; take another name\n"
    assert status(shell, "order-7")[0] == "scheduled"


def test_the_doctor_knows_whose_schedules_they_are(settings: Settings, rig: Rig) -> None:
    assert asking.schedules(settings).foreign is False
    rig.add(spec("a"))
    rig.look()
    found = asking.schedules(settings)
    assert (found.schedules, found.foreign, found.behind) == (1, False, False)
    rig.raw.zadd(f"{rig.book.shelf.prefix}:schedule", {rig.book.shelf.key("a"): 1})
    assert asking.schedules(settings).behind
    assert rig.truth.schedules is not None
    other = rig.truth.schedules.identity() + 1
    Marker(rig.book.shelf).write(Mark(identity=other, change=0, pulse=0))
    assert asking.schedules(settings).foreign is True


def test_the_doctor_makes_no_archive(settings: Settings) -> None:
    assert asking.schedules(settings).foreign is None
    path = asking.embedded(settings)
    assert path is not None and not path.exists()


KILLED = """
import os, signal, sys
from notify.schedule import syncing
syncing.Syncing.sync = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from notify import cli
cli.main(sys.argv[1:])
"""


def test_killed_between_the_database_and_redis(
    rig: Rig, environ: dict[str, str], tmp_path: Path
) -> None:
    """The database has it; a beat brings it to Redis."""
    rig.add(spec("edited"), spec("paused"), spec("removed"))
    rig.look()
    content = (PHONE, "--body", "x")
    commands = [
        ("schedule", "add", "added", "sms", *content, "--every", "1h"),
        ("schedule", "edit", "edited", "--every", "2h"),
        ("schedule", "pause", "paused"),
        ("schedule", "remove", "removed", "--yes"),
        ("send", "sms", *content, "--id", "once", "--at", AT.isoformat()),
    ]
    environment = {**os.environ, **environ, "NOTIFY_CONFIG": str(tmp_path / "config")}
    running = [
        subprocess.Popen([sys.executable, "-c", KILLED, *each], env=environment)
        for each in commands
    ]
    assert {each.wait(60) for each in running} == {-signal.SIGKILL}
    assert rig.names() == ["edited", "paused", "removed"]
    assert rig.look() == {"missing": 2, "stale": 1, "state": 1, "removed": 1}
    assert rig.names() == ["added", "edited", "once", "paused"]
    assert rig.book.get("once").next_at == AT
    edited = rig.book.get("edited").spec
    assert edited is not None and edited.recurrence.every == 7200
    assert rig.book.get("paused").state == "paused"
    assert not rig.look()


def test_one_that_cannot_be_read_can_be_removed(shell: Shell, rig: Rig) -> None:
    rig.raw.hset(rig.book.shelf.key("a"), "definition", "{")
    rig.raw.zadd(f"{rig.book.shelf.prefix}:schedule", {rig.book.shelf.key("a"): 1})
    rig.raw.zadd(f"{rig.book.shelf.prefix}:names", {"a": 0})
    assert shell("schedule remove a").out == (
        "a: would be removed: it cannot be read\nnothing was removed; repeat with --yes\n"
    )
    assert shell("schedule remove a --yes").out == "a: removed\n"
    assert rig.names() == []


def test_nothing_of_an_export_that_failed_is_left(shell: Shell, rig: Rig, tmp_path: Path) -> None:
    """It would look like all there is."""
    target = tmp_path / "all.toml"
    posts = {"channel": "webhook", "recipient": "https://a.example", "body": None}
    rig.add(spec("a"), spec("b", **posts, data={"empty": None}))
    assert shell(f"schedule export --output {target}").code == 2
    assert not target.exists()


def test_an_export_has_what_redis_has_lost(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"), spec("c"))
    rig.flush()
    rig.book.put(spec("b"))
    assert list(tomllib.loads(shell("schedule export").out)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "line",
    [
        "preview --every 1d --from 0001-01-01T00:00:00+14:00",
        "preview --every 1d --from 9999-12-31T23:59:59-14:00",
        "preview --every 1d --from 2027-01-01",
        "history a --before tomorrow",
        "fire a --planned 0001-01-01T00:00:00+14:00",
        "fire a --planned 2027-01-01T00:00:00",
    ],
)
def test_instants_that_are_none(shell: Shell, line: str) -> None:
    ran = shell(f"schedule {line}")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith(": must be like 2027-03-01T09:00:00+01:00\n")


def test_a_file_that_is_nested_too_deeply(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 5000)
    ran = shell(f"schedule import {path}")
    assert (ran.code, ran.err) == (2, f"notify: {path}: is nested too deeply\n")


def test_a_name_and_an_id_are_one(settings: Settings, rig: Rig) -> None:
    """A name that is in use may not become a notification's id, nor the other way round."""
    shots = OneShots(settings, rig.truth, Templates(settings.templates))
    values = {"channel": "sms", "recipient": PHONE, "body": "x", "at": AT.isoformat()}
    rig.add(spec("a"))
    with pytest.raises(InvalidInput, match="id: is in use"):
        shots.add("a", values, "ann")
    shots.add("b", values, "ann")
    with pytest.raises(InvalidInput, match="name: there is a schedule 'b'"):
        rig.truth.add(spec("b"), "ann")
    with Truth(settings) as other:
        assert other.get("b").recurrence.at == AT
