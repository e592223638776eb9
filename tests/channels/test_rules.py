"""Rules that read the body of an answer: application errors in a 200, and the like."""

import json
from typing import Any

import pytest

from notify.channels import build_provider
from notify.channels.bodies import Unreadable, first_match
from notify.channels.profiled import Profiled
from notify.config.answers import AnswerRule
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure, UnknownOutcome
from notify.sandbox import Answer, Sandbox

from .contracts import described
from .peers import Peer, answering
from .values import LOOPBACK, PHONE, failure, hook, hook_settings, kind, sms, sms_settings

ROBOT: list[dict[str, Any]] = [
    {"field": "errcode", "values": [0], "outcome": "sent"},
    {"field": "errcode", "values": [-1, 45009], "outcome": "temporary", "slow_down": True},
    {"field": "errcode", "values": [40014], "outcome": "temporary", "reason": "provider_denied"},
    {"field": "errcode", "outcome": "permanent"},
]


def _holds(body: Any, **rule: Any) -> bool:
    rules = [AnswerRule(**{"outcome": "permanent"} | rule)]
    return first_match(rules, 200, json.dumps(body).encode()) is not None


@pytest.mark.parametrize(
    ("body", "rule", "holds"),
    [
        ({"code": 0}, {"field": "code"}, True),
        ({"code": ""}, {"field": "code"}, True),
        ({"code": False}, {"field": "code"}, True),
        ({"code": {}}, {"field": "code"}, True),
        ({"code": None}, {"field": "code"}, False),
        ({"other": 1}, {"field": "code"}, False),
        ([{"code": 1}], {"field": "0.code", "values": [1]}, True),
        ("text", {"field": "code"}, False),
        ({"code": "0"}, {"field": "code", "values": [0]}, True),
        ({"code": 0}, {"field": "code", "values": ["0"]}, True),
        ({"code": 0.0}, {"field": "code", "values": [0]}, True),
        ({"code": 1.5}, {"field": "code", "values": ["1.5"]}, True),
        ({"code": "00"}, {"field": "code", "values": [0]}, False),
        ({"code": 1}, {"field": "code", "values": [True]}, False),
        ({"code": True}, {"field": "code", "values": [1]}, False),
        ({"code": "true"}, {"field": "code", "values": [True]}, False),
        ({"code": True}, {"field": "code", "values": [True]}, True),
        ({"code": "ok"}, {"field": "code", "values": ["OK"]}, False),
        ({"code": [0]}, {"field": "code", "values": [0]}, False),
        ({"code": 2}, {"field": "code", "values": [1, 2]}, True),
        ({"code": 0}, {"field": "code", "not_values": [0, 1]}, False),
        ({"code": "1"}, {"field": "code", "not_values": [0, 1]}, False),
        ({"code": 2}, {"field": "code", "not_values": [0, 1]}, True),
        ({"code": [0]}, {"field": "code", "not_values": [0]}, True),
        ({"code": None}, {"field": "code", "not_values": [0]}, False),
        ({}, {"field": "code", "not_values": [0]}, False),
        ({}, {"status": [200]}, True),
        ({}, {"status": [201, 202]}, False),
        ({"code": 1}, {"status": [201], "field": "code"}, False),
    ],
)
def test_when_a_rule_holds(body: Any, rule: dict[str, Any], holds: bool) -> None:
    assert _holds(body, **rule) is holds


def test_the_first_rule_that_holds_decides() -> None:
    rules = [AnswerRule(**rule) for rule in ROBOT]
    found = first_match(rules, 200, b'{"errcode": 45009}')
    assert found == (2, rules[1])
    assert first_match(rules, 200, b'{"other": 1}') is None


@pytest.mark.parametrize("body", [None, b"", b"OK", b"\xff", b"[" * 60_000, b'{"errcode": 0'])
def test_a_body_that_cannot_be_read(body: bytes | None) -> None:
    rules = [AnswerRule(**rule) for rule in ROBOT]
    with pytest.raises(Unreadable):
        first_match(rules, 200, body)
    by_status = AnswerRule(status=(200,), outcome="sent")
    assert first_match([by_status, *rules], 200, body) == (1, by_status)
    elsewhere = AnswerRule(status=(400,), field="code", outcome="sent")
    assert first_match([elsewhere], 200, body) is None


def _robot(sandbox: Sandbox, body: str, status: int = 200, **headers: str) -> Any:
    sandbox.script("/hook/1", Answer(status=status, body=body, headers=headers))
    return build_provider(hook_settings(answers=ROBOT)), hook(f"{sandbox.http_url}/hook/1")


@pytest.mark.parametrize("body", ['{"errcode": 0}', '{"errcode": "0"}', '{"other": 1}'])
def test_a_success(sandbox: Sandbox, body: str) -> None:
    provider, notification = _robot(sandbox, body)
    assert provider.send(notification, deadline=2).code == "200"


@pytest.mark.parametrize(
    ("code", "expected", "rule"),
    [
        (310000, (PermanentFailure, Reason.REFUSED), 4),
        (40014, (TemporaryFailure, Reason.PROVIDER_DENIED), 3),
        (-1, (TemporaryFailure, Reason.PROVIDER_BUSY), 2),
    ],
)
def test_an_error_in_a_200(
    sandbox: Sandbox, code: int, expected: tuple[type, Reason], rule: int
) -> None:
    body = json.dumps({"errcode": code, "errmsg": "keywords not in content"})
    error = failure(*_robot(sandbox, body))
    assert kind(error) == expected
    assert (error.code, error.detail) == ("200", f"HTTP 200, rule {rule}")
    assert error.slow_down == (rule == 2)
    assert error.answer == body


def test_a_rule_keeps_what_the_headers_ask_for(sandbox: Sandbox) -> None:
    sandbox.script("/hook/1", Answer(body='{"errcode": -1}', retry_after="90"))
    provider = build_provider(hook_settings(answers=ROBOT))
    error = failure(provider, hook(f"{sandbox.http_url}/hook/1"))
    assert error.retry_after == 90.0


@pytest.mark.parametrize("body", ["", "OK", "<html>", '{"errcode": 0', '"' + "x" * 70_000 + '"'])
def test_a_success_that_nobody_can_read_is_unknown(sandbox: Sandbox, body: str) -> None:
    error = failure(*_robot(sandbox, body))
    assert kind(error) == (UnknownOutcome, Reason.CONNECTION_LOST)
    assert error.detail == "HTTP 200 with an answer that cannot be read"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n{} ",
    ],
)
def test_a_success_that_breaks_off_is_unknown(answer: bytes) -> None:
    with Peer(answering(answer)) as peer:
        provider = build_provider(sms_settings(peer.url, answers=ROBOT))
        assert type(failure(provider, sms())) is UnknownOutcome


def test_a_failure_that_nobody_can_read_is_a_failure(sandbox: Sandbox) -> None:
    error = failure(*_robot(sandbox, "<html>", status=503))
    assert kind(error) == (TemporaryFailure, Reason.PROVIDER_BUSY)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"outcome": "unknown"}, (UnknownOutcome, Reason.CONNECTION_LOST)),
        ({"outcome": "temporary"}, (TemporaryFailure, Reason.PROVIDER_ERROR)),
        (
            {"outcome": "permanent", "reason": "recipient_refused"},
            (PermanentFailure, Reason.RECIPIENT_REFUSED),
        ),
    ],
)
def test_a_status_can_mean_something_else_too(
    sandbox: Sandbox, rule: dict[str, Any], expected: tuple[type, Reason]
) -> None:
    sandbox.script(PHONE, Answer(status=504))
    rules = [{"status": [504]} | rule]
    provider = build_provider(sms_settings(f"{sandbox.http_url}/sms", answers=rules))
    assert kind(failure(provider, sms())) == expected


def test_a_refusal_of_a_repetition_can_mean_sent(sandbox: Sandbox) -> None:
    sandbox.script(PHONE, Answer(status=409, body='{"id": "m-1"}'))
    rules = [{"status": [409], "outcome": "sent"}]
    provider = build_provider(sms_settings(f"{sandbox.http_url}/sms", answers=rules))
    receipt = provider.send(sms(), deadline=2)
    assert (receipt.code, receipt.provider_id) == ("409", "m-1")


def test_a_rule_about_the_status_holds_for_a_page_that_nobody_can_read() -> None:
    """A proxy answers in HTML: sent again although it may have arrived, it would come twice."""
    page = b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 6\r\n\r\n<html>"
    rules = [*ROBOT, {"status": [504], "outcome": "unknown"}]
    with Peer(answering(page)) as peer:
        for provider, notification in (
            (build_provider(sms_settings(peer.url, answers=rules)), sms()),
            (Profiled(described("plain", answers=rules, allow=LOOPBACK)), hook(peer.url)),
        ):
            error = failure(provider, notification)
            assert kind(error) == (UnknownOutcome, Reason.CONNECTION_LOST)
            assert error.detail == "HTTP 504, rule 5"
