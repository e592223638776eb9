"""Dead letters as a busy month leaves them behind, the same ones each time."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from notify.deadletter import DeadLetter
from notify.deadletter.value import fingerprint
from notify.outcomes import Reason

LAST: Final = datetime(2027, 3, 1, 12, tzinfo=UTC)
SPAN: Final = timedelta(days=100)
FIRST: Final = LAST - SPAN
RARE: Final = (Reason.POISON, Reason.CONFLICT, Reason.UNROUTABLE)
OFTEN: Final = (Reason.RECIPIENT_REFUSED, Reason.RETRIES_EXHAUSTED, Reason.REFUSED)
CODES: Final = ("550", "451", "21211", "30003", "30005", "421", "17")
BATCH: Final = 10_000
_TEXT: Final = """
your order parcel code invoice account appointment tomorrow today confirm reply delivery
address driver between morning evening balance statement password reset within minutes
please thank welcome reminder Straße später für möglich заказ доставка завтра
"""
_WORDS: Final = tuple(_TEXT.split())


def letters(begin: int, end: int, total: int) -> Iterator[DeadLetter]:
    """Those with these numbers, of ``total`` that are spread over the span evenly."""
    for number in range(begin, end):
        yield letter(number, FIRST + SPAN * number / total)


def letter(number: int, dead_at: datetime) -> DeadLetter:
    chance = random.Random(number)
    reason = chance.choice(RARE if number % 1000 == 0 else OFTEN)
    channel = chance.choice(("sms", "sms", "email"))
    phone = channel == "sms"
    person = chance.randrange(300_000)
    recipient = f"+4917{person:07}" if phone else f"person.{person}@example.com"
    id = f"file-{number // BATCH:08x}:{number % BATCH}" if number % 3 else f"n-{number}"
    labels = {"team": f"team-{number % 9}", "customer": f"c-{chance.randrange(20_000)}"}
    content = {"body": _text(chance, 15 if phone else 90), "data": {"order": number}}
    notification: dict[str, Any] = {"v": 1, "id": id, "channel": channel, "recipient": recipient}
    notification |= content | {"labels": labels, "created_at": dead_at.isoformat()}
    if not phone:
        notification["subject"] = _text(chance, 6)
    return DeadLetter(
        id=id,
        digest=fingerprint(id.encode()),
        channel=channel,
        priority="normal",
        recipient=recipient,
        reason=str(reason),
        detail="the gateway refused it",
        notification=notification,
        attempts=tuple(_attempts(chance, number, dead_at)),
        labels=labels,
        first_queued=dead_at - timedelta(hours=1),
        dead_at=dead_at,
    )


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def _attempts(chance: random.Random, number: int, dead_at: datetime) -> Iterator[dict[str, Any]]:
    many = chance.choice((1, 1, 3, 4))
    for attempt in range(many):
        yield {
            "generation": 1,
            "attempt": attempt + 1,
            "at": (dead_at - timedelta(minutes=10 * (many - attempt))).isoformat(),
            "provider": f"gateway-{number % 4}",
            "outcome": "temporary" if attempt + 1 < many else "permanent",
            "reason": "provider_busy",
            "detail": "",
            "code": chance.choice(CODES),
            "ms": chance.randrange(20, 900),
        }
