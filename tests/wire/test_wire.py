"""Version 1 of the messages, as files: what an older or newer version of us writes is understood.

During an upgrade, and after going back, both read the same queues and the same ledger. The rules:
what a notification has is never left out silently, so that a field this version does not know is
refused and archived (workers are upgraded before what publishes); all that is beside the
notification (headers, properties, keys of a dead letter or of a step) may be more than is known.
And nothing new is written where nothing new is used.

These files never change. Another form is another version, read beside this one.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from notify.deadletter import form
from notify.errors import MessageError
from notify.ledger.values import NextStep
from notify.message import Envelope, Message, decode_body, encode
from notify.notification import Notification
from tests.unit.values import CREATED

V1 = Path(__file__).parent / "v1"
WORK = sorted(path.stem for path in V1.glob("work-*.json"))
NOW = CREATED.replace(second=5)


def golden(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((V1 / f"{name}.json").read_text(encoding="utf-8"))
    return found


def read(name: str, **more_headers: Any) -> Envelope:
    message = golden(name)
    return decode_body(message["headers"] | more_headers, json.dumps(message["body"]).encode())


def as_golden(message: Message) -> dict[str, Any]:
    """With its random ids replaced."""
    headers = message.headers | {n: "TASK" for n in ("id", "root_id") if n in message.headers}
    return {
        "routing_key": message.routing_key,
        "headers": headers,
        "properties": message.properties | {"correlation_id": "TASK"},
        "body": json.loads(message.body),
    }


def test_every_message_of_version_1_is_here() -> None:
    assert sorted(path.stem for path in V1.iterdir()) == ["dead", *WORK]
    assert len(WORK) == 4


@pytest.mark.parametrize("name", [name for name in WORK if name != "work-foreign"])
def test_it_is_read_and_written_as_ever(name: str) -> None:
    assert as_golden(encode(read(name), now=NOW)) == golden(name)


def test_what_is_read_is_what_was_meant() -> None:
    envelope = read("work-full")
    assert (envelope.attempt, envelope.generation, envelope.provider) == (3, 2, "first")
    assert envelope.alone
    assert envelope.first_queued == CREATED
    assert envelope.notification.html == "<p>See below</p>"
    assert envelope.notification.labels == {"team": "billing"}
    assert envelope.queue == ("email", "urgent")


def test_a_program_in_another_language_is_understood_as_the_readme_says() -> None:
    envelope = read("work-foreign")
    assert (envelope.attempt, envelope.generation) == (1, 1)
    assert envelope.first_queued == envelope.notification.created_at


@pytest.mark.parametrize("name", WORK)
def test_headers_of_a_later_version_change_nothing(name: str) -> None:
    assert read(name, **{"notify-later": {"a": [1]}, "later": True}) == read(name)


def test_a_field_of_a_later_version_is_refused_by_its_name() -> None:
    message = golden("work-least")
    message["body"][1]["notification"]["reply_to"] = "+491701234568"
    with pytest.raises(MessageError, match="reply_to: is not a field"):
        decode_body(message["headers"], json.dumps(message["body"]).encode())


def test_where_nothing_new_is_used_nothing_new_is_written() -> None:
    """A field that is added must be left out while it has no value: older workers go on then."""
    notification = Notification(
        channel="sms", recipient="+491701234567", body="Hello", id="order-7", created_at=CREATED
    )
    written = as_golden(encode(Envelope(notification=notification, first_queued=CREATED), now=NOW))
    assert written == golden("work-least")


def test_a_dead_letter_is_read_and_written_as_ever() -> None:
    message = golden("dead")
    letter = form.decode(json.dumps(message["body"]).encode())
    assert letter.reason == "retries_exhausted"
    assert letter.attempts[0]["provider"] == "first"
    assert as_golden(form.encode(letter, now=NOW)) == message


def test_a_dead_letter_of_a_later_version_keeps_what_is_known() -> None:
    body = golden("dead")["body"]
    known = form.decode(json.dumps(body).encode())
    body |= {"later": [1], "reason": "a_later_reason"}
    body["attempts"][0]["later"] = 1
    letter = form.decode(json.dumps(body).encode())
    assert letter.evolve(reason=known.reason, attempts=known.attempts) == known
    assert letter.reason == "a_later_reason"


def test_a_step_of_a_later_version_keeps_what_is_known() -> None:
    step = '{"do": "delay", "rung": 20, "provider": "first", "later": true}'
    assert NextStep.from_json(step) == NextStep(do="delay", rung=20, provider="first")
