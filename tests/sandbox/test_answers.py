import json
from typing import Any

import pytest

from notify.errors import InvalidInput
from notify.sandbox import ACCEPT, EVERYONE, SMTP_CONNECTION, Answer
from notify.sandbox.scripts import Scripts

FULL = Answer(
    status=429,
    body="später",
    headers={"X-Reason": "quota"},
    delay=0.5,
    retry_after="17",
    reset="after",
    drip=0.1,
    smtp_stage="rcpt",
    smtp_reply="451 4.7.1 Try again later",
    smtp_drop=True,
)


@pytest.mark.parametrize("answer", [ACCEPT, FULL, Answer(delay=2)])
def test_an_answer_survives_json(answer: Answer) -> None:
    assert Answer.from_json(json.loads(json.dumps(answer.to_json()))) == answer


def test_missing_keys_have_their_defaults() -> None:
    assert Answer.from_json({"status": 503}) == Answer(status=503)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "answer: must be an object"),
        ({"stauts": 503}, "stauts: unknown key; known keys: status, body"),
        ({"status": "503"}, "status: must be int"),
        ({"status": True}, "status: must be int"),
        ({"status": 99}, "status: must be between"),
        ({"body": 1}, "body: must be str or null"),
        ({"headers": {"A B": "x"}}, "'A B' is not a header name"),
        ({"headers": {"A": "x\r\nB: y"}}, "no header can carry"),
        ({"headers": {"A": 1}}, "no header can carry"),
        ({"retry_after": "1\r\n"}, "retry_after"),
        ({"delay": -1}, "delay: must be a time"),
        ({"drip": float("nan")}, "drip: must be a time"),
        ({"reset": "now"}, "reset: must be"),
        ({"smtp_stage": "quit", "smtp_drop": True}, "smtp_stage: must be one of connect"),
        ({"smtp_stage": "rcpt"}, "needs smtp_reply, smtp_drop or reset"),
        ({"smtp_reply": "451 no"}, "smtp_stage: is missing"),
        ({"smtp_drop": True}, "smtp_stage: is missing"),
        ({"smtp_stage": "rcpt", "smtp_reply": "250 fine"}, "smtp_reply: must be a code"),
        ({"smtp_stage": "dot", "smtp_reply": "451 a\r\n250 b"}, "smtp_reply: must be a code"),
    ],
)
def test_a_wrong_answer_is_refused_by_name(data: Any, problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Answer.from_json(data)
    assert problem in str(caught.value)


def test_a_stage_before_the_recipient_needs_the_connection_script() -> None:
    greylisted = Answer(smtp_stage="mail", smtp_reply="451 no")
    with pytest.raises(InvalidInput, match=r"script 'smtp:\*' instead"):
        Scripts().script("a@example.org", [greylisted], ACCEPT)


def test_a_recipients_stage_cannot_be_scripted_for_connections() -> None:
    refused = Answer(smtp_stage="rcpt", smtp_reply="550 no")
    with pytest.raises(InvalidInput, match="belongs to a recipient"):
        Scripts().script(SMTP_CONNECTION, [], refused)


def test_a_script_needs_a_recipient() -> None:
    with pytest.raises(InvalidInput, match="recipient"):
        Scripts().script("", [], ACCEPT)


def test_everyone_is_whoever_has_no_script() -> None:
    scripts = Scripts()
    scripts.script(EVERYONE, [Answer(status=500)], Answer(status=501))
    scripts.script("+491", [], Answer(status=201))
    taken = [scripts.take(to).status for to in ("+491", "+492", "+493", "+492")]
    assert taken == [201, 500, 501, 501]


def test_a_new_script_replaces_the_old_one() -> None:
    scripts = Scripts()
    scripts.script("+491", [Answer(status=500)], ACCEPT)
    scripts.script("+491", [], ACCEPT)
    assert scripts.take("+491") == ACCEPT
