"""Notifications from templates: name and version recorded, all else as given."""

import io
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from notify import Client, Templates, load_settings
from notify.errors import InvalidInput, InvalidNotification
from notify.notification import Notification
from notify.rendering import from_template, from_texts
from notify.rows import read_rows
from tests.unit.test_config import SHIPPED

PHONE = "+491701234567"
TEMPLATES = Templates(SHIPPED / "templates")
HEAD = "channel,recipient,template,var.code,var.minutes\n"


def read(text: str) -> list[Notification]:
    lines = io.StringIO(text, newline="")
    return list(read_rows(lines, "people.csv", "batch", partial(from_texts, TEMPLATES)))


def problem(text: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(text)
    return str(refused.value)


def test_name_and_version_are_recorded_and_travel() -> None:
    expires = datetime(2199, 1, 1, tzinfo=UTC)
    made = from_template(
        TEMPLATES,
        "code",
        {"code": "552 104"},
        channel="sms",
        recipient=PHONE,
        priority="urgent",
        expires_at=expires,
        labels={"shop": "7"},
    )
    assert made.body == "Your code is 552 104. It holds for 5 minutes. Give it to nobody."
    assert (made.template, made.template_version) == ("code", TEMPLATES.get("code").version)
    assert (made.priority, made.expires_at, made.labels) == ("urgent", expires, {"shop": "7"})
    assert Notification.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("field", ["subject", "body", "html", "data", "template_version"])
def test_content_comes_from_one_place(field: str) -> None:
    with pytest.raises(InvalidNotification, match=f"^{field}: comes from the template$"):
        from_template(
            TEMPLATES, "code", {"code": "1"}, channel="sms", recipient=PHONE, **{field: "x"}
        )


def test_a_client_knows_the_templates_of_its_configuration(tmp_path: Path) -> None:
    with Client(load_settings(SHIPPED, {})) as client:
        made = client.render("code", {"code": "1", "minutes": 9}, channel="sms", recipient=PHONE)
        assert made.body == "Your code is 1. It holds for 9 minutes. Give it to nobody."
        with pytest.raises(InvalidNotification, match=r"^variables.code: is required$"):
            client.send_template("code", {}, channel="sms", recipient=PHONE)


def test_settings_know_where_their_templates_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SHIPPED.parent)
    settings = load_settings("config", {})
    monkeypatch.chdir(tmp_path)
    assert settings.templates == SHIPPED / "templates"


def test_rows_name_a_template_and_its_variables() -> None:
    rows = read(
        "channel,recipient,template,var.code,var.minutes,body,expires_at,label.a\n"
        f"sms,{PHONE},code,552104,,,2199-01-01T00:00:00+00:00,b\n"
        f"sms,{PHONE},code,7,9,,,\n"
        f"sms,{PHONE},,,,Hello,,\n"
    )
    assert [row.body for row in rows] == [
        "Your code is 552104. It holds for 5 minutes. Give it to nobody.",
        "Your code is 7. It holds for 9 minutes. Give it to nobody.",
        "Hello",
    ]
    assert [row.template for row in rows] == ["code", "code", None]
    assert [row.id for row in rows] == ["batch:2", "batch:3", "batch:4"]
    assert rows[0].expires_at == datetime(2199, 1, 1, tzinfo=UTC)
    assert rows[0].labels == {"a": "b"}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (f"sms,{PHONE},nope,1,2", "column template: there is no such template; known: code, w"),
        (f"sms,{PHONE},code,,2", "column var.code: is required"),
        (f"sms,{PHONE},code,evil.com,2", "column var.code: contains what a program may show"),
        (f"sms,{PHONE},code,1,soon", "column var.minutes: must be a whole number"),
        (f"sms,{PHONE},,1,2", "column var.code: needs a template"),
        ("email,a@example.com,code,1,2", "column template: code has nothing for channel email"),
        (f",{PHONE},code,1,2", "column channel: is missing"),
        ("sms,,code,1,2", "column recipient: is missing"),
        ("sms,0170,code,1,2", "column recipient: must be a phone number"),
        (f"fax,{PHONE},code,1,2", "column template: code has nothing for channel fax"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_rendered_is_refused_by_column(row: str, expected: str) -> None:
    assert problem(HEAD + row).startswith(f"people.csv:2: {expected}")


def test_columns_of_content_do_not_go_with_a_template() -> None:
    text = f"channel,recipient,template,var.code,body\nsms,{PHONE},code,1,Hello\n"
    assert problem(text) == "people.csv:2: column body: comes from the template"


def test_a_variable_that_the_template_has_not_is_refused() -> None:
    text = f"channel,recipient,template,var.code,var.size\nsms,{PHONE},code,1,Secret\n"
    assert problem(text) == "people.csv:2: column var.size: is not declared"
