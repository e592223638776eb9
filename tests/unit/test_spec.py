"""A schedule: what it may say, how it is kept and compared, and the notification it makes."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.errors import InvalidInput, InvalidNotification
from notify.notification import Notification
from notify.recurrence import Recurrence
from notify.schedule.spec import (
    ONCE,
    Audience,
    ScheduleSpec,
    depends_on_actual,
    diff,
    load_audience,
    notification,
    parse_spec,
    row_defaults,
    shown,
    stamped,
)
from notify.store.facets import facets
from notify.templates import Templates
from tests.unit.values import ADDRESS, BODY, PHONE

NOW = datetime(2027, 3, 1, tzinfo=UTC)
PLANNED = datetime(2027, 3, 2, 8, tzinfo=UTC)
ACTUAL = PLANNED + timedelta(seconds=75)
SMS: dict[str, Any] = {"cron": "0 9 * * *", "zone": "Europe/Berlin", "channel": "sms", "body": BODY}
TO_ONE = SMS | {"recipient": PHONE}
TEMPLATE = """
description = "Says when it was meant to be sent."
[variables.occurrence_planned]
type = "datetime"
sample = 2027-03-01T09:00:00+01:00
[variables.occurrence_date]
type = "date"
sample = 2027-03-01
[variables.occurrence_time]
type = "line"
sample = "09:00"
[variables.text]
type = "line"
sample = "Stand-up"
[variables.numbers]
type = "list"
of = "integer"
required = false
sample = [1]
"""
PLANNED_ONLY = (
    "{{ text }} {{ occurrence_date|date('%-d/%-m') }} {{ occurrence_time }}"
    "{{ occurrence_planned|date(' %H:%M') }}"
)
WITH_ACTUAL = (
    "{{ text }} {{ occurrence_date }} {{ occurrence_time }} {{ occurrence_planned|date('%H') }}"
    " {{ occurrence_actual|date('%S') }} {{ occurrence_lag }}"
)
NUMBERS = "{% if numbers %}{% for n in numbers %} {{ n }}{% endfor %}{% endif %}"
LATE = """
[variables.occurrence_actual]
type = "datetime"
sample = 2027-03-01T09:00:00+01:00
[variables.occurrence_lag]
type = "integer"
sample = 3
"""


def parse(name: str = "standup", /, **values: Any) -> ScheduleSpec:
    return parse_spec(name, values, now=NOW)


def one(**values: Any) -> ScheduleSpec:
    return parse(**TO_ONE | values)


@pytest.fixture
def templates(tmp_path: Path) -> Templates:
    for name, declared, text in (("standup", "", PLANNED_ONLY), ("late", LATE, WITH_ACTUAL)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sms.txt").write_text(text + NUMBERS)
        (tmp_path / name / "template.toml").write_text(TEMPLATE + declared)
    return Templates(tmp_path)


DEEP: Any = []
for _ in range(5000):
    DEEP = [DEEP]

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("unknown key", {"chanel": "sms"}, "chanel: unknown key"),
    ("no audience", {"recipient": None}, "recipient, file, python: exactly one"),
    (
        "two audiences",
        {"file": "people.csv", "python": "a:b"},
        "recipient, file, python: exactly one",
    ),
    ("recipient", {"recipient": "Ada"}, "recipient: must be a phone number"),
    ("recipient as number", {"recipient": 49}, "recipient: must be text"),
    ("no channel", {"channel": None}, "channel: is required"),
    ("channel", {"channel": "pigeon"}, "channel: must be one of sms, email, webhook"),
    ("priority", {"priority": "high"}, "priority: must be one of urgent, normal"),
    ("no body", {"body": None}, "body: is required for sms"),
    ("body as number", {"body": 5}, "body: must be text"),
    ("html in a text", {"html": "x"}, "html: is not used by channel sms"),
    ("variables alone", {"variables": {}}, "variables: need a template"),
    ("variables as list", {"template": "x", "variables": []}, "variables: must be values"),
    ("own label", {"labels": {"schedule": "x"}}, "labels: schedule is set by the firing"),
    ("labels", {"labels": {"a b": "x"}}, "labels: a name has characters"),
    ("labels as list", {"labels": ["x"]}, "labels: must be texts by name"),
    (
        "many labels",
        {"labels": {f"l{n}": "" for n in range(17)}},
        "labels: must be at most",
    ),
    ("id", {"id": "x"}, "id: unknown key"),
    ("note", {"note": "a\nb"}, "note: must be one line"),
    ("paused", {"paused": "yes"}, "paused: must be true or false"),
    ("jitter", {"jitter": "soon"}, "jitter: must be a duration"),
    ("jitter negative", {"jitter": -1}, "jitter: must be at most 1 days"),
    ("jitter nan", {"jitter": float("nan")}, "jitter: must be at most 1 days"),
    (
        "jitter long",
        {"cron": "*/5 * * * *", "jitter": "5m"},
        "jitter: must be shorter than 300 s",
    ),
    ("spread for one", {"spread": "5m"}, "spread: is for audiences"),
    (
        "spread long",
        {"file": "a.csv", "spread": "1d"},
        "spread: must be shorter than 86400 s",
    ),
    (
        "both long",
        {"file": "x", "cron": "@hourly", "spread": "40m", "jitter": "20m"},
        "spread: must be",
    ),
    ("data for many", {"python": "a:b", "data": {}}, "data: is not for an audience"),
    ("file as number", {"file": 5}, "file: must be a path"),
    ("standard input", {"file": "-"}, "file: must be the path of a file"),
    ("encoding", {"file": {"path": "a", "encoding": "x"}}, "file.encoding: is no encoding"),
    (
        "encoding as number",
        {"file": {"path": "a", "encoding": 5}},
        "file.encoding: is no encoding",
    ),
    ("file table", {"file": {"name": "a"}}, "file: must be a path, or a table"),
    ("python", {"python": "os.system('x')"}, "python: must be like package.module:function"),
    ("expires", {"expires_after": "soon"}, "expires_after: must be a duration"),
    (
        "expires before jitter",
        {"expires_after": 60, "jitter": 60},
        "expires_after: must be longer",
    ),
    (
        "expires at night",
        {"cron": "0 23 * * *", "quiet": "22:00-07:00", "expires_after": "8h"},
        "expires_after: must be longer than jitter, spread and quiet hours",
    ),
    ("attachments", {"attachments": "x"}, "attachments: must be a list"),
    ("surrogate", {"note": "\ud800"}, "note: contains an unpaired surrogate"),
    ("NUL", {"labels": {"a": "x\0"}}, "labels: must not contain NUL"),
    ("bytes", {"body": b"x"}, "body: must be a JSON value"),
    ("deep", {"data": DEEP}, "data: must be a JSON value"),
    ("key", {"+491701234567": 1}, "(of another name): unknown key"),
    ("misfire", {"misfire": "later"}, "misfire.policy: must be one of"),
    ("version", {"v": 2}, "v: must be 1"),
    ("another name", {"name": "x"}, "name: differs"),
    ("origin", {"origin": "x"}, "origin: must be one of"),
]


@pytest.mark.parametrize(
    ("values", "problem"),
    [pytest.param(values, problem, id=name) for name, values, problem in REFUSED],
)
def test_refused_when_it_is_written(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(**(SMS if values.keys() & {"file", "python"} else TO_ONE) | values)
    assert problem in str(caught.value)
    assert "Ada" not in str(caught.value)
    assert BODY not in str(caught.value)


@pytest.mark.parametrize("values", [None, [], "cron", 5])
def test_no_object_is_no_schedule(values: Any) -> None:
    with pytest.raises(InvalidInput, match="schedule: must be an object"):
        parse_spec("x", values, now=NOW)


@pytest.mark.parametrize("name", ["", "Standup", "-x", "a b", "a:b", "x" * 65, "ä", "a\n"])
def test_a_name_that_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^name: must be 1 to 64 lower-case letters"):
        parse(name, **TO_ONE)


def test_every_problem_is_said_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        one(cron="x", zone="y", misfire="z", channel="pigeon", wrong=1)
    keys = [line.partition(":")[0] for line in str(caught.value).split("\n")]
    assert sorted(keys) == ["channel", "cron", "misfire.policy", "wrong", "zone"]


MADE: list[dict[str, Any]] = [
    TO_ONE,
    TO_ONE | {"jitter": "30s", "note": "weekly", "paused": True, "labels": {"team": "a"}},
    TO_ONE
    | {"misfire": {"policy": "run-all", "cap": 3}, "expires_after": "1h", "priority": "urgent"},
    TO_ONE | {"cron": "0 23 * * *", "quiet": "22:00-07:00", "exclude": [date(2027, 12, 24)]},
    SMS | {"file": "people.csv", "spread": "10m"},
    SMS
    | {
        "file": {"path": "people.csv", "encoding": "utf-16"},
        "template": "x",
        "variables": {"n": 1},
    },
    {"every": 90, "python": "package.module:people"},
    {
        "at": "2028-01-01T00:00:00.5Z",
        "channel": "webhook",
        "recipient": "https://x.de/",
        "data": [1],
    },
]


@pytest.mark.parametrize("number", range(len(MADE)))
def test_kept_and_read_again(number: int) -> None:
    made = parse(**MADE[number])
    kept = json.loads(json.dumps(made.to_dict()))
    again = ScheduleSpec.from_dict(kept)
    assert again == made
    assert again.revision == made.revision
    assert parse(**kept) == made
    assert diff(made, again) == []
    assert None not in kept.values()


@pytest.mark.parametrize(
    "values",
    [
        None,
        [],
        {},
        {"v": 2},
        {"v": 1},
        {"v": 1, "name": "x"},
        {"v": 1, "name": "x", "every": 60, "recipient": "y"},
        {"v": 1, "name": "x", "every": 60, "misfire": {}},
        {"v": 1, "name": "x", "every": 60, "misfire": {}, "recipient": "y", "new": 1},
        {"v": 1, "name": "x", "every": "60", "misfire": {}, "recipient": "y"},
        {"v": 1, "name": "x", "every": 60, "misfire": 5, "recipient": "y"},
        {"v": 1, "name": "x", "every": 60, "misfire": {}, "file": {"encoding": "x"}},
    ],
)
def test_what_is_not_a_stored_schedule_is_refused(values: Any) -> None:
    with pytest.raises(InvalidInput):
        ScheduleSpec.from_dict(values)


def test_what_is_over_is_still_read() -> None:
    once = parse(**TO_ONE | {"cron": None, "at": "2027-04-01T00:00Z"})
    assert ScheduleSpec.from_dict(once.to_dict()) == once
    with pytest.raises(InvalidInput, match="at: is in the past"):
        parse_spec("standup", once.to_dict(), now=datetime(2028, 1, 1, tzinfo=UTC))


def test_a_revision_is_of_what_it_does() -> None:
    made = one()
    for same in ({"note": "x"}, {"paused": True}, {"misfire": "run-latest"}, {"jitter": 0}):
        assert one(**same).revision == made.revision
    assert made.evolve(origin="file").revision == made.revision
    for other in ({"body": "x"}, {"cron": "1 9 * * *"}, {"jitter": 1}, {"misfire": "skip"}):
        assert one(**other).revision != made.revision


def test_a_difference_shows_no_content() -> None:
    old, new = one(note="a"), one(recipient="+491701234568", body="Another", cron="0 8 * * *")
    assert diff(old, new) == [
        ("note", "a", None),
        ("cron", "0 9 * * *", "0 8 * * *"),
        ("recipient", "+49***67", "+49***68"),
        ("body", f"text of {len(BODY)} characters", "text of 7 characters"),
    ]
    assert diff(old, new, reveal=True)[-1] == ("body", BODY, "Another")
    text = json.dumps(shown(one(template="x", variables={"code": "314159"}, body=None)))
    assert "314159" not in text
    assert PHONE not in text


def test_the_notification_of_a_firing() -> None:
    spec = one(expires_after="2h", labels={"team": "a"}, priority="urgent")
    made = notification(spec, PLANNED, ACTUAL)
    assert made == Notification(
        id="schedule:standup:20270302T080000Z",
        channel="sms",
        recipient=PHONE,
        body=BODY,
        priority="urgent",
        expires_at=PLANNED + timedelta(hours=2),
        created_at=ACTUAL,
        labels={
            "team": "a",
            "schedule": "standup",
            "planned": "2027-03-02T08:00:00+00:00",
            "actual": "2027-03-02T08:01:15+00:00",
            "lag": "75",
        },
    )
    found = facets(
        id=made.id, channel="sms", recipient=None, detail="", notification=None, attempts=[],
        labels=made.labels,
    )  # fmt: skip
    assert (found["schedule"], found["batch"]) == ("standup", None)


def test_two_beats_that_fire_the_same_at_different_times_publish_the_same(
    templates: Templates,
) -> None:
    """Else the second would be archived as a conflict."""
    specs = [one(), one(body=None, template="standup", variables={"text": "Now"})]
    for spec in specs:
        first = notification(spec, PLANNED, ACTUAL, templates)
        second = notification(spec, PLANNED, ACTUAL + timedelta(minutes=5), templates)
        assert (first.id, first.digest) == (second.id, second.digest)
        assert first.labels != second.labels
        assert not depends_on_actual(spec, templates)
        other = notification(spec, PLANNED + timedelta(days=1), ACTUAL, templates)
        assert other.id != first.id


def test_a_template_sees_what_it_declares(templates: Templates) -> None:
    spec = one(body=None, template="standup", variables={"text": "Stand-up", "numbers": [1, 2]})
    made = notification(spec, PLANNED, ACTUAL, templates)
    assert made.body == "Stand-up 2/3 09:00 08:00 1 2"
    assert made.template == "standup"
    late = one(body=None, template="late", variables={"text": "x"})
    made = notification(late, PLANNED, ACTUAL, templates)
    assert made.body == "x 2027-03-02 09:00 08 15 75"
    assert depends_on_actual(late, templates)


def test_a_template_is_tried_when_the_schedule_is_written(templates: Templates) -> None:
    values = TO_ONE | {"body": None, "template": "standup"}
    for variables, problem in (
        ({}, "variables.text: is required"),
        ({"text": "x", "more": "y"}, "variables.more: is not declared"),
        ({"text": "x", "numbers": "y"}, "variables.numbers: must be a list"),
    ):
        with pytest.raises(InvalidInput, match=f"^{problem}"):
            parse_spec("x", values | {"variables": variables}, templates=templates, now=NOW)
    with pytest.raises(InvalidInput, match=r"^template: there is no such template"):
        parse_spec("x", values | {"template": "other"}, templates=templates, now=NOW)


def test_the_rows_of_an_audience(templates: Templates) -> None:
    content = {"body": None, "template": "standup", "variables": {"text": "Hi", "numbers": [1]}}
    spec = parse(**SMS | content | {"file": "a.csv", "expires_after": "1h"})
    assert row_defaults(spec, PLANNED, ACTUAL, templates) == {
        "channel": "sms",
        "template": "standup",
        "var.text": "Hi",
        "var.numbers": "[1]",
        "var.occurrence_planned": "2027-03-02T09:00:00+01:00",
        "var.occurrence_date": "2027-03-02",
        "var.occurrence_time": "09:00",
    }
    own = Notification(channel="sms", recipient=PHONE, body="x", id="b:1", labels={"row": "1"},
                       expires_at=PLANNED)  # fmt: skip
    made = stamped(spec, own, PLANNED, ACTUAL)
    assert (made.id, made.digest, made.expires_at) == ("b:1", own.digest, PLANNED)
    assert (made.labels["row"], made.labels["schedule"]) == ("1", "standup")
    plain = parse(**SMS | {"file": "a.csv"})
    assert row_defaults(plain, PLANNED, ACTUAL) == {"channel": "sms", "body": BODY}


def test_what_is_sent_once_keeps_its_id() -> None:
    values = TO_ONE | {"cron": None, "at": "2027-04-01T00:00Z"}
    named = parse_spec("Order:7", values, origin=ONCE, now=NOW)
    assert notification(named, PLANNED, ACTUAL).id == "Order:7"
    assert ScheduleSpec.from_dict(named.to_dict()) == named
    with pytest.raises(InvalidInput, match=r"^id: must be 1 to 128 letters"):
        parse_spec("Order 7", values, origin=ONCE, now=NOW)


def test_a_recipient_as_it_was_written() -> None:
    spec = parse_spec(
        "x",
        TO_ONE | {"recipient": "0170 1234567"},
        normalise=lambda _channel, _text: PHONE,
        now=NOW,
    )
    assert spec.audience == Audience(recipient=PHONE)

    def refuse(_channel: str, _text: str) -> str:
        raise InvalidNotification("recipient", "is no number")

    with pytest.raises(InvalidInput, match=r"^recipient: is no number$"):
        parse_spec("x", TO_ONE, normalise=refuse, now=NOW)


def test_a_file_as_it_is_attached() -> None:
    file = {"folder": "bills", "file": "a.pdf", "sha256": "0" * 64, "size": 1}
    mail = {"channel": "email", "recipient": ADDRESS, "subject": "Bill"}
    spec = one(**mail, attachments=[file | {"type": "text/plain"}])
    assert notification(spec, PLANNED, ACTUAL).attachments[0].file == "a.pdf"
    assert ScheduleSpec.from_dict(spec.to_dict()) == spec


def test_a_delay_is_the_same_for_all_that_wait_for_the_morning() -> None:
    spec = parse(**TO_ONE | {"cron": "*/15 * * * *", "quiet": "22:00-07:00", "jitter": "5m"})
    late, early = datetime(2027, 3, 1, 22, tzinfo=UTC), datetime(2027, 3, 2, 5, 45, tzinfo=UTC)
    morning = datetime(2027, 3, 2, 6, tzinfo=UTC)
    assert spec.due(late) == spec.due(early) == spec.due(morning)
    assert morning < spec.due(morning) < morning + timedelta(minutes=5)
    assert spec.delay(PLANNED) != spec.evolve(name="other").delay(PLANNED)


def people(_planned: datetime) -> list[Notification]:
    return []


def test_a_function_that_gives_the_rows() -> None:
    assert load_audience(f"{__name__}:people") is not None
    for name, problem in (
        ("notify.nothing:people", "cannot be imported: ModuleNotFoundError"),
        ("notify.errors:people", "module notify.errors has no people"),
        ("notify.errors:__all", "module notify.errors has no __all"),
        ("notify.notification:new_id", "must be a function of one argument"),
        ("notify.notification:CHANNELS", "must be a function of one argument"),
    ):
        with pytest.raises(InvalidInput, match=f"^python: {problem}"):
            load_audience(name)


def test_a_recurrence_may_be_read_back_from_what_is_kept() -> None:
    assert one().recurrence == Recurrence(cron="0 9 * * *", zone="Europe/Berlin")
