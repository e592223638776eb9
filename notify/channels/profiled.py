"""Any provider with an HTTP interface that a profile describes."""

import re
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

from notify.channels.addresses import Guard
from notify.channels.bodies import find_id
from notify.channels.excerpts import excerpt, names
from notify.channels.exchange import Call, Exchange
from notify.channels.expiry import seconds_left
from notify.channels.readings import Reader, TokenRefused
from notify.channels.signers import SIGNERS, Draft
from notify.channels.templates import (
    Filling,
    add_query,
    as_text,
    encode_json,
    fill_headers,
    fill_json,
    fill_pairs,
    fill_text,
    fill_url,
)
from notify.channels.tokens import Fetcher, Tokens
from notify.config.described import ProfileProvider
from notify.config.matches import accepts
from notify.config.profiles import PLACEHOLDERS, TOKEN, Text
from notify.errors import ConfigError
from notify.notification import Notification
from notify.outcomes import PermanentFailure, Reason, Receipt, TemporaryFailure

_HTTP: Final = re.compile(r"https?://[^/?#]+", re.IGNORECASE)
_FORM: Final = "application/x-www-form-urlencoded"
_PLAIN: Final = "text/plain; charset=utf-8"
# In place of a token, where a request is not to be sent.
_STAND_IN: Final = "***"


class Profiled:
    """Fills the request of a profile, has it signed, and reads the answer by its table."""

    def __init__(
        self,
        settings: ProfileProvider,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        guard = Guard(allow=settings.allow, ports=settings.ports, schemes=settings.schemes)
        self._settings = settings
        self._profile = settings.profile
        self._given = settings.given
        self._clock = clock
        self._url = settings.url_file.get_secret_value() if settings.url_file else None
        self._check_target()
        self._check_headers()
        secrets = [*_forms(self._named_secrets), *self._credentials()]
        self._exchange = Exchange(
            settings,
            guard if settings.guarded else None,
            tls,
            secrets=secrets if self._url is None else [*secrets, *names(self._url)],
        )
        self._tokens = self._token_source()

    @property
    def name(self) -> str:
        return self._settings.name

    @property
    def exchange(self) -> Exchange:
        return self._exchange

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Make the request of the profile, once, and once more where only the token was refused.

        Raises ``DeliveryFailure``.
        """
        ends = monotonic() + deadline
        # What cannot be sent at all needs no token.
        call = self.call(notification)
        if self._tokens is None or self._exchange.dry:
            return self._send(call, deadline)
        held = self._tokens.get(notification, ends)
        with suppress(TokenRefused):
            return self._send(self.call(notification, held.text), _left(ends))
        newer = self._tokens.get(notification, ends, refused=held)
        call = self.call(notification, newer.text, (held.text,))
        return self._send(call, _left(ends))

    def _send(self, call: Call, deadline: float) -> Receipt:
        path = self._profile.answers.id
        reader = Reader(
            answers=self._profile.answers,
            rules=self._settings.answers,
            shown=lambda code: self._may_show(code, call),
            by_recipient=self._settings.guarded,
        )
        return self._exchange.send(
            call, deadline, lambda body: find_id(body, path) if path else "", judge=reader.judge
        )

    def call(
        self, notification: Notification, token: str = _STAND_IN, older: Iterable[str] = ()
    ) -> Call:
        """The whole request. Raises ``PermanentFailure`` where it cannot be made.

        ``older`` tokens are hidden in its answer like the one it has.
        """
        if not accepts(self._settings, notification):
            # It would get what is meant for others: a signature, or a token.
            problem = "the recipient is not one of this provider's"
            raise PermanentFailure(Reason.ADDRESS_FORBIDDEN, problem)
        draft = self.draft(notification, token)
        most = self._profile.text.max_request_bytes
        if most is not None and len(draft.body) > most:
            problem = f"the request has {len(draft.body)} bytes; {self._profile.name} takes {most}"
            raise PermanentFailure(Reason.INVALID, problem)
        return Call(
            notification=notification,
            method=draft.method,
            url=draft.url,
            body=draft.body,
            headers=draft.headers,
            secrets=() if self._tokens is None else (token, *older, *self._credentials(token)),
        )

    def draft(self, notification: Notification, token: str = _STAND_IN) -> Draft:
        """The request with its signature."""
        now, request = self._clock(), self._profile.request
        filling = {**self._filling(notification, now), **self._token(token)}
        kind, body = self._body(notification, filling)
        headers = {"Content-Type": kind} if body else {}
        draft = Draft(
            id=notification.id,
            method=request.method,
            url=add_query(
                fill_url(self._url or request.url, filling), fill_pairs(request.query, filling)
            ),
            headers={**headers, **self._login(filling), **fill_headers(request.headers, filling)},
            body=body,
        )
        if request.signer is None:
            return draft
        return SIGNERS[request.signer](draft, self._named_secrets, now)

    def _body(self, notification: Notification, filling: Filling) -> tuple[str, bytes]:
        request = self._profile.request
        if request.data_as_is and notification.data is not None:
            return "application/json", encode_json(notification.data)
        if request.form is not None:
            return _FORM, urlencode(fill_pairs(request.form, filling)).encode()
        if request.plain is not None:
            return _PLAIN, (fill_text(request.plain, filling) or "").encode()
        if request.content is None:
            return "", b""
        return "application/json", encode_json(fill_json(request.content, filling))

    def _login(self, filling: Filling) -> dict[str, str]:
        request = self._profile.request
        bearer = fill_text(request.bearer, filling) if request.bearer else None
        if bearer is not None:
            return {"Authorization": f"Bearer {bearer}"}
        if request.basic is None:
            return {}
        return {"Authorization": f"Basic {_basic(request.basic, filling)}"}

    def _filling(self, notification: Notification, now: float) -> Mapping[str, Any]:
        priorities = self._profile.priorities
        priority: Any = notification.priority
        return {
            **self._given,
            **self._texts(notification),
            "id": notification.id,
            "recipient": notification.recipient,
            "html": notification.html,
            "data": notification.data,
            "priority": priorities.get(priority, priority),
            "timestamp": str(int(now)),
            "timestamp_ms": str(int(now * 1000)),
            "validity": seconds_left(notification, now, self._profile.request.max_validity),
        }

    def _texts(self, notification: Notification) -> dict[str, str | None]:
        """Subject, body, both together, and what there is without the subject."""
        rules = self._profile.text
        table = str.maketrans(rules.escapes)
        subject, body = (
            None if text is None else text.translate(table)
            for text in (notification.subject, notification.body)
        )
        data = as_text(notification.data).translate(table)
        text = "\n".join(part for part in (subject, body) if part) or data
        found = {"subject": subject, "body": body, "text": text, "message": body or data or subject}
        if _fits(text, rules):
            return found
        if not rules.truncate:
            raise PermanentFailure(Reason.INVALID, _too_long(text, rules, self._profile.name))
        return {name: each and _cut(each, rules) for name, each in found.items()}

    def _may_show(self, code: str, call: Call) -> bool:
        private = self._exchange.private(call.notification, call.secrets)
        return excerpt(code.encode(), private) == code

    def _token_source(self) -> Tokens | None:
        settings = self._profile.token
        if settings is None:
            return None
        return Tokens(Fetcher(settings=settings, given=self._given, exchange=self._exchange).fetch)

    def _token(self, text: str) -> dict[str, str]:
        return {} if self._profile.token is None else {TOKEN: text}

    @property
    def _named_secrets(self) -> dict[str, str]:
        start = "secret."
        return {n.removeprefix(start): t for n, t in self._given.items() if n.startswith(start)}

    def _credentials(self, token: str = _STAND_IN) -> Iterator[str]:
        if self._profile.request.basic is not None:
            yield _basic(self._profile.request.basic, {**self._given, **self._token(token)})

    def _check_target(self) -> None:
        """A URL that is all from the configuration must be one. Raises ``ConfigError``."""
        urls = [] if self._settings.guarded else [self._url or self._profile.request.url]
        urls += [] if self._profile.token is None else [self._profile.token.url]
        if not all(_HTTP.match(fill_url(url, self._given)) for url in urls):
            problem = "the URL of its requests must start with http:// or https:// and a host"
            raise ConfigError([f"provider {self.name}: {problem}"])

    def _check_headers(self) -> None:
        """A secret that no header can carry is a mistake here, not in each notification.

        Raises ``ConfigError``.
        """
        request = self._profile.request
        bearer = {"Authorization": request.bearer} if request.bearer else {}
        filling = {**dict.fromkeys((*PLACEHOLDERS, TOKEN), "x"), **self._given}
        try:
            fill_headers({**request.headers, **bearer}, filling)
        except PermanentFailure as failure:
            raise ConfigError([f"provider {self.name}: {failure.detail}"]) from None


def _left(ends: float) -> float:
    """The seconds that are left after getting a token. Raises ``TemporaryFailure``."""
    left = ends - monotonic()
    if left <= 0:
        raise TemporaryFailure(Reason.CONNECTION_FAILED, "no time was left to send")
    return left


def _basic(pair: tuple[str, str], filling: Filling) -> str:
    login = ":".join(fill_text(part, filling) or "" for part in pair)
    return b64encode(login.encode()).decode()


def _forms(secrets: Mapping[str, str]) -> Iterable[str]:
    """Secrets as they are, and as they are used."""
    for secret in secrets.values():
        yield from (secret, secret.removeprefix("whsec_"))
        if "://" in secret:
            yield from names(secret)


def _fits(text: str, rules: Text) -> bool:
    most = rules.max_bytes, rules.max_characters
    sizes = len(text.encode()), len(text)
    return all(limit is None or size <= limit for size, limit in zip(sizes, most, strict=True))


def _too_long(text: str, rules: Text, name: str) -> str:
    if rules.max_characters is not None and len(text) > rules.max_characters:
        return f"the text has {len(text)} characters; {name} takes {rules.max_characters}"
    return f"the text has {len(text.encode())} bytes; {name} takes {rules.max_bytes}"


def _cut(text: str, rules: Text) -> str:
    """The text, and three dots in place of its end where it is too long."""
    if _fits(text, rules):
        return text
    text = text[: (rules.max_characters or len(text)) - 1]
    most = (rules.max_bytes or len(text.encode()) + 3) - len("…".encode())
    return text.encode()[: max(most, 0)].decode(errors="ignore") + "…"
