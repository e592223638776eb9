"""The token of a provider: fetched when first needed, shared by its threads, renewed in time."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from threading import Condition
from time import monotonic
from typing import Final

from notify.channels.bodies import Unreadable, find, read
from notify.channels.exchange import Call, Exchange
from notify.channels.readings import Reader
from notify.channels.templates import (
    Filling,
    add_query,
    encode_json,
    fill_json,
    fill_pairs,
    fill_url,
)
from notify.channels.verdicts import Answer
from notify.config.profiles import Answers, Token
from notify.notification import Notification
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)

# What a URL, a header and a JSON text can carry, and what is long enough to be hidden.
_TOKEN: Final = re.compile(r"[!-~]{3,8192}")
# Words and short numbers: wherever a profile looks for the code, a token is not taken for one.
_CODE: Final = re.compile(r"-?[0-9]{1,10}|[A-Za-z_]{1,32}")
_MARGIN: Final = 60.0
_SHORTEST: Final = 1.0
_LONGEST: Final = 366 * 86400.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Held:
    """A token, and when it is to be renewed. Two of them are never the same one."""

    text: str = field(repr=False)
    until: float


# What fetches within so many seconds, for the sake of a notification.
Fetch = Callable[[Notification, float], Held]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetcher:
    """Asks the endpoint of a profile for a token."""

    settings: Token
    given: Filling = field(repr=False)
    exchange: Exchange

    def fetch(self, notification: Notification, deadline: float) -> Held:
        """Raises ``TemporaryFailure``: the message was not even sent.

        Nothing of the answer is kept, as it is made for having a secret in it.
        """
        asked = monotonic()
        try:
            answer = self.exchange.ask(self._call(notification), deadline)
            failure = self._reader().judge(answer, datetime.now(UTC))
        except DeliveryFailure as error:
            # The reasons of an unknown outcome would say that the message may have arrived.
            unknown = isinstance(error, UnknownOutcome)
            reason = Reason.CONNECTION_FAILED if unknown else error.reason
            raise TemporaryFailure(reason, f"no token: {error.detail}") from None
        if failure is not None:
            raise _refusal(failure)
        return self._held(answer, asked)

    def _call(self, notification: Notification) -> Call:
        settings, given = self.settings, self.given
        content = fill_json(settings.content, given)
        return Call(
            notification=notification,
            method=settings.method,
            url=add_query(fill_url(settings.url, given), fill_pairs(settings.query, given)),
            body=b"" if content is None else encode_json(content),
        )

    def _reader(self) -> Reader:
        answers = Answers(code=self.settings.code, success=self.settings.success)
        secrets = [text for name, text in self.given.items() if name.startswith("secret.")]
        return Reader(
            answers=answers,
            shown=lambda code: bool(_CODE.fullmatch(code)) and code not in secrets,
        )

    def _held(self, answer: Answer, asked: float) -> Held:
        try:
            said = read(answer.body if answer.whole else b"")
        except Unreadable:
            said = None
        text = find(said, self.settings.field)
        if not isinstance(text, str) or not _TOKEN.fullmatch(text):
            status = str(answer.status)
            problem = f"no token: HTTP {status} with an answer that has none"
            raise TemporaryFailure(Reason.PROVIDER_ERROR, problem, code=status)
        path = self.settings.expires_field
        lifetime = _seconds(find(said, path) if path else None, self.settings.lifetime)
        return Held(text=text, until=asked + lifetime - min(_MARGIN, lifetime / 10))


class Tokens:
    """One token for all threads: one of them fetches it, the others wait for that."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._changed = Condition()
        self._held: Held | None = None
        self._fetching = False
        # Fetches that are over, and what the last one failed with.
        self._rounds = 0
        self._failure: TemporaryFailure | None = None

    def get(self, notification: Notification, ends: float, refused: Held | None = None) -> Held:
        """A token, another than the ``refused`` one. Raises ``TemporaryFailure``.

        ``ends`` is when the attempt is over, by the monotonic clock.
        """
        with self._changed:
            if refused is not None and self._held is refused:
                self._held = None
            held = self._wait(ends)
            if held is not None:
                return held
            self._fetching = True
        return self._renew(notification, ends)

    def _wait(self, ends: float) -> Held | None:
        """A token that is good, or None for whoever is to fetch one."""
        while True:
            if self._held is not None and monotonic() < self._held.until:
                return self._held
            if not self._fetching:
                return None
            over = partial(self._is_over, self._rounds)
            if not self._changed.wait_for(over, max(ends - monotonic(), 0.0)):
                problem = "no token: waited for another fetch"
                raise TemporaryFailure(Reason.CONNECTION_FAILED, problem)
            if self._failure is not None:
                raise _copy(self._failure)

    def _is_over(self, fetch: int) -> bool:
        return self._rounds != fetch

    def _renew(self, notification: Notification, ends: float) -> Held:
        held: Held | None = None
        failure: TemporaryFailure | None = None
        try:
            held = self._fetch(notification, ends - monotonic())
            return held
        except TemporaryFailure as error:
            # Who has more time than this one had tries again.
            failure = _copy(error) if monotonic() < ends else None
            raise
        finally:
            with self._changed:
                self._held, self._failure = held, failure
                self._fetching = False
                self._rounds += 1
                self._changed.notify_all()


def _refusal(failure: DeliveryFailure) -> TemporaryFailure:
    reason = failure.reason
    if isinstance(failure, PermanentFailure):
        reason = Reason.PROVIDER_DENIED
    elif isinstance(failure, UnknownOutcome):
        reason = Reason.PROVIDER_ERROR
    detail = f"no token: {failure.detail}"
    return TemporaryFailure(reason, detail, code=failure.code, retry_after=failure.retry_after)


def _copy(failure: TemporaryFailure) -> TemporaryFailure:
    """The same for another thread: who catches one may change it."""
    return TemporaryFailure(
        failure.reason, failure.detail, code=failure.code, retry_after=failure.retry_after
    )


def _seconds(said: object, otherwise: float) -> float:
    """The lifetime that an answer says, as a number or as a text of digits."""
    if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) <= 10:
        said = int(said)
    if isinstance(said, bool) or not isinstance(said, int | float) or said != said:
        return otherwise
    return float(min(max(said, _SHORTEST), _LONGEST))
