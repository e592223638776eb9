"""What an HTTP answer says about a delivery. Pure.

The status decides, unless a rule of the provider does. Any 2xx is a success: 202, 204 and 207
too, because what else they may mean differs between gateways, and is what rules are for. A
server that answers 5xx is taken at its word that it failed, a 504 included; where a gateway's
504 means "perhaps", a rule can say ``outcome = "unknown"``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from notify.channels.bodies import Unreadable, first_match
from notify.channels.waits import patience_asked, wait_asked
from notify.config.answers import AnswerRule
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)

_BUSY: Final = frozenset({429, 503})
# 421 is about the connection: another one may lead to a server that takes the request.
_TEMPORARY: Final = frozenset({408, 421, 425})
_DENIED: Final = frozenset({401, 402, 403, 407})


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back; ``whole`` unless it broke off or was too long."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = False


def verdict(answer: Answer, rules: Sequence[AnswerRule], now: datetime) -> DeliveryFailure | None:
    """The failure that an answer means, or None if the message was accepted.

    Where only the body of a success says whether it is one, and that body cannot be read,
    the outcome is unknown: the gateway has the message, and neither "sent" nor "not taken"
    was said. Where the status says failure already, it stands, and so do rules about it.
    """
    try:
        match = first_match(rules, answer.status, answer.body if answer.whole else None)
    except Unreadable:
        detail = f"HTTP {answer.status} with an answer that cannot be read"
        return UnknownOutcome(Reason.CONNECTION_LOST, detail, code=str(answer.status))
    if match is not None:
        return _by_rule(answer, *match, now)
    return _by_status(answer, now)


def _by_rule(
    answer: Answer, number: int, rule: AnswerRule, now: datetime
) -> DeliveryFailure | None:
    detail, code = f"HTTP {answer.status}, rule {number}", str(answer.status)
    if rule.outcome == "sent":
        return None
    if rule.outcome == "permanent":
        return PermanentFailure(rule.means, detail, code=code)
    if rule.outcome == "unknown":
        return UnknownOutcome(rule.means, detail, code=code)
    return TemporaryFailure(
        rule.means,
        detail,
        code=code,
        retry_after=(patience_asked if rule.slow_down else wait_asked)(answer.headers, now),
        slow_down=rule.slow_down,
    )


def _by_status(answer: Answer, now: datetime) -> DeliveryFailure | None:
    status = answer.status
    if 200 <= status <= 299:
        return None
    detail, code = f"HTTP {status}", str(status)
    reason = _permanent(status)
    if reason is not None:
        return PermanentFailure(reason, detail, code=code)
    wait = (patience_asked if status in _BUSY else wait_asked)(answer.headers, now)
    return TemporaryFailure(
        _temporary(status),
        detail,
        code=code,
        retry_after=wait,
        # A server that is down for a while says 503, too: with a time it asks for patience.
        slow_down=status == 429 or (status == 503 and wait is not None),
    )


def _permanent(status: int) -> Reason | None:
    if 300 <= status <= 399:
        return Reason.REDIRECTED
    if status == 410:
        return Reason.ENDPOINT_GONE
    if 400 <= status <= 499 and status not in _BUSY | _TEMPORARY | _DENIED:
        return Reason.REFUSED
    return None


def _temporary(status: int) -> Reason:
    if status in _BUSY:
        return Reason.PROVIDER_BUSY
    # Credentials and unpaid bills are ours to mend, no reason to archive everything meanwhile.
    return Reason.PROVIDER_DENIED if status in _DENIED else Reason.PROVIDER_ERROR
