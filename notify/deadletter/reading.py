"""Reading whatever lies in the queue of the dead. Nothing is refused, nothing is lost."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from notify import message
from notify.deadletter.context import context
from notify.deadletter.deaths import cause, died_at, work_death
from notify.deadletter.form import CONTENT_TYPE, decode
from notify.deadletter.parsing import load
from notify.deadletter.value import (
    DeadLetter,
    as_utc,
    canonical,
    fingerprint,
    from_envelope,
    one_line,
    valid_id,
)
from notify.errors import MessageError
from notify.notification import CHANNELS, PRIORITIES
from notify.outcomes import Reason


def read(
    *,
    body: bytes,
    headers: Mapping[str, Any],
    content_type: str | None,
    routing_key: str,
    now: datetime,
) -> DeadLetter:
    """The dead letter in any message: one of our own, a work message, or anything else."""
    try:
        if content_type == CONTENT_TYPE:
            letter = decode(body)
        else:
            letter = _read_work(body, headers, routing_key, now)
    except MessageError as error:
        letter = _unparseable(body, headers, routing_key, now, str(error))
    except Exception as error:  # nothing that anybody publishes may stop the archiver
        problem = f"could not be read: {type(error).__name__}"
        letter = _unparseable(body, headers, routing_key, now, problem)
    return letter.evolve(headers=context(headers))


def _read_work(
    body: bytes, headers: Mapping[str, Any], routing_key: str, now: datetime
) -> DeadLetter:
    notification = _notification(body, headers)
    death = work_death(headers)
    try:
        if "id" not in notification:  # a new one would be made up at every reading
            raise MessageError("id: is missing")
        envelope = message.decode(headers, notification)
    except MessageError as error:
        reason, detail = cause(death, str(error), routing_key)
        letter = _invalid(body, headers, notification, routing_key, now)
    else:
        reason, detail = cause(death, "", routing_key)
        letter = from_envelope(envelope, reason, detail, (), now)
        letter = letter.evolve(notification=notification)
    return letter.evolve(reason=str(reason), detail=one_line(detail), dead_at=died_at(death, now))


def _notification(body: bytes, headers: Mapping[str, Any]) -> dict[str, Any]:
    if headers.get("task") != message.TASK:
        raise MessageError("is not a notification")
    try:
        _, keywords, _ = load(body)
        notification = keywords["notification"]
    except (TypeError, ValueError, KeyError):
        raise MessageError("body is not a task message in JSON") from None
    if not isinstance(notification, dict):
        raise MessageError("notification: must be an object")
    return notification


def _invalid(
    body: bytes,
    headers: Mapping[str, Any],
    notification: dict[str, Any],
    routing_key: str,
    now: datetime,
) -> DeadLetter:
    """A work message whose notification or headers are not as they should be."""
    known_id = valid_id(notification.get("id"))
    recipient = notification.get("recipient")
    return _base(headers, routing_key, now).evolve(
        id=known_id,
        digest=fingerprint(canonical(notification)),
        recipient=recipient if isinstance(recipient, str) else None,
        notification=notification,
        raw=None if known_id else body,
    )


def _unparseable(
    body: bytes, headers: Mapping[str, Any], routing_key: str, now: datetime, problem: str
) -> DeadLetter:
    letter = _base(headers, routing_key, now)
    known_id = valid_id(headers.get(message.ID))
    return letter.evolve(
        id=known_id, digest=fingerprint(body), detail=one_line(problem), raw=bytes(body)
    )


def _base(headers: Mapping[str, Any], routing_key: str, now: datetime) -> DeadLetter:
    channel, _, priority = routing_key.partition(".")
    return DeadLetter(
        reason=str(Reason.UNPARSEABLE),
        generation=_counter(headers, message.GENERATION),
        attempt=_counter(headers, message.ATTEMPT),
        channel=channel if channel in CHANNELS else None,
        priority=priority if priority in PRIORITIES else None,
        dead_at=as_utc(now),
    )


def _counter(headers: Mapping[str, Any], name: str) -> int:
    value = headers.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        return 1
    return int(value)
