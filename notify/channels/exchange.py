"""One HTTP exchange: what every HTTP provider does, and what came of it."""

import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from notify.channels.addresses import Forbidden, Guard
from notify.channels.asking import ask
from notify.channels.deadlines import Deadline
from notify.channels.excerpts import Private, excerpt, private_to
from notify.channels.guarded import Connections
from notify.channels.outlines import (
    Headers,
    Outline,
    Request,
    by_name,
    check_header,
    merged,
    outline,
)
from notify.channels.perthread import PerThread
from notify.channels.templates import encode_json
from notify.channels.tls import trust
from notify.channels.verdicts import Answer, verdict
from notify.channels.ways import Proxy, Way, parse_proxy
from notify.config.providers import HttpProvider
from notify.errors import ConfigError
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, Receipt

# Of so many URLs the outlines of requests are remembered; each has some 2 kB.
_OUTLINES: Final = 256
_BASE: Final = {
    "User-Agent": "notify/0.1",
    "Accept": "application/json, */*;q=0.1",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What to send: a value as JSON, or ``body`` as it is; and for whom.

    ``secrets`` are those of this call, beside the provider's own.
    """

    notification: Notification
    method: str = "POST"
    url: str
    content: object = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)


Judge = Callable[[Answer, datetime], DeliveryFailure | None]


class Tap:
    """Sees what goes out and what comes back, for whoever tries a provider out."""

    # Whether nothing at all is to be sent.
    dry = False

    def asking(self, request: Request, private: Private) -> None:
        """Called before a message is sent; what it raises prevents that."""

    def told(self, answer: Answer, private: Private) -> None:
        """Called with the whole answer."""


class Exchange:
    """Makes requests for one provider; connections are kept per thread.

    Never follows a redirect, keeps no cookies, and takes nothing from the environment.
    """

    def __init__(
        self,
        settings: HttpProvider,
        guard: Guard | None = None,
        tls: ssl.SSLContext | None = None,
        *,
        secrets: Iterable[str] = (),
    ) -> None:
        """``secrets`` are further ones that must not be kept of an answer."""
        trusted = tls or trust(settings.ca_file)
        way = Way(guard=guard, proxy=parse_proxy(settings.proxy))
        self._name = settings.name
        self._rules = settings.answers
        self._guard = guard or Guard()
        self._headers = _headers(settings)
        self._secrets = (*_secrets(settings, way.proxy), *secrets)
        self._proxied = way.proxy.headers if way.proxy else None
        self._outline = lru_cache(_OUTLINES)(self._draw)
        self.tap: Tap | None = None
        self._connections = PerThread(lambda: Connections(trusted, way))

    def send(
        self,
        call: Call,
        deadline: float,
        read_id: Callable[[bytes], str] = lambda body: "",
        sign: Callable[[bytes], Mapping[str, str]] = lambda body: {},
        judge: Judge | None = None,
    ) -> Receipt:
        """Make the request, once. Raises ``DeliveryFailure``.

        ``sign`` gives the headers that depend on the bytes of the body; ``judge`` reads the
        answer, instead of the rules of the configuration alone.
        """
        request = self._prepare(call, sign)
        if self.tap is not None:
            self.tap.asking(request, self.private(call.notification, call.secrets))
        answer = self._answer(request, deadline)
        if self.tap is not None:
            self.tap.told(answer, self.private(call.notification, call.secrets))
        now = datetime.now(UTC)
        failure = judge(answer, now) if judge else verdict(answer, self._rules, now)
        if failure is not None:
            private = self.private(call.notification, call.secrets)
            failure.answer = excerpt(answer.body, private)
            raise failure
        provider_id = read_id(answer.body) if answer.whole else ""
        return Receipt(provider=self._name, provider_id=provider_id, code=str(answer.status))

    def ask(self, call: Call, deadline: float) -> Answer:
        """Make a request that is no message's, once. Raises ``DeliveryFailure``."""
        return self._answer(self._prepare(call, lambda body: {}), deadline)

    @property
    def dry(self) -> bool:
        """Whether nothing at all is to be sent."""
        return self.tap is not None and self.tap.dry

    def private(self, notification: Notification, further: Iterable[str] = ()) -> Private:
        """What must not be kept, or shown, of an exchange about this notification."""
        return private_to(notification, (*self._secrets, *further))

    def _answer(self, request: Request, deadline: float) -> Answer:
        connections = self._connections.get()
        with Deadline(deadline) as limit:
            connections.line.begin(limit)
            return ask(connections, request)

    def _prepare(self, call: Call, sign: Callable[[bytes], Mapping[str, str]]) -> Request:
        data = encode_json(call.content) if call.body is None else call.body
        further = call.headers, sign(data)
        try:
            return merged(self._headers, further, self._outline(call.method, call.url), data)
        except Forbidden as error:
            raise PermanentFailure(Reason.ADDRESS_FORBIDDEN, str(error)) from None
        except ValueError:
            raise PermanentFailure(Reason.REFUSED, "the URL cannot be used") from None

    def _draw(self, method: str, url: str) -> Outline:
        drawn = outline(method, url, self._proxied)
        self._guard.check_scheme(urlsplit(drawn.url).scheme)
        return drawn


def _headers(settings: HttpProvider) -> Headers:
    token = settings.token_file
    bearer = {"Authorization": f"Bearer {token.get_secret_value()}"} if token else {}
    values = by_name(_BASE) | by_name(settings.headers) | by_name(bearer)
    for header, value in values.values():
        try:
            check_header(header, value)
        except ValueError:
            problem = f"provider {settings.name}: header {header} has a value that cannot be sent"
            raise ConfigError([problem]) from None
    return values


def _secrets(settings: HttpProvider, proxy: Proxy | None) -> list[str]:
    token = settings.token_file
    own = [*settings.headers.values(), *([token.get_secret_value()] if token else [])]
    if proxy is None or proxy.credentials is None:
        return own
    return [*own, *proxy.credentials, ":".join(proxy.credentials)]
