import json
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.channels import build_provider
from notify.channels.bodies import find_id
from notify.channels.expiry import seconds_left
from notify.channels.sms import HttpSms, fill_in
from notify.errors import ConfigError
from notify.outcomes import Receipt
from notify.sandbox import Answer, Sandbox

from .values import PHONE, TEXTS, TOKEN, sms, sms_settings


def _send(sandbox: Sandbox, **changes: Any) -> Receipt:
    provider = build_provider(sms_settings(f"{sandbox.http_url}/sms"))
    return provider.send(sms(**changes), deadline=2)


@pytest.mark.parametrize("text", TEXTS)
def test_text_arrives_as_it_is(sandbox: Sandbox, text: str) -> None:
    receipt = _send(sandbox, body=text, id="order:1")
    (item,) = sandbox.received(PHONE)
    assert (item.body, item.id) == (text, "order:1")
    assert receipt == Receipt(provider="gateway", provider_id="sms-000001", code="200")


def test_headers(sandbox: Sandbox) -> None:
    _send(sandbox, id="n-1")
    (item,) = sandbox.received(PHONE)
    sent = {name.lower(): value for name, value in item.headers.items()}
    assert sent["authorization"] == f"Bearer {TOKEN}"
    assert sent["idempotency-key"] == "n-1"
    assert sent["content-type"] == "application/json"
    assert sent["accept-encoding"] == "identity"
    assert sent["user-agent"] == "notify/0.1"


def test_configured_headers_replace_ours_and_may_have_any_text(sandbox: Sandbox) -> None:
    headers = {"user-AGENT": "we/1", "X-Konto": "Köln"}
    settings = sms_settings(f"{sandbox.http_url}/sms", headers=headers)
    build_provider(settings).send(sms(), deadline=2)
    (item,) = sandbox.received(PHONE)
    sent = {name.lower(): value for name, value in item.headers.items()}
    assert sent["user-agent"] == "we/1"
    assert sent["x-konto"].encode("latin-1").decode() == "Köln"


def test_a_header_that_cannot_be_sent_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="gateway: header X-Key") as caught:
        build_provider(sms_settings("http://127.0.0.1/", headers={"X-Key": "s3cret\r\nA: b"}))
    assert "s3cret" not in str(caught.value)


def test_placeholders_are_replaced_once_and_everywhere() -> None:
    template = {
        "messages": [{"to": "{recipient}", "text": "{body}", "n": 1, "ok": True, "none": None}],
        "ref": "{id}/{priority}/{unknown}/{}",
    }
    filled = fill_in(template, sms(id="n-1", body="{recipient} {id} \\1 {body}"))
    message = {"to": PHONE, "text": "{recipient} {id} \\1 {body}", "n": 1, "ok": True, "none": None}
    assert filled == {"messages": [message], "ref": "n-1/normal/{unknown}/{}"}


VALIDITY: Any = {
    "to": "{recipient}",
    "ttl": "{validity}",
    "options": {"text": "for {validity} s"},
    "list": ["{validity}", "{id}"],
}


def test_what_has_no_expiry_has_no_validity() -> None:
    filled = fill_in(VALIDITY, sms(id="n-1"))
    assert filled == {"to": PHONE, "options": {}, "list": ["n-1"]}
    assert fill_in(VALIDITY, sms(id="n-1"), 90) == {
        "to": PHONE,
        "ttl": 90,
        "options": {"text": "for 90 s"},
        "list": [90, "n-1"],
    }
    assert fill_in({"text": "{body}"}, sms(body="{validity}")) == {"text": "{validity}"}


@pytest.mark.parametrize(
    ("left", "longest", "asked"),
    [
        (7200.0, 36000.0, 7200),
        (86400.0, 36000.0, 36000),
        (59.9, 36000.0, 59),
        (0.4, 36000.0, 1),
        (-5.0, 36000.0, 1),
        (30.0, 5.5, 5),
    ],
)
def test_validity_ends_with_the_notification(left: float, longest: float, asked: int) -> None:
    now = datetime(2027, 1, 1, tzinfo=UTC)
    notification = sms(expires_at=now + timedelta(seconds=left))
    assert seconds_left(notification, now.timestamp(), longest) == asked
    assert seconds_left(sms(), now.timestamp(), longest) is None


def test_the_gateway_is_told_how_long_it_may_try(sandbox: Sandbox) -> None:
    body = {"to": "{recipient}", "text": "{body}", "id": "{id}", "ttl": "{validity}"}
    config = sms_settings(f"{sandbox.http_url}/sms", body=body, max_validity="2h")
    now = datetime.now(UTC)
    provider = HttpSms(config, clock=now.timestamp)
    for seconds in (90, 90_000):
        provider.send(sms(expires_at=now + timedelta(seconds=seconds)), deadline=2)
    provider.send(sms(), deadline=2)
    sent = [json.loads(b64decode(item.raw)) for item in sandbox.received(PHONE)]
    assert [each.get("ttl") for each in sent] == [90, 7200, None]
    assert "ttl" not in sent[-1]


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_text_is_filled_in_unchanged(text: str) -> None:
    assert fill_in({"text": "{body}"}, sms(body=text)) == {"text": text}


@pytest.mark.parametrize(
    ("answer", "path", "found"),
    [
        ({"id": "abc"}, "id", "abc"),
        ({"id": 42}, "id", "42"),
        ({"messages": [{"message-id": "x-1"}]}, "messages.0.message-id", "x-1"),
        ({"messages": []}, "messages.0.message-id", ""),
        ({"a": {"b": "deep"}}, "a.b", "deep"),
        ({"a": "text"}, "a.b", ""),
        ({"id": True}, "id", ""),
        ({"id": None}, "id", ""),
        ({"id": {"x": 1}}, "id", ""),
        ({"id": "x" * 64}, "id", "x" * 64),
        ({"id": "x" * 65}, "id", ""),
        ({"id": "a\nb"}, "id", ""),
        ({"id": "ключ"}, "id", ""),
        ([], "id", ""),
    ],
)
def test_finding_the_gateways_id(answer: Any, path: str, found: str) -> None:
    assert find_id(json.dumps(answer).encode(), path) == found


@pytest.mark.parametrize("body", [b"", b"OK", b"\xff", b"[" * 60_000, b"9" * 6000])
def test_answers_that_are_no_json_have_no_id(body: bytes) -> None:
    assert find_id(body, "id") == ""


@pytest.mark.parametrize("body", ["[" * 60_000, "x" * 100_000, "{"])
def test_a_strange_answer_is_still_a_receipt(sandbox: Sandbox, body: str) -> None:
    sandbox.script(PHONE, Answer(body=body))
    assert _send(sandbox) == Receipt(provider="gateway", code="200")
