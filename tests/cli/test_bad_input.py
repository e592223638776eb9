"""Wrong input, before any server is asked: exit code 2 or 3, and a line that says what."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from tests.unit.configs import SMS, write

PHONE = "+491701234567"
SMS_TO = ("send", "sms", PHONE, "--body", "Hello")

# Arguments, and what is named.
WRONG = [
    (("nonsense",), "No such command 'nonsense'"),
    (("send",), "give CHANNEL and RECIPIENT, or --file"),
    (("send", "sms"), "give CHANNEL and RECIPIENT, or --file"),
    (("send", "fax", PHONE), "'fax' is not one of 'sms', 'email', 'webhook'"),
    ((*SMS_TO, "--priority", "high"), "'high' is not one of 'urgent', 'normal'"),
    ((*SMS_TO, "--colour", "red"), "No such option"),
    (("send", "sms", "0170123", "--body", "Hello"), "recipient: must be a phone number"),
    (("send", "email", "ada", "--subject", "a", "--body", "b"), "recipient: must be an email"),
    (("send", "webhook", "ftp://a.b", "--body", "b"), "recipient: must be a URL"),
    (("send", "sms", PHONE), "body: is required for sms"),
    ((*SMS_TO, "--subject", "x"), "subject: is not used by channel sms"),
    ((*SMS_TO, "--html", "x"), "html: is not used by channel sms"),
    ((*SMS_TO, "--id", "a.b"), "id: must be 1 to 128 letters"),
    ((*SMS_TO, "--label", "shop"), "--label: must be NAME=VALUE"),
    ((*SMS_TO, "--label", "a b=x"), "labels: a name has characters"),
    ((*SMS_TO, "--expires-at", "2027-03-01T09:00:00"), "expires_at: must have a UTC offset"),
    ((*SMS_TO, "--expires-at", "tomorrow"), "expires_at: must be an ISO 8601 date and time"),
    ((*SMS_TO, "--expires-at", "2020-03-01T09:00:00Z"), "expires_at: is in the past"),
    (("send", "webhook", "https://a.b", "--data", "{"), "--data: is not valid JSON"),
    (("send", "webhook", "https://a.b", "--data", "NaN"), "data: must be a JSON value"),
    (("send", "webhook", "https://a.b", "--data", "[" * 99_999), "--data: is not valid JSON"),
    (("send", "sms", PHONE, "--body", "x" * 300_000), "bytes, sms takes at most 262144"),
    (("send", "--file", "no-such.csv"), "no-such.csv: cannot be read: No such file"),
    (
        ("send", "--file", "a.csv", "--preview"),
        "--file: the columns of the file say all, not --pre",
    ),
    (("send", "--file", "a.csv", "--priority", "urgent"), "say all, not --priority"),
    (("send", "sms", PHONE, "--file", "a.csv"), "say all, not channel"),
    (("send", "--file", "."), ".: cannot be read: Is a directory"),
    (("worker", "fax", "normal"), "no queue for fax normal; configured: sms urgent"),
    (("worker", "sms", "high"), "no queue for sms high; configured: sms urgent"),
    (("dead", "list", "--reason", "bad luck"), "'bad luck' is not one of"),
    (("dead", "list", "--limit", "0"), "0 is not in the range"),
    (
        ("dead", "list", "--since", "yesterday"),
        "Invalid value for '--since': must be like 2027-03-01",
    ),
    (("dead", "replay"), "say which dead letters: ids or numbers, or a filter"),
    (("dead", "replay", "1", "--all"), "say which dead letters"),
    (("dead", "replay", "1", "--reason", "refused"), "say which dead letters"),
    (("dead", "replay", "--all", "--rate", "0"), "'--rate'"),
    (("dead", "replay", "--all", "--reason", "bad luck"), "'bad luck' is not one of"),
    (("dead", "replay", "--all", "--expires-in", "soon"), "--expires-in: must be a time"),
    (("dead", "replay", "1", "--priority", "high"), "'high' is not one of"),
]
TO = (PHONE, "--body", "Hello")
START_END = ("--start", "2999-01-02", "--end", "2999-01-01")
SCHEDULES = [
    (("Ab", "sms", *TO, "--every", "5s"), "name: must be 1 to 64 lower-case letters"),
    (("a:b", "sms", *TO, "--every", "5s"), "name: must be 1 to 64 lower-case letters"),
    (("a", "fax", *TO, "--every", "5s"), "'fax' is not one of"),
    (("a", "sms", "0170", "--body", "b", "--every", "5s"), "recipient: must be a phone number"),
    (("a", "sms", PHONE, "--every", "5s"), "body: is required for sms"),
    (("a", "sms", *TO, "--subject", "b", "--every", "5s"), "subject: is not used by channel sms"),
    (("a", "sms", *TO, "--priority", "high", "--every", "5s"), "'high' is not one of"),
    (("a", "sms", *TO), "cron, every, at: exactly one of them must be given"),
    (("a", "sms", *TO, "--every", "5s", "--cron", "* * * * *"), "exactly one of them"),
    (("a", "sms", *TO, "--every", "often"), "every: must be a duration"),
    (("a", "sms", *TO, "--every", "0s"), "every: must be at least one second"),
    (("a", "sms", *TO, "--every", "99999999999d"), "every: must be at least one second and at"),
    (("a", "sms", *TO, "--cron", "* * *"), "cron: must have five fields"),
    (("a", "sms", *TO, "--cron", "99 * * * *"), "cron: "),
    (("a", "sms", *TO, "--cron", "0 0 31 2 *"), "cron: "),
    (("a", "sms", *TO, "--at", "soon"), "at: must be a date and time like"),
    (("a", "sms", *TO, "--at", "2027-03-01T09:00:00"), "at: has no UTC offset"),
    (("a", "sms", *TO, "--at", "2020-03-01T09:00:00Z"), "at: is in the past"),
    (("a", "sms", *TO, "--at", "9999-12-31T23:59:59-01:00"), "at: must be between the years"),
    (("a", "sms", *TO, "--every", "0.5s"), "every: must be at least one second"),
    (("a", "sms", *TO, "--every", "5s", "--zone", "Mars"), "zone: is not a known time zone"),
    (
        ("a", "sms", *TO, "--every", "5s", "--start", "2999-01-02Z", "--end", "2999-01-01"),
        "start: must be a date and time",
    ),
    (
        ("a", "sms", *TO, "--cron", "@daily", "--zone", "UTC", *START_END),
        "end: is before start",
    ),
    (("a", "sms", *TO, "--every", "5s", "--exclude", "soon"), "exclude: number 1 must be a date"),
    (("a", "sms", *TO, "--every", "5s", "--quiet", "late"), "quiet: must be like"),
    (("a", "sms", *TO, "--every", "5s", "--grace", "1s"), "misfire.grace: must be from 30 s"),
    (("a", "sms", *TO, "--every", "5s", "--cap", "3"), "misfire.cap: is for run-all only"),
    (("a", "sms", *TO, "--every", "5s", "--jitter", "6s"), "jitter: must be shorter than 5 s"),
    (("a", "sms", *TO, "--every", "5s", "--label", "x"), "--label: must be NAME=VALUE"),
    (("a", "sms", *TO, "--every", "5s", "--encoding", "utf-8"), "--encoding: is that of --file"),
    (("a", "sms", "--every", "5s"), "recipient, file, python: exactly one of them"),
    (("a", "webhook", "https://a.b/c", "--data", "{", "--every", "5s"), "--data: is not valid"),
]
LATER = [
    (("--at", "2999-03-01T09:00:00Z"), "at: is more than five years ahead"),
    (("--at", "2020-03-01T09:00:00Z"), "at: is in the past"),
    (("--at", "2027-03-01T09:00:00"), "at: has no UTC offset"),
    (("--at", "2027-03-01T09:00", "--zone", "Mars"), "zone: is not a known time zone"),
    (("--at", "2999-03-01T09:00:00Z", "--id", "a b"), "id: must be 1 to 128 letters"),
    (("--at", "2999-03-01T09:00:00Z", "--attach", "a/b"), "--at: cannot be combined with --attach"),
    (("--at", "2999-03-01T09:00:00Z", "--preview"), "--at: cannot be combined with --preview"),
    (("--at", "2999-03-01T09:00:00Z", "--label", "schedule=x"), "schedule is set by the firing"),
    (("--zone", "UTC"), "--zone: is for --at"),
]
MORE = [
    (("schedule", "preview"), "give NAME, or --cron, --every or --at"),
    (("schedule", "preview", "a", "--every", "5s"), "give NAME, or --cron, --every or --at"),
    (("schedule", "preview", "--every", "5s", "--from", "now"), "--from: must be like"),
    (("schedule", "preview", "--every", "5m", "--jitter", "5s"), "--jitter: depends on the name"),
    (("schedule", "edit", "a"), "give what is to be changed"),
    (("schedule", "fire", "a", "--early"), "--early: needs --planned"),
    (("schedule", "import", "no-such.toml"), "no-such.toml: cannot be read: No such file"),
]
EVERY_WRONG = [
    *(WRONG + MORE),
    *((("schedule", "add", *rest), named) for rest, named in SCHEDULES),
    *((("send", "sms", *TO, *rest), named) for rest, named in LATER),
]


@pytest.mark.parametrize(("arguments", "named"), EVERY_WRONG, ids=lambda value: str(value)[-60:])
def test_wrong_usage_is_exit_code_2_and_named(
    offline: Callable[..., Ran], arguments: tuple[str, ...], named: str
) -> None:
    ran = offline(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("send", "sms", "+49170314159x", "--body", "Code 271828"),
        ("send", "sms", "+4917031415926", "--body", "Code 271828", "--subject", "314159"),
        ("send", "email", "314159@@example.com", "--subject", "271828", "--body", "271828"),
        ("send", "webhook", "https://u:271828@a.b/314159", "--body", "271828"),
        ("send", "sms", "+4917031415926", "--body", "271828", "--label", "271828"),
        ("send", "sms", "+4917031415926", "--body", "271828" * 50_000),
        ("send", "sms", "+4917031415926", "--body", "271828"),
        ("schedule", "add", "a", "sms", "+314159x", "--body", "271828", "--every", "5s"),
        ("schedule", "add", "a", "sms", "+4917031415926", "--body", "271828", "--every", "5s"),
    ],
)
def test_no_failure_shows_a_recipient_or_a_text(
    offline: Callable[..., Ran], arguments: tuple[str, ...]
) -> None:
    ran = offline(*arguments)
    assert ran.code in (2, 4)
    for personal in ("314159", "271828", "hunter2"):
        assert personal not in ran.out + ran.err


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "people.csv: is empty"),
        (b"channel,recipient\nsms,0170314159\n", "people.csv:2: column recipient: must be a phone"),
        (b"sms,+4917031415926,Hello\n", "people.csv:1: unknown column 'sms'"),
        (b"+4917031415926,sms,Hello\n", "people.csv:1: unknown column number 1"),
        (b"channel,recipient,body\nsms,+4917031415926\n", "people.csv:2: has 2 cells"),
        (b'channel,recipient,body\nsms,+4917031415926,"a\n', "people.csv:2: unexpected end of"),
        (b"channel,recipient,body\nsms,+49170314159,\xff\n", "people.csv:2: column body: has"),
        ("channel,recipient\n".encode("utf-16"), "people.csv: is not UTF-8; try --encoding utf-16"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(
    offline: Callable[..., Ran], tmp_path: Path, content: bytes, named: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    ran = offline("send", "--file", str(path))
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err
    assert "314159" not in ran.err


def test_every_problem_of_the_configuration_is_exit_code_3(
    offline: Callable[..., Ran], tmp_path: Path
) -> None:
    good = offline("config", "check")
    assert good.code == 0
    assert "sms.urgent, sms.normal, email.urgent" in good.out
    write(tmp_path, {"notify.toml": "[broker]\ncolour = 1", "channels/sms.toml": "x" + SMS})
    for arguments in (("config", "check"), SMS_TO, ("topology", "show"), ("status", "a")):
        ran = offline(*arguments)
        assert (ran.code, ran.out) == (3, "")
        lines = ran.err.splitlines()
        assert len(lines) == 2
        assert lines[0].startswith("notify: ")
        assert "notify.toml: broker.colour: unknown key" in lines[0]
        assert "channels/sms.toml: is not valid TOML" in lines[1]


def test_a_directory_that_is_not_there_is_exit_code_3(offline: Callable[..., Ran]) -> None:
    ran = offline("--config", "/no/such", "config", "check")
    assert ran.code == 3
    assert ran.err == "notify: /no/such: there is no such directory\n"


UNAVAILABLE = [
    (SMS_TO, "RabbitMQ"),
    (("topology", "diff"), "RabbitMQ management API"),
    (("topology", "declare"), "RabbitMQ management API"),
    (("queues",), "RabbitMQ management API"),
    (("worker", "sms", "normal"), "RabbitMQ management API"),
    (("status", "a"), "Redis"),
    (("schedule", "list"), "Redis"),
    (("schedule", "remove", "a"), "Redis"),
    (("schedule", "add", "a", "sms", *TO, "--every", "5s"), "Redis"),
]


@pytest.mark.parametrize(("arguments", "named"), UNAVAILABLE, ids=lambda value: str(value)[-60:])
def test_a_service_that_does_not_answer_is_exit_code_4_in_one_line(
    offline: Callable[..., Ran], arguments: tuple[str, ...], named: str
) -> None:
    ran = offline(*arguments)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("notify: ")
    assert named in ran.err
    assert "hunter2" not in ran.err


def test_an_archive_that_cannot_be_opened_is_exit_code_4(
    offline: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NOTIFY_ARCHIVE_URL", f"sqlite:///{tmp_path}/file/archive.sqlite3")
    ran = offline("dead", "list")
    assert ran.code == 4
    assert ran.err.count("\n") == 1
    assert "archive" in ran.err


def test_dead_letters_that_are_not_there(offline: Callable[..., Ran]) -> None:
    assert offline("dead", "list").out.endswith("0 of 0\n")
    for key in ("order-7", "7", "9" * 30, "²"):
        ran = offline("dead", "show", key)
        assert (ran.code, ran.err) == (1, f"notify: there is no dead letter {key!r}\n")
