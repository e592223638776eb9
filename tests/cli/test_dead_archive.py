"""``notify dead`` and ``notify archive`` on an archive that is filled: no server is needed."""

import csv
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.outcomes import Reason
from notify.store import SCHEMA, Filter, Store
from tests.archive.conftest import on_postgresql, on_sqlite
from tests.archive.letters import ATTEMPT, dead, raw, replayed, sms
from tests.cli.conftest import Ran
from tests.postgres import PASSWORD, QUOTED, PostgresServer

PHONE = "+4915112345678"
SECRET = "Code 271828"
Shell = Callable[..., Ran]
ANSWER = {"code": "421", "answer": "try later", "provider": "mails", "outcome": "temporary"}
MAIL: dict[str, Any] = {
    "channel": "email",
    "recipient": "ada@example.com",
    "attempts": (ATTEMPT, ATTEMPT | ANSWER | {"attempt": 2, "reason": "provider_busy"}),
    "notification": {"subject": "=1+1", "body": SECRET, "template": "welcome"},
    "labels": {"team": "shop"},
    "headers": {"x-death": [{"queue": "notify.email.normal", "reason": "rejected", "count": 2}]},
}


@pytest.fixture
def offline(offline: Shell, archive_url: str, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """On each of the databases."""
    monkeypatch.setenv("NOTIFY_ARCHIVE_URL", archive_url)
    return offline


@pytest.fixture
def store(archive_url: str) -> Iterator[Store]:
    """Two letters of this minute, and two of long ago."""
    with closing(Store(archive_url)) as opened:
        opened.create()
        recent = datetime.now(UTC)
        old = recent - timedelta(days=200)
        opened.add(
            [
                dead("file-2f:17", dead_at=old, notification=sms("x", body=SECRET).to_dict()),
                dead("mail", dead_at=old + timedelta(days=1), **MAIL),
                dead("new", dead_at=recent, reason=Reason.RETRIES_EXHAUSTED),
                raw().evolve(dead_at=recent + timedelta(seconds=1)),
            ]
        )
        replayed(opened, 1)
        yield opened


def ids(ran: Ran) -> list[str | None]:
    return [letter["id"] for letter in json.loads(ran.out)["dead_letters"]]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), [None, "new", "mail", "file-2f:17"]),
        (("--sort", "oldest", "--limit", "2"), ["file-2f:17", "mail"]),
        (("--limit", "1", "--page", "2"), ["new"]),
        (("--after", "3"), ["mail", "file-2f:17"]),
        (("--id", "mail"), ["mail"]),
        (("--channel", "email", "--provider", "mails", "--code", "421"), ["mail"]),
        (("--label", "team=shop"), ["mail"]),
        (("--label", "team=shop", "--label", "team=ops"), []),
        (("--label", "team=shop", "--label", "team=shop"), ["mail"]),
        (("--batch", "file-2f"), ["file-2f:17"]),
        (("--template", "welcome"), ["mail"]),
        (("--recipient", "Ada@example.COM"), ["mail"]),
        (("--text", "CODE 2718"), ["mail", "file-2f:17"]),
        (("--schedule", "none"), []),
        (("--state", "replayed"), ["file-2f:17"]),
        (("--since", "1d"), [None, "new"]),
        (("--until", "1d", "--since", "2020-01-01T00:00+02:00"), ["mail", "file-2f:17"]),
        (("--reason", "retries_exhausted"), ["new"]),
    ],
)
def test_list(store: Store, offline: Shell, options: tuple[str, ...], found: list[Any]) -> None:
    assert ids(offline("dead", "list", *options, "--json")) == found


def test_a_table_is_masked_and_says_how_to_go_on(store: Store, offline: Shell) -> None:
    ran = offline("dead", "list", "--limit", "2")
    assert ran.out.endswith("2 of 4\nmore: --after 3\n")
    for last in (("--limit", "2", "--after", "3"), ("--limit", "2", "--page", "2")):
        assert offline("dead", "list", *last).out.endswith("\n2 of 4\n")
    assert "+49***78" in ran.out
    assert PHONE not in offline("dead", "list").out
    assert store.reveals(9) == []
    revealed = offline("dead", "list", "--reveal")
    assert PHONE in revealed.out
    assert [each.what for each in store.reveals(9)] == ["dead list 4, 3, 2, 1"]


@pytest.mark.parametrize("command", ["list", "count", "purge", "replay"])
def test_no_text_is_not_every_text(store: Store, offline: Shell, command: str) -> None:
    options = ["--keep", "0"] if command == "purge" else []
    ran = offline("dead", command, "--text", "", *options)
    assert (ran.code, ran.err) == (2, "notify: --text: must not be empty\n")


def test_counts(store: Store, offline: Shell) -> None:
    ran = json.loads(offline("dead", "count", "--by", "channel", "--json").out)
    assert ran == {"by": "channel", "total": 4, "counts": {"sms": 2, "": 1, "email": 1}}
    table = offline("dead", "count", "--by", "label.team", "--channel", "email")
    assert "shop" in table.out
    assert table.out.endswith("1 in all\n")
    assert "(none)" in offline("dead", "count", "--by", "code").out


def test_a_story_for_people(store: Store, offline: Shell) -> None:
    told = offline("dead", "show", "mail").out
    for part in (
        "Dead letter 2, open: email to a***@example.com, id mail",
        "template welcome",
        "labels team=shop",
        "queued, priority normal",
        "attempt 1 through acme was refused after 12 ms: permanent, recipient_refused",
        "its code: 550, the mailbox does not exist",
        "attempt 2 through mails failed for the moment",
        "its code: 421, the mail server is closing or too busy",
        "it said: try later",
        "that is: the provider had too much to do",
        "given up as recipient_refused (550 no such user): the provider says that",
        "in RabbitMQ: left queue notify.email.normal 2 times, rejected",
        "What to do: correct the recipient",
    ):
        assert part in told
    assert SECRET not in told
    assert "=1+1" not in told
    assert SECRET in offline("dead", "show", "2", "--reveal").out
    assert [each.what for each in store.reveals(9)] == ["dead show 2"]


def test_a_story_with_replays(store: Store, offline: Shell) -> None:
    told = offline("dead", "show", "1").out
    assert "replay by ann was sent again" in told
    assert "What to do: nothing: it was sent again; notify status file-2f:17" in told
    (facts,) = json.loads(offline("dead", "show", "1", "--json").out)
    assert (facts["batch"], facts["replays"][0]["new_generation"]) == ("file-2f", 2)
    assert facts["attempts"][0]["means"]
    assert "notification" not in facts


def test_a_story_of_what_could_not_be_read(store: Store, offline: Shell) -> None:
    told = offline("dead", "show", "4").out
    assert "no attempt is known" in told
    assert "to nobody known, id unknown" in told
    assert "junk" not in told
    assert "junk" in offline("dead", "show", "4", "--reveal").out


def test_attempts_of_strangers_are_told_as_far_as_they_go(store: Store, offline: Shell) -> None:
    odd: dict[str, Any] = {"attempt": "x", "outcome": 7, "reason": None, "ms": None, "at": []}
    odd |= {"provider": "[/b]\ud800", "code": "[/b]"}
    odder: dict[str, Any] = {"code": 5, "outcome": {"x": []}}
    headers = {"x-death": ["?", {}, {"count": "many"}]}
    content = {"body": "\x1b[31m\u202e\ud800\nWhat to do: send money", "subject": 7}
    store.add(
        [
            dead(
                "odd",
                attempts=(odder, odd),
                headers=headers,
                notification=content,
            )
        ],
    )
    for options in ((), ("--json",), ("--reveal",), ("--reveal", "--json")):
        ran = offline("dead", "show", "odd", *options)
        assert (ran.code, ran.err) == (0, "")
        assert "\x1b" not in ran.out
        assert "\nWhat to do: send money" not in ran.out
    assert "[/b]" in offline("dead", "list").out


def test_an_export_of_lines(store: Store, offline: Shell, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    ran = offline("dead", "export", "--output", str(target))
    assert ran.out == f"4 dead letters in {target}\n"
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [line["id"] for line in lines] == [None, "new", "mail", "file-2f:17"]
    assert len(lines[2]["attempts"]) == 2
    assert PHONE not in target.read_text()
    assert SECRET not in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    again = offline("dead", "export", "--output", str(target), "--channel", "sms", "--reveal")
    assert again.code == 0
    assert json.loads(target.read_text().splitlines()[1])["notification"]["body"] == SECRET
    assert [(each.what, each.letters) for each in store.reveals(1)] == [
        ("dead export --format jsonl", 2)
    ]


def test_an_export_for_spreadsheets(store: Store, offline: Shell, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    offline("dead", "export", "--format", "csv", "--output", str(target), "--reveal")
    with target.open(newline="", encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert (rows["mail"]["subject"], rows["mail"]["attempts"]) == ("'=1+1", "2")
    assert rows["file-2f:17"]["recipient"] == PHONE
    assert rows["mail"]["answer"] == "try later"


@pytest.mark.parametrize("text", ["+1+cmd|' /C calc'!A0", "+1;2", "\n=1", "-1", "@SUM(1)"])
def test_no_cell_is_a_formula(store: Store, offline: Shell, tmp_path: Path, text: str) -> None:
    store.add([dead("odd", recipient=text)])
    target = tmp_path / "out.csv"
    offline("dead", "export", "--format", "csv", "--output", str(target), "--reveal", "--id", "odd")
    with target.open(newline="", encoding="utf-8") as file:
        assert next(csv.DictReader(file))["recipient"] == f"'{text}"


def test_an_export_that_cannot_be_written(store: Store, offline: Shell, tmp_path: Path) -> None:
    ran = offline("dead", "export", "--output", str(tmp_path / "no" / "out.csv"))
    assert (ran.code, ran.out) == (2, "")
    assert "cannot be written: No such file or directory" in ran.err


def test_a_purge_shows_before_it_does(store: Store, offline: Shell) -> None:
    ran = offline("dead", "purge", "--older-than", "90d")
    assert "2 would be deleted; repeat with --yes" in ran.out
    assert len(ids(offline("dead", "list", "--json"))) == 4
    done = json.loads(offline("dead", "purge", "--older-than", "90d", "--yes", "--json").out)
    assert done == {"done": True, "letters": 2, "by_reason": {"recipient_refused": 2}}
    assert ids(offline("dead", "list", "--json")) == [None, "new"]


def test_open_letters_that_are_new_stay(store: Store, offline: Shell) -> None:
    assert "2 would be deleted" in offline("dead", "purge", "--keep", "0").out
    assert "4 would be deleted" in offline("dead", "purge", "--keep", "0", "--open").out
    assert "1 would be deleted" in offline("dead", "purge", "--keep", "3", "--open").out


@on_sqlite
def test_backup_and_restore(store: Store, offline: Shell, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    assert f"schema {SCHEMA}, dead letters: 4" in offline("archive", "backup", str(target)).out
    offline("dead", "purge", "--keep", "0", "--open", "--yes")
    dry = offline("archive", "restore", str(target))
    assert "dead letters: 0\nnothing was changed; repeat with --yes" in dry.out
    assert ids(offline("dead", "list", "--json")) == []
    done = offline("archive", "restore", str(target), "--yes")
    assert (done.code, done.out[-9:]) == (0, "restored\n")
    assert len(ids(offline("dead", "list", "--json"))) == 4
    assert len(list(tmp_path.glob("backup.replaced-*"))) == 1
    assert offline("archive", "backup", str(target)).code == 2


@on_postgresql
def test_backups_of_postgresql(store: Store, offline: Shell, tmp_path: Path) -> None:
    """The commands can be pasted, and work; the password is not in them."""
    target = tmp_path / "it's a backup"
    said = offline("archive", "backup", str(target))
    assert (said.code, said.err.count("hunter2")) == (2, 0)
    dump = said.err.partition("so use: ")[2]
    secret = {"PGPASSWORD": PASSWORD}
    subprocess.run(["bash", "-ec", dump], check=True, env=os.environ | secret)
    offline("dead", "purge", "--keep", "0", "--open", "--yes")
    said = offline("archive", "restore", str(target))
    assert said.code == 2
    restore = said.err.partition("so use: ")[2]
    store.close()
    subprocess.run(["bash", "-ec", restore], check=True, env=os.environ | secret)
    assert len(ids(offline("dead", "list", "--json"))) == 4


@pytest.mark.parametrize("options", [("--json",), ()])
@on_sqlite
def test_an_archive_moves_to_postgresql(
    store: Store,
    offline: Shell,
    postgres: PostgresServer,
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{PASSWORD}\n", encoding="utf-8")
    with postgres.database(empty=True) as target:
        bare = target.replace(f":{QUOTED}", "")
        command = ("archive", "copy", "--to", bare, "--password-file", str(secret), *options)
        dry = offline(*command)
        assert (dry.code, dry.out.count("hunter2")) == (0, 0)
        assert ("nothing was changed" in dry.out) or json.loads(dry.out)["done"] is False
        done = offline(*command, "--yes")
        assert done.code == 0, done.err
        assert "rows were copied" in done.out or json.loads(done.out)["rows"]["dead_letters"] == 4
        again = offline(*command, "--yes")
        assert (again.code, "is not empty" in again.err) == (2, True)
        monkeypatch.setenv("NOTIFY_ARCHIVE_URL", bare)
        monkeypatch.setenv("NOTIFY_ARCHIVE_PASSWORD_FILE", str(secret))
        assert len(ids(offline("dead", "list", "--json"))) == 4
    assert store.count(Filter()) == 4


def test_a_dry_run_of_a_copy_makes_nothing(store: Store, offline: Shell, tmp_path: Path) -> None:
    target = tmp_path / "new.sqlite3"
    dry = offline("archive", "copy", "--to", f"sqlite:///{target}")
    assert f"rows would be copied to sqlite:///{target}" in dry.out
    assert not target.exists()
    assert offline("archive", "copy", "--to", f"sqlite:///{target}", "--yes").code == 0
    with closing(Store(f"sqlite:///{target}")) as copied:
        assert copied.find(Filter()) == store.find(Filter())


def test_version_and_reveals(store: Store, offline: Shell) -> None:
    said = offline("archive", "version").out
    assert said == f"the archive has schema {SCHEMA}, this program knows schema {SCHEMA}\n"
    assert json.loads(offline("archive", "version", "--json").out)["known"] == SCHEMA
    offline("dead", "show", "mail", "--reveal")
    (seen,) = json.loads(offline("archive", "reveals", "--json").out)["reveals"]
    assert (seen["command"], seen["letters"]) == ("dead show 2", 1)
    assert "dead show 2" in offline("archive", "reveals").out


@on_sqlite
def test_a_backup_that_is_not_there(offline: Shell) -> None:
    ran = offline("archive", "restore", "/no/such")
    assert (ran.code, "there is no such file" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("dead", "list", "--label", "team"), "--label: must be NAME=VALUE"),
        (("dead", "list", "--since", "soon"), "must be like 2027-03-01"),
        (("dead", "list", "--since", "99999999999d"), "must be like 2027-03-01"),
        (("dead", "count", "--by", "recipient"), "--by: must be one of reason"),
        (("dead", "purge"), "say which: --older-than, --keep or both"),
        (("dead", "purge", "--older-than", "old"), "--older-than: must be a time"),
        (("dead", "export"), "Missing option '--output'"),
        (("archive", "copy"), "Missing option '--to'"),
        (("archive", "copy", "--to", "mysql://h/d"), "must be sqlite:///FILE or postgresql://"),
        (
            ("archive", "copy", "--to", "postgresql://h/d", "--password-file", "/x"),
            "cannot be read",
        ),
    ],
)
def test_wrong_input(offline: Shell, arguments: tuple[str, ...], problem: str) -> None:
    ran = offline(*arguments)
    assert ran.code == 2
    assert problem in ran.err
