"""What a mail server's replies mean. Pure."""

import re
from enum import StrEnum
from typing import Final

from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)

_ENHANCED: Final = re.compile(r"([245]\.[0-9]{1,3}\.[0-9]{1,3})(?:\s|$)")
_LATER: Final = frozenset({"4.7.1", "5.7.1"})
_GREYLISTED: Final = re.compile(r"gr[ae]y-?\s?list", re.IGNORECASE)
# More than the server takes in a time. Not "too many recipients", which is about one mail; Postfix
# says "too many recipients from" and "too much mail from" a client.
_RATE: Final = re.compile(
    r"\brate[ -]?(?:limit|exceed)"
    r"|\b(?:sending|submission|message|connection|unusual|maximum|high) rate\b"
    r"|throttl|\btoo (?:fast|frequent)|\bunexpected volume\b"
    r"|\btoo many (?:(?:concurrent|simultaneous|recent|open|smtp) ){0,2}"
    r"(?:connection|session|message|mail|e-mail|request|login)"
    r"|\btoo much (?:mail|e-mail)\b|\btoo many recipients from\b"
    r"|\bconnections? limit|\bmaximum number of (?:concurrent|simultaneous)|\bmessaging limits?\b"
    r"|\bper (?:second|minute|hour|day)\b|\b(?:hourly|daily) (?:limit|quota|sending)",
    re.IGNORECASE,
)
# RFC 3463: congestion, "useful only as a persistent transient error". Gmail says 550 5.4.5 when
# the account's quota of the day is used up, Exchange Online 550 5.1.90.
_CONGESTED: Final = frozenset({"4.4.5", "5.4.5", "5.1.90"})
# RFC 3463: the mailbox (X.2.X), and the X.1.X about the recipient; X.1.7 and X.1.8 are about us.
# Some servers say 450 5.1.1: the basic code decides whether it is for ever.
_MAILBOX: Final = re.compile(r"[45]\.(?:2\.[0-9]+|1\.[12346])")
# Nobody can ever be reached there, whatever the mail: no such mailbox (5.1.1), domain (5.1.2) or
# address (5.1.3), moved without a trace (5.1.6), a domain that takes no mail (RFC 7505: 5.1.10),
# disabled (5.2.1).
_NOBODY: Final = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"})
# RFC 7504: the host knows that this domain takes no mail.
_NULL_MX: Final = 556
# Gmail says 5.2.1 also to a mailbox that gets too much at the moment; that mailbox exists.
_DISABLED: Final = "5.2.1"
# RFC 3463: mailbox full, to "be used as a persistent transient failure", even where it comes with
# 552 or 550: it may be emptied. 552 without it is as often about the size of the mail.
_FULL: Final = "5.2.2"
# RFC 3463: the sender's address is what is refused, and our configuration is to be mended.
_OUR_ADDRESS: Final = frozenset({"5.1.7", "5.1.8"})
_RATE_OF_MAILBOX: Final = re.compile(r"\bat a\s+rate\b|\btoo quickly\b", re.IGNORECASE)
_LOGIN_WANTED: Final = frozenset({530, 534, 535, 538})
_QUEUE_IDS: Final = (
    re.compile(r"\bqueued as ([A-Za-z0-9._-]{1,64})", re.IGNORECASE),
    re.compile(r"\bInternalId=([0-9]{1,64})"),
    re.compile(r"\bid=([A-Za-z0-9._-]{1,64})"),
    re.compile(r"\b[0-9]{10} ([A-Za-z0-9._-]{1,64}) - gsmtp"),
    re.compile(r"^(?:2\.[0-9.]+ )?ok:? +(?=[^ ]*[0-9])([A-Za-z0-9._-]{4,64})$", re.IGNORECASE),
    re.compile(r"2\.0\.0 ([A-Za-z0-9]{4,64}) Message accepted for delivery"),
)


class Stage(StrEnum):
    """Where in a conversation with a mail server we are."""

    CONNECT = "connect"
    TLS = "TLS"
    HELLO = "EHLO"
    LOGIN = "AUTH"
    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    CONTENT = "content"
    DOT = "final dot"


_BEFORE_MAIL: Final = frozenset({Stage.CONNECT, Stage.HELLO})
_IN_MAIL: Final = frozenset({Stage.MAIL, Stage.RCPT, Stage.DATA, Stage.DOT})
# One mail has one recipient: what is said of a mailbox later is said of that one too.
_ABOUT_RECIPIENT: Final = frozenset({Stage.RCPT, Stage.DATA, Stage.DOT})


def still_in_step(stage: Stage, code: int) -> bool:
    """Whether the connection is good for another mail after this refusal."""
    return stage in _IN_MAIL and 400 <= code <= 599 and code != 421


def refusal(stage: Stage, code: int, text: str) -> DeliveryFailure:
    """The failure that a reply other than the hoped-for one means."""
    detail = _detail(stage, code, text)
    if stage is Stage.TLS and code != 421:
        return TemporaryFailure(Reason.TLS_FAILED, detail, code=str(code))
    if 400 <= code <= 499:
        return _deferred(stage, code, text, detail)
    if 500 <= code <= 599:
        return _refused(stage, code, text, detail)
    if stage is Stage.DOT:
        return UnknownOutcome(Reason.CONNECTION_LOST, "no usable reply to the final dot")
    return TemporaryFailure(Reason.PROVIDER_ERROR, f"no usable reply at {stage}")


def _refused(stage: Stage, code: int, text: str, detail: str) -> DeliveryFailure:
    enhanced = enhanced_code(text)
    reason = _temporary_after_all(stage, code, enhanced)
    if reason is not None:
        slow_down = reason is Reason.PROVIDER_BUSY
        return TemporaryFailure(reason, detail, code=str(code), slow_down=slow_down)
    nobody = stage in _ABOUT_RECIPIENT and (enhanced in _NOBODY or code == _NULL_MX)
    about = stage is Stage.RCPT or nobody
    return PermanentFailure(
        Reason.RECIPIENT_REFUSED if about else Reason.REFUSED,
        detail,
        code=str(code),
        suppress=nobody and not (enhanced == _DISABLED and _RATE_OF_MAILBOX.search(text)),
    )


def _temporary_after_all(stage: Stage, code: int, enhanced: str) -> Reason | None:
    """Why a 5xx will not be said to the next attempt, if it will not."""
    # Wrong credentials are ours to mend, and no reason to archive everything meanwhile.
    if stage is Stage.LOGIN or code in _LOGIN_WANTED or enhanced in _OUR_ADDRESS:
        return Reason.PROVIDER_DENIED
    if enhanced in _CONGESTED:
        return Reason.PROVIDER_BUSY
    if stage in _BEFORE_MAIL:
        return Reason.CONNECTION_FAILED
    if enhanced == _FULL and stage in _ABOUT_RECIPIENT:
        return Reason.RECIPIENT_UNAVAILABLE
    return None


def _deferred(stage: Stage, code: int, text: str, detail: str) -> TemporaryFailure:
    greylisted = bool(_GREYLISTED.search(text))
    slow_down = not greylisted and _too_much(text)
    reason = Reason.PROVIDER_ERROR
    if code == 421 or slow_down:
        reason = Reason.PROVIDER_BUSY
    elif greylisted or (code in (450, 451) and enhanced_code(text) in _LATER):
        reason = Reason.GREYLISTED
    elif _about_mailbox(stage, code, text):
        reason = Reason.RECIPIENT_UNAVAILABLE
    return TemporaryFailure(reason, detail, code=str(code), slow_down=slow_down)


def _too_much(text: str) -> bool:
    return enhanced_code(text) in _CONGESTED or bool(_RATE.search(text))


def _about_mailbox(stage: Stage, code: int, text: str) -> bool:
    """Whether a refusal is about this recipient and no other."""
    enhanced = enhanced_code(text)
    if enhanced:
        return stage in _ABOUT_RECIPIENT and bool(_MAILBOX.fullmatch(enhanced))
    return stage is Stage.RCPT and code in (450, 452)


def _detail(stage: Stage, code: int, text: str) -> str:
    """Codes only: the text of a reply usually quotes the recipient."""
    return " ".join(filter(None, (str(code), enhanced_code(text), "at", stage)))


def enhanced_code(text: str) -> str:
    """The enhanced status code a reply begins with, such as ``4.7.1``, or nothing."""
    found = _ENHANCED.match(text)
    return found[1] if found else ""


def lost(
    stage: Stage, *, passed: bool, trouble: str, tls: Reason = Reason.TLS_FAILED
) -> DeliveryFailure:
    """The failure that a broken connection means; ``passed`` if we broke it ourselves.

    ``tls`` is the reason if it broke in the handshake.
    """
    if stage is Stage.DOT:
        reason = Reason.DEADLINE_PASSED if passed else Reason.CONNECTION_LOST
        return UnknownOutcome(reason, "no reply to the final dot")
    detail = f"{'deadline passed' if passed else trouble} at {stage}"
    handshake = stage is Stage.TLS and not passed
    return TemporaryFailure(tls if handshake else Reason.CONNECTION_FAILED, detail)


def queue_id(text: str) -> str:
    """The server's name for the mail, if its last reply has one that we recognise."""
    for pattern in _QUEUE_IDS:
        found = pattern.search(text)
        if found:
            return found[1]
    return ""
