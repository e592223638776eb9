"""One HTTP exchange: what every HTTP provider does, and what came of it."""

import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from requests import PreparedRequest, Request, RequestException, Response
from requests.structures import CaseInsensitiveDict
from requests.utils import check_header_validity
from tenacity import Retrying, retry_if_exception, stop_after_attempt
from urllib3.exceptions import HTTPError

from notify.channels.addresses import Forbidden, Guard
from notify.channels.deadlines import Deadline
from notify.channels.excerpts import Private, excerpt, private_to
from notify.channels.guarded import GuardedAdapter, Line, Stage
from notify.channels.perthread import PerThread
from notify.channels.templates import encode_json
from notify.channels.tls import trust
from notify.channels.verdicts import Answer, verdict
from notify.channels.ways import Proxy, Way, parse_proxy
from notify.config.providers import HttpProvider
from notify.errors import ConfigError
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, Receipt, TemporaryFailure
from notify.outcomes import UnknownOutcome as Unknown

MAX_BODY: Final = 65536
_CHUNK: Final = 8192
_FORESEEN: Final = (RequestException, HTTPError, HTTPException, OSError, ValueError)
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

    def asking(self, request: PreparedRequest, private: Private) -> None:
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
        self.tap = Tap()
        self._adapters = PerThread(lambda: GuardedAdapter(trusted, way))

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
        private = self.private(call.notification, call.secrets)
        self.tap.asking(request, private)
        answer = self._answer(request, deadline)
        self.tap.told(answer, private)
        failure = self._judge(answer, private, judge)
        if failure is not None:
            raise failure
        provider_id = read_id(answer.body) if answer.whole else ""
        return Receipt(provider=self._name, provider_id=provider_id, code=str(answer.status))

    def ask(self, call: Call, deadline: float) -> Answer:
        """Make a request that is no message's, once. Raises ``DeliveryFailure``."""
        return self._answer(self._prepare(call, lambda body: {}), deadline)

    def private(self, notification: Notification, further: Iterable[str] = ()) -> Private:
        """What must not be kept, or shown, of an exchange about this notification."""
        return private_to(notification, (*self._secrets, *further))

    def _answer(self, request: PreparedRequest, deadline: float) -> Answer:
        adapter = self._adapters.get()
        with Deadline(deadline) as limit:
            adapter.line.begin(limit)
            return _ask(adapter, request)

    def _prepare(self, call: Call, sign: Callable[[bytes], Mapping[str, str]]) -> PreparedRequest:
        data = encode_json(call.content) if call.body is None else call.body
        headers = _merged(self._headers, call.headers, sign(data))
        encoded: Any = {name: value.encode() for name, value in headers.items()}
        try:
            request = Request(call.method, call.url, headers=encoded, data=data).prepare()
            self._guard.check_scheme(urlsplit(str(request.url)).scheme)
        except Forbidden as error:
            raise PermanentFailure(Reason.ADDRESS_FORBIDDEN, str(error)) from None
        except ValueError:
            raise PermanentFailure(Reason.REFUSED, "the URL cannot be used") from None
        return request

    def _judge(
        self, answer: Answer, private: Private, judge: Judge | None
    ) -> DeliveryFailure | None:
        now = datetime.now(UTC)
        failure = judge(answer, now) if judge else verdict(answer, self._rules, now)
        if failure is not None:
            failure.answer = excerpt(answer.body, private)
        return failure


def _headers(settings: HttpProvider) -> Mapping[str, str]:
    values = _merged(_BASE, settings.headers)
    if settings.token_file is not None:
        values["Authorization"] = f"Bearer {settings.token_file.get_secret_value()}"
    for header, value in values.items():
        try:
            check_header_validity((header, value))
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


def _merged(*parts: Mapping[str, str]) -> CaseInsensitiveDict[str]:
    merged: CaseInsensitiveDict[str] = CaseInsensitiveDict()
    for part in parts:
        merged.update(part)
    return merged


def _ask(adapter: GuardedAdapter, request: PreparedRequest) -> Answer:
    """Ask once, and once more on a fresh connection if the kept one took nothing."""
    again = Retrying(
        retry=retry_if_exception(lambda _: adapter.line.stale),
        stop=stop_after_attempt(2),
        reraise=True,
    )
    return again(_ask_once, adapter, request)


def _ask_once(adapter: GuardedAdapter, request: PreparedRequest) -> Answer:
    adapter.line.again()
    timeout = adapter.line.deadline.remaining()
    # Third-party errors quote the URL, which can be a secret: none of them is chained.
    try:
        response = adapter.send(request, stream=True, timeout=(timeout, timeout))
    except _FORESEEN:
        return _answer_without_head(adapter.line)
    with response:
        body, whole = _read(response)
        status, headers = response.status_code, response.headers
        return Answer(status=status, headers=headers, body=body, whole=whole)


def _answer_without_head(line: Line) -> Answer:
    """The status alone is an answer, even if what follows it broke off."""
    if line.status is None:
        raise _failure(line) from None
    return Answer(status=line.status)


def _failure(line: Line) -> DeliveryFailure:
    passed = line.deadline.passed
    if line.stage is Stage.SENDING:
        reason = Reason.DEADLINE_PASSED if passed else Reason.CONNECTION_LOST
        return Unknown(reason, "no answer to the request")
    if line.failure is not None:
        return line.failure
    if line.stage is Stage.CONNECTED and not passed:
        return TemporaryFailure(Reason.TLS_FAILED, "TLS handshake failed")
    return TemporaryFailure(Reason.CONNECTION_FAILED, "no connection")


def _read(response: Response) -> tuple[bytes, bool]:
    """The decoded body, and whether it is all of it: not if it broke off, or is too long."""
    body = bytearray()
    try:
        while chunk := response.raw.read(_CHUNK, decode_content=True):
            body += chunk
            if len(body) > MAX_BODY:
                return bytes(body[:MAX_BODY]), False
    except _FORESEEN:
        return bytes(body), False
    return bytes(body), True
