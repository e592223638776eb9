"""``notify schedule`` for whoever works with it."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.cli import schedule_write
from notify.errors import NotFound
from notify.store.occurrences import MISSED
from tests.cli.conftest import Ran
from tests.schedule_life.rig import HOUR, NOW, PHONE, Rig, spec

pytestmark = pytest.mark.redis

Shell = Callable[..., Ran]
STANDUP = (
    "schedule add standup email team@example.com --subject Stand-up --body Soon"
    " --cron '0 9 * * 1-5' --zone Europe/Berlin"
)


def ok(shell: Shell, line: str, *more: str) -> Ran:
    ran = shell(line, *more)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran


def read(shell: Shell, line: str) -> Any:
    return json.loads(ok(shell, f"{line} --json").out)


def test_every_option_arrives(shell: Shell) -> None:
    ok(
        shell,
        "schedule add all email team@example.com --subject Hi --body Text --html '<p>Text</p>'"
        " --cron '0 9 * * 1-5' --zone Europe/Berlin --start 2026-01-01 --end 2999-12-31"
        " --exclude 2027-12-24 --exclude 2027-12-31 --quiet '22:00-07:00' --quiet-policy skip"
        " --misfire run-all --grace 2h --cap 3 --jitter 30s --priority urgent"
        " --label team=ops --expires-after 1h --unsubscribe https://example.com/u --note why"
        " --paused",
    )
    facts = read(shell, "schedule show all --reveal")
    assert facts["definition"] == {
        "v": 1,
        "name": "all",
        "misfire": {"policy": "run-all", "grace": 7200.0, "cap": 3},
        "jitter": 30.0,
        "paused": True,
        "note": "why",
        "origin": "command",
        "cron": "0 9 * * 1-5",
        "zone": "Europe/Berlin",
        "start": "2025-12-31T23:00:00+00:00",
        "end": "2999-12-31T22:59:59+00:00",
        "exclude": ["2027-12-24", "2027-12-31"],
        "quiet": ["22:00-07:00"],
        "quiet_policy": "skip",
        "recipient": "team@example.com",
        "channel": "email",
        "priority": "urgent",
        "subject": "Hi",
        "body": "Text",
        "html": "<p>Text</p>",
        "unsubscribe": "https://example.com/u",
        "labels": {"team": "ops"},
        "expires_after": 3600.0,
    }
    assert facts["state"] == "paused"


def test_nobody_is_named_without_reveal(shell: Shell) -> None:
    ok(shell, STANDUP)
    for line in ("schedule list", "schedule show standup", "schedule list --json"):
        shown = ok(shell, line).out
        assert "team@example.com" not in shown
        assert "Soon" not in shown
    for line in ("schedule list", "schedule show standup"):
        assert "team@example.com" in ok(shell, f"{line} --reveal").out
    revealed = ok(shell, "archive reveals").out
    assert "schedule list" in revealed
    assert "schedule show standup" in revealed


def test_show_tells_all(shell: Shell, rig: Rig) -> None:
    ok(shell, STANDUP)
    rig.fired("standup", NOW - HOUR, outcome=MISSED)
    rig.fired("standup", NOW, ref="schedule:standup:x")
    shown = ok(shell, "schedule show standup").out
    assert "when         at 09:00 on Monday through Friday, in Europe/Berlin" in shown
    assert shown.count("next         ") == 3
    assert f"history      {NOW:%Y-%m-%d %H:%M:%S} UTC fired" in shown
    assert "created by" in shown
    assert shell("schedule show nobody").code == 1


def test_lists_are_paged_and_filtered(shell: Shell, rig: Rig) -> None:
    rig.add(*[spec(f"s{number}", every=3600 + number) for number in range(5)])
    rig.add(spec("t", channel="email", recipient="a@example.com", subject="x"))
    rig.truth.pause("s3", "")

    def names(line: str) -> list[str]:
        return [row["name"] for row in read(shell, f"schedule list {line}")["schedules"]]

    first = read(shell, "schedule list --sort name --limit 4")
    assert [row["name"] for row in first["schedules"]] == ["s0", "s1", "s2", "s3"]
    assert names(f"--sort name --limit 4 --after {first['after']}") == ["s4", "t"]
    assert (first["stored"], first["paused"]) == (6, 1)
    seen, after = [], ""
    while True:
        page = read(shell, f"schedule list --limit 2 --after '{after}'")
        seen += [row["name"] for row in page["schedules"]]
        after = page["after"]
        if not after:
            break
    assert sorted(seen) == ["s0", "s1", "s2", "s3", "s4", "t"]
    assert names("--prefix s --state active") == ["s0", "s1", "s2", "s4"]
    assert names("--state paused") == ["s3"]
    assert names("--channel email") == ["t"]
    assert names("--channel email --sort soonest") == ["t"]
    assert names("--origin file") == []
    assert names("--not-once --prefix t") == ["t"]
    assert names("--state quarantined") == []


def test_without_a_database_lists_are_the_same(shell: Shell, rig: Rig, tmp_path: Path) -> None:
    rig.add(*[spec(f"s{number}") for number in range(3)], spec("t"), spec("u"))
    main = tmp_path / "config" / "notify.toml"
    main.write_text('[schedules]\ntruth = "redis"\n')
    listed = read(shell, "schedule list --prefix s --limit 2")
    assert [row["name"] for row in listed["schedules"]] == ["s0", "s1"]
    rest = read(shell, f"schedule list --prefix s --limit 2 --after {listed['after']}")
    assert [row["name"] for row in rest["schedules"]] == ["s2"]
    assert rest["after"] == ""
    assert shell("schedule restore").code == 3


def rows(ran: Ran) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ran.out)["schedules"]
    return found


def test_add_tells_programs_what_a_list_would(shell: Shell) -> None:
    made = json.loads(ok(shell, STANDUP, "--json").out)
    assert made.pop("remarks") == []
    assert made == read(shell, "schedule list")["schedules"][0]
    assert (made["name"], made["state"]) == ("standup", "active")
    assert made["next_at"]
    assert "team@example.com" not in json.dumps(made)
    paused = read(
        shell, "schedule add rare sms +491701234567 --body x --cron '0 3 31 * *' --paused"
    )
    assert (paused["state"], paused["next"]) == ("paused", None)
    assert paused["remarks"] == read(shell, "schedule show rare")["remarks"] != []
    again = shell(STANDUP, "--json")
    assert (again.code, again.out) == (2, "")
    assert "there is a schedule 'standup'; remove it first" in again.err


def test_pause_and_resume_tell_programs_how_it_is_now(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"), spec("b"))
    for line, state in (("pause", "paused"), ("resume", "active")):
        told = read(shell, f"schedule {line} a b")["schedules"]
        assert told == read(shell, "schedule list --sort name")["schedules"]
        assert [(row["name"], row["state"]) for row in told] == [("a", state), ("b", state)]
        assert {row["next_at"] is None for row in told} == {state == "paused"}
    # What was done is told, although not all could be.
    partly = shell("schedule pause a nobody b --json")
    assert (partly.code, partly.err) == (1, "notify: there is no schedule 'nobody'\n")
    assert [row["name"] for row in rows(partly)] == ["a"]
    assert rig.book.get("b").state == "active"
    none = shell("schedule resume nobody --json")
    assert (none.code, none.out, none.err) == (1, "", partly.err)


def test_remove_tells_programs_what_it_was(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"), spec("b"))
    listed = read(shell, "schedule list --sort name")["schedules"]
    dry = read(shell, "schedule remove a b")
    assert dry == {"done": False, "schedules": listed}
    assert rig.names() == ["a", "b"]
    done = read(shell, "schedule remove a b --yes")
    gone = {"state": "removed", "next": None, "next_at": None}
    assert done == {"done": True, "schedules": [row | gone for row in listed]}
    assert rig.names() == []
    for line in ("schedule remove a --json", "schedule remove a --yes --json"):
        ran = shell(line)
        assert (ran.code, ran.out, ran.err) == (1, "", "notify: there is no schedule 'a'\n")


def test_without_a_database_programs_are_told_the_same(
    shell: Shell, rig: Rig, tmp_path: Path
) -> None:
    (tmp_path / "config" / "notify.toml").write_text('[schedules]\ntruth = "redis"\n')
    made = read(shell, "schedule add a sms +491701234567 --body x --every 1h")
    for line, state in (("pause a", "paused"), ("resume a", "active"), ("remove a", "active")):
        (row,) = read(shell, f"schedule {line}")["schedules"]
        assert (row["name"], row["state"], row["when"]) == ("a", state, made["when"])
    (row,) = read(shell, "schedule remove a --yes")["schedules"]
    assert (row["state"], row["when"]) == ("removed", made["when"])


def test_what_cannot_be_read_back_was_written_all_the_same(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that fired at once and is gone, or Redis that goes away just then."""

    def gone(_: object, name: str) -> None:
        raise NotFound(f"there is no schedule {name!r}")

    monkeypatch.setattr(schedule_write, "look_up", gone)
    made = json.loads(ok(shell, STANDUP, "--json").out)
    assert (made["state"], made["next"], made["channel"]) == ("active", None, "email")
    assert "team@example.com" not in json.dumps(made)
    for line, state in (("pause", "paused"), ("resume", "active"), ("remove --yes", "removed")):
        told = read(shell, f"schedule {line} standup")["schedules"]
        assert told == [{"name": "standup", "state": state, "problem": ""}]
    assert read(shell, "schedule list")["schedules"] == []


def test_a_dry_fire_tells_programs_what_it_would_fire(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"))
    (row,) = read(shell, "schedule list")["schedules"]
    assert read(shell, "schedule fire a") == {"done": False, **row}
    ran = shell("schedule fire nobody --json")
    assert (ran.code, ran.out, ran.err) == (1, "", "notify: there is no schedule 'nobody'\n")


def test_preview_marks_what_the_clock_does(shell: Shell) -> None:
    line = "schedule preview --cron '30 2 * * *' --zone Europe/Berlin -n 3"
    shown = ok(shell, f"{line} --from 2027-03-27T00:00:00Z").out
    assert "clock goes forward: 02:30 does not exist, runs at 03:00" in shown
    ok(shell, f"{STANDUP} --quiet '08:00-10:00' --exclude 2027-03-30")
    found = read(shell, "schedule preview standup --from 2027-03-29T00:00:00Z -n 2")
    assert [each["note"] for each in found] == [
        "deferred by quiet hours to 2027-03-29 10:00:00+02:00",
        "skipped: excluded",
    ]


def test_edits_change_what_is_given_only(shell: Shell) -> None:
    ok(shell, f"{STANDUP} --quiet '22:00-07:00' --misfire run-all --cap 5")
    changed = ok(shell, "schedule edit standup --body Later --zone Europe/London --cap 7").out
    assert changed.splitlines() == [
        "  ~ misfire: {'policy': 'run-all', 'grace': 3600.0, 'cap': 5} ->"
        " {'policy': 'run-all', 'grace': 3600.0, 'cap': 7}",
        "  ~ zone: Europe/Berlin -> Europe/London",
        "  ~ body: text of 4 characters -> text of 5 characters",
    ]
    ok(shell, "schedule edit standup --every 1h --clear zone")
    definition = read(shell, "schedule show standup --reveal")["definition"]
    assert (definition["every"], "cron" in definition) == (3600, False)
    assert "is so already" in ok(shell, "schedule edit standup --every 1h").out
    assert "is no channel" not in shell("schedule edit standup --clear nothing").err
    assert shell("schedule edit standup --clear nothing").code == 2


def test_history_also_of_what_is_gone(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"))
    rig.fired("a", NOW - HOUR, outcome=MISSED, count=4, note="too late")
    rig.fired("a", NOW, ref="schedule:a:x", actual=NOW + timedelta(seconds=2))
    shown = ok(shell, "schedule history a").out
    cells = [line.split() for line in shown.splitlines()]
    assert cells[1][4:8] == ["2.0", "s", "fired", "schedule:a:x"]
    assert cells[2][6:] == ["missed", "4", "too", "late"]
    assert "1 fired, 4 missed" in shown
    found = read(shell, "schedule history a --outcome fired")
    assert [each["ref"] for each in found["history"]] == ["schedule:a:x"]
    ok(shell, "schedule remove a --yes")
    assert "schedule:a:x" in ok(shell, "schedule history a").out
    assert shell("schedule history nobody").code == 1


def test_quarantine_is_listed_and_left(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"))
    rig.set_aside("a")
    assert [row["reason"] for row in read(shell, "schedule quarantine")["quarantine"]] == [
        "cannot be made"
    ]
    assert "(1 quarantined)" in ok(shell, "schedule list").out
    listed = read(shell, "schedule list --state quarantined")["schedules"]
    assert [row["problem"] for row in listed] == ["cannot be made"]
    assert rig.look() == {}
    ok(shell, "schedule quarantine --release a")
    assert read(shell, "schedule quarantine")["quarantine"] == []
    assert rig.book.get("a").state == "active"


def test_restore_is_a_dry_run_first(shell: Shell, rig: Rig) -> None:
    rig.add(spec("a"), spec("b"))
    rig.look()
    rig.flush()
    rig.book.put(spec("stranger"))
    dry = ok(shell, "schedule restore").out
    assert "2 are missing in Redis: a, b" in dry
    assert "1 are in Redis only, and left alone: stranger" in dry
    assert "nothing was changed; repeat with --yes" in dry
    assert rig.names() == ["stranger"]
    assert read(shell, "schedule restore --yes")["names"]["missing"] == ["a", "b"]
    assert rig.names() == ["a", "b", "stranger"]


def test_export_and_import_are_the_same_again(shell: Shell, rig: Rig, tmp_path: Path) -> None:
    ok(shell, f"{STANDUP} --quiet '22:00-07:00' --exclude 2027-12-24 --label team=ops --note why")
    text = 'Several\nlines """ ü'
    ok(shell, f"schedule add text sms {PHONE} --every 90s --paused --body", text)
    hook = "schedule add hook webhook https://example.com/h --every 5m --data"
    ok(shell, hook, '{"deep": {"list": [1, 2.5, "x", true, {"a": []}], "none": {}}}')
    ok(shell, f"schedule add then sms {PHONE} --body x --at 2999-01-01T09:00 --zone Europe/Berlin")
    assert not shell(f"send sms {PHONE} --body later --at {NOW + HOUR:%Y-%m-%dT%H:%M:%SZ}").code
    before = ok(shell, "schedule export --format jsonl --once").out
    files = [tmp_path / "all.toml", tmp_path / "all.jsonl"]
    for path in files:
        said = ok(shell, f"schedule export --once --output {path}").out
        assert said == f"{path}: 5 schedules\n"
        assert path.stat().st_mode & 0o777 == 0o600
        assert shell(f"schedule export --output {path}").code == 2
        assert (
            "0 added, 0 changed, 0 removed, 5 the same" in ok(shell, f"schedule import {path}").out
        )
    for path in files:
        names = [json.loads(line)["name"] for line in before.splitlines()]
        for name in names:
            ok(shell, f"schedule remove {name} --yes")
        ok(shell, f"schedule import {path} --yes")
        assert ok(shell, "schedule export --format jsonl --once").out == before
    assert "schedule export" in ok(shell, "archive reveals").out


def test_what_toml_cannot_say_is_said(shell: Shell) -> None:
    ok(shell, "schedule add hook webhook https://example.com/h --every 5m --data", '{"a": null}')
    refused = shell("schedule export")
    assert refused.code == 2
    assert "hook.data.a: TOML has no null; write JSON Lines instead" in refused.err
    assert '"data": {"a": null}' in ok(shell, "schedule export --format jsonl").out


FILE = """
[a]
cron = "0 9 * * *"
zone = "Europe/Berlin"
channel = "sms"
recipient = "+491701234567"
body = "x"
[b]
every = "1h"
channel = "sms"
recipient = "+491701234567"
body = "x"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "config" / "schedules"


def test_files_of_the_configuration(shell: Shell, folder: Path, rig: Rig) -> None:
    rig.add(spec("by-hand"))
    (folder / "team.toml").write_text(FILE)
    dry = ok(shell, "schedule import").out
    assert "+ a: at 09:00 every day, in Europe/Berlin; +49***67" in dry
    assert dry.endswith("nothing was changed; repeat with --yes\n")
    assert rig.names() == ["by-hand"]
    ok(shell, "schedule import --yes")
    assert "2 the same" in ok(shell, "schedule import").out
    row = rig.truth.row("a")
    assert row is not None
    assert (row.origin, row.source) == ("file", "team.toml")
    (folder / "team.toml").write_text(FILE.partition("[b]")[0].replace("0 9", "0 10"))
    dry = ok(shell, "schedule import").out
    assert "~ a\n  ~ cron: 0 9 * * * -> 0 10 * * *\n- b\n" in dry
    found = read(shell, "schedule import --yes")
    assert (found["removed"], [each["name"] for each in found["changed"]]) == (["b"], ["a"])
    assert rig.names() == ["a", "by-hand"]
    assert "1 the same" in ok(shell, "schedule import").out


def test_a_directory_without_files_removes_nothing(shell: Shell, folder: Path, rig: Rig) -> None:
    assert ok(shell, "schedule import --yes").out.startswith("0 added")
    (folder / "team.toml").write_text(FILE)
    ok(shell, "schedule import --yes")
    (folder / "team.toml").unlink()
    refused = shell("schedule import --yes")
    assert refused.code == 2
    assert "there are no schedules; would all 2 from there be removed?" in refused.err
    assert rig.names() == ["a", "b"]


def test_an_import_resumes_nothing_that_does_not_say_so(
    shell: Shell, folder: Path, rig: Rig
) -> None:
    (folder / "team.toml").write_text(FILE)
    ok(shell, "schedule import --yes")
    ok(shell, "schedule pause a")
    (folder / "team.toml").write_text(FILE.replace('body = "x"', 'body = "y"'))
    ok(shell, "schedule import --yes")
    assert rig.book.get("a").state == "paused"
    (folder / "team.toml").write_text(FILE.replace("[b]", "paused = false\n[b]"))
    assert "- paused: True" in ok(shell, "schedule import --yes").out
    assert rig.book.get("a").state == "active"


def test_a_file_takes_over_what_was_added_by_hand(shell: Shell, folder: Path, rig: Rig) -> None:
    rig.add(spec("b", body="x"))
    (folder / "team.toml").write_text(FILE)
    assert "~ b\n  ~ origin: command -> file\n" in ok(shell, "schedule import --yes").out
    assert shell("schedule edit b --body y").err.startswith("it is from a file")


def test_what_is_over_in_a_file_is_no_mistake(shell: Shell, folder: Path) -> None:
    at = "[old]\nat = 2020-01-01T09:00:00Z"
    (folder / "old.toml").write_text(f'{at}\nchannel="sms"\nrecipient="{PHONE}"\nbody="x"\n')
    assert "schedules are valid: old" in ok(shell, "config check").out
    found = read(shell, "schedule import --yes")
    assert (found["over"], found["added"]) == (["old"], [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1", "x: must stand in the table of a schedule"),
        ("[a", "is not valid TOML: "),
        ('[a]\nevery = "1h"', "a.recipient, file, python: exactly one of them must be given"),
        (FILE.replace("Berlin", "Berlim"), "a.zone: is not a known time zone"),
        (FILE.replace("[a]", "[A]"), "A.name: must be 1 to 64 lower-case letters"),
        (FILE.replace("body", "boddy"), "a.boddy: unknown key"),
        (FILE.replace("+491701234567", "0170"), "a.recipient: must be a phone number"),
        (FILE + "end = 2020-01-01\n", "b.end: has no UTC offset, so zone must be given"),
    ],
)
def test_mistakes_in_files_are_named(
    shell: Shell, folder: Path, rig: Rig, text: str, problem: str
) -> None:
    (folder / "wrong.toml").write_text(text)
    for command in ("schedule import --yes", "config check"):
        ran = shell(command)
        assert ran.code == 3
        assert f"wrong.toml: {problem}" in ran.err
    assert rig.names() == []


def test_a_name_in_two_files(shell: Shell, folder: Path) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.toml").write_text(FILE)
    ran = shell("config check")
    assert ran.code == 3
    assert ran.err.count("is in ") == 2


def test_wrong_lines_are_named(shell: Shell, tmp_path: Path, rig: Rig) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"name": "a"}\nnonsense\n[1]\n{"v": 99, "name": "b"}\n')
    ran = shell(f"schedule import {path} --yes")
    assert ran.code == 2
    for place in (
        "line 1.recipient",
        "line 2: must be a JSON object",
        "line 3: must",
        "line 4.v: ",
    ):
        assert f"x.jsonl: {place}" in ran.err
    assert rig.names() == []


def test_the_shipped_example_is_valid_when_it_is_uncommented(shell: Shell, folder: Path) -> None:
    shipped = Path(__file__).parents[2] / "config" / "schedules" / "example.toml"
    text = shipped.read_text(encoding="utf-8")
    (folder / "as-it-is.toml").write_text(text)
    assert "schedules are valid" not in ok(shell, "config check").out
    body = text.partition("\n\n")[2]
    lines = [line.removeprefix("# ") for line in body.splitlines()]
    prose = ("When:", "To whom:", "What:", "What becomes", "Every five", "To many:", "their own")
    kept = [line for line in lines if not line.startswith(prose) and line not in ("#", "Once:")]
    before, _, after = "\n".join(kept).partition("[bills]")
    once = after.partition("[opening]")[2]
    (folder / "as-it-is.toml").write_text(f"{before}[opening]{once}")
    assert "schedules are valid: standup, alive, opening" in ok(shell, "config check").out
