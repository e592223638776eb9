"""Reads answers as a profile says: is it a success, and what does its code mean? Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from notify.channels.bodies import Unreadable, find, first_match, read, same
from notify.channels.verdicts import Answer, verdict
from notify.channels.waits import date_of, patience_asked, wait_asked
from notify.config.answers import REASONS, AnswerRule
from notify.config.profiles import Answers, Code, Meaning
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)

# Clocks that are closer than that have nothing to do with a signature that is refused.
_CLOSE: Final = 60.0
_GONE: Final = 410
_FAILURES: Final[dict[str, type[DeliveryFailure]]] = {
    "temporary": TemporaryFailure,
    "permanent": PermanentFailure,
    "unknown": UnknownOutcome,
}


class TokenRefused(TemporaryFailure):
    """The message was not taken, for its token; another token may do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What the body of an answer says; ``code`` is None where it has none."""

    code: Any = None
    message: str = ""
    readable: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Reads the answers of one provider.

    ``rules`` are those of the configuration, and come first. ``shown`` says whether a code
    that nobody has listed may be kept: it could be something private.
    """

    answers: Answers
    rules: Sequence[AnswerRule] = ()
    shown: Callable[[str], bool] = lambda code: False
    # Whether it is the recipient who answers, and wants nothing more with a 410.
    by_recipient: bool = False

    def judge(self, answer: Answer, now: datetime) -> DeliveryFailure | None:
        """The failure that an answer means, or None if the message was accepted."""
        failure = self._judge(answer, now)
        if failure is not None and failure.reason is Reason.ENDPOINT_GONE:
            failure.suppress |= self.by_recipient and answer.status == _GONE
        return failure

    def _judge(self, answer: Answer, now: datetime) -> DeliveryFailure | None:
        if self.rules and _decides(self.rules, answer):
            return verdict(answer, self.rules, now)
        said = listen(self.answers, answer)
        listed = lookup(self.answers, answer.status, said)
        if listed is not None:
            return _by_code(listed, answer, now)
        if 200 <= answer.status <= 299:
            return self._success(answer, said)
        failure = verdict(answer, (), now)
        return self._with_code(failure, said) if failure else None

    def _success(self, answer: Answer, said: Said) -> DeliveryFailure | None:
        success = self.answers.success
        if success is None and said.code is None:
            return None
        if any(same(said.code, wanted) for wanted in success or ()):
            return None
        status = str(answer.status)
        if said.code is None:
            detail = f"HTTP {status} with an answer that cannot be read"
            return UnknownOutcome(Reason.CONNECTION_LOST, detail, code=status)
        failure = _failure(self.answers.otherwise, f"HTTP {status} with an error", status)
        return failure and self._with_code(failure, said)

    def _with_code(self, failure: DeliveryFailure, said: Said) -> DeliveryFailure:
        code = str(said.code) if isinstance(said.code, int | str) else ""
        if code and code.isascii() and len(code) <= 32 and self.shown(code):
            failure.code = code
        return failure


def listen(answers: Answers, answer: Answer) -> Said:
    """What an answer says by its body."""
    if not answer.whole:
        return Said(readable=False)
    if answers.format == "text":
        text = answer.body.decode(errors="replace").strip()
        return Said(code=text or None, message=text)
    try:
        value = read(answer.body)
    except Unreadable:
        return Said(readable=False)
    message = _first(value, answers.message)
    return Said(
        code=_first(value, answers.code), message=message if isinstance(message, str) else ""
    )


def lookup(answers: Answers, status: int, said: Said) -> Code | None:
    """The first entry of the profile's table that is about this answer."""
    return next((code for code in answers.codes if _holds(code, status, said)), None)


def _holds(code: Code, status: int, said: Said) -> bool:
    if code.status is not None and status != code.status:
        return False
    if code.code is not None and not same(said.code, code.code):
        return False
    message = said.message.lower()
    return not code.contains or any(part.lower() in message for part in code.contains)


def _decides(rules: Sequence[AnswerRule], answer: Answer) -> bool:
    try:
        return first_match(rules, answer.status, answer.body if answer.whole else None) is not None
    except Unreadable:
        return True


def _first(value: Any, paths: Sequence[str]) -> Any:
    found = (find(value, path) for path in paths)
    return next((item for item in found if item is not None), None)


def _by_code(listed: Code, answer: Answer, now: datetime) -> DeliveryFailure | None:
    checks = listed.action == "check_clock"
    detail = _clock(answer, now) if checks else listed.means
    code = answer.status if listed.code is None else listed.code
    failure = _failure(listed, detail, str(code))
    if failure is not None and listed.action == "refresh_token":
        failure = TokenRefused(failure.reason, detail, code=failure.code)
    if isinstance(failure, TemporaryFailure):
        failure.slow_down = listed.action == "slow_down"
        asked = (patience_asked if failure.slow_down else wait_asked)(answer.headers, now)
        failure.retry_after = listed.wait if asked is None else asked
    if failure is not None:
        failure.suppress = listed.action == "suppress"
    return failure


def _failure(meaning: Meaning, detail: str, code: str) -> DeliveryFailure | None:
    if meaning.outcome == "sent":
        return None
    reason = meaning.reason or REASONS[meaning.outcome][0]
    return _FAILURES[meaning.outcome](reason, detail, code=code)


def _clock(answer: Answer, now: datetime) -> str:
    """Why a signature with a time in it was refused."""
    theirs = date_of(answer.headers)
    if theirs is None:
        return "the signing secret is wrong, or the clock"
    apart = abs((now - theirs).total_seconds())
    if apart > _CLOSE:
        return f"the clock differs by {apart:.0f} s"
    return "the signing secret is wrong"
