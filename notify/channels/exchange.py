"""One HTTP exchange: what every HTTP provider does, and what came of it."""

import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Final

import certifi
from requests import PreparedRequest, Request, RequestException, Response
from requests.structures import CaseInsensitiveDict
from requests.utils import check_header_validity
from urllib3.exceptions import HTTPError

from notify.channels.deadlines import Deadline
from notify.channels.guarded import GuardedAdapter, Line, Stage
from notify.channels.perthread import PerThread
from notify.channels.verdicts import verdict
from notify.errors import ConfigError
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
class Answer:
    """What came back. Without a body if that broke off or was too long."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Exchange:
    """Makes requests for one provider; connections are kept per thread.

    Never follows a redirect, keeps no cookies, and takes nothing from the environment.
    """

    def __init__(
        self,
        name: str,
        headers: Mapping[str, str],
        token: str | None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        trusted = tls or trust()
        self._name = name
        self._headers = _checked(name, headers, token)
        self._adapters = PerThread(lambda: GuardedAdapter(trusted))

    def send(
        self,
        method: str,
        url: str,
        content: object,
        headers: Mapping[str, str],
        deadline: float,
        read_id: Callable[[bytes], str] = lambda body: "",
    ) -> Receipt:
        """Send a value as JSON. Raises ``DeliveryFailure``."""
        request = _prepare(method, url, content, _merged(self._headers, headers))
        adapter = self._adapters.get()
        with Deadline(deadline) as limit:
            adapter.line.begin(limit)
            answer = _ask(adapter, request)
        failure = _judge(answer)
        if failure is not None:
            raise failure
        provider_id = read_id(answer.body) if answer.body else ""
        return Receipt(provider=self._name, provider_id=provider_id, code=str(answer.status))


def trust() -> ssl.SSLContext:
    """Verifies servers against what this machine trusts and what requests brings."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _merged(*parts: Mapping[str, str]) -> CaseInsensitiveDict[str]:
    merged: CaseInsensitiveDict[str] = CaseInsensitiveDict()
    for part in parts:
        merged.update(part)
    return merged


def _checked(name: str, headers: Mapping[str, str], token: str | None) -> Mapping[str, str]:
    values = _merged(_BASE, headers)
    if token is not None:
        values["Authorization"] = f"Bearer {token}"
    for header, value in values.items():
        try:
            check_header_validity((header, value))
        except ValueError:
            problem = f"provider {name}: header {header} has a value that cannot be sent"
            raise ConfigError([problem]) from None
    return values


def _prepare(method: str, url: str, content: object, headers: Mapping[str, str]) -> PreparedRequest:
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    encoded: Any = {name: value.encode() for name, value in headers.items()}
    try:
        return Request(method, url, headers=encoded, data=data).prepare()
    except ValueError:
        raise PermanentFailure(Reason.REFUSED, "the URL cannot be used") from None


def _ask(adapter: GuardedAdapter, request: PreparedRequest) -> Answer:
    timeout = adapter.line.deadline.remaining()
    # Third-party errors quote the URL, which can be a secret: none of them is chained.
    try:
        response = adapter.send(request, stream=True, timeout=(timeout, timeout))
    except _FORESEEN:
        return _answer_without_head(adapter.line)
    with response:
        return Answer(status=response.status_code, headers=response.headers, body=_read(response))


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
    if line.stage is Stage.CONNECTED and not passed:
        return TemporaryFailure(Reason.TLS_FAILED, line.trouble or "TLS handshake failed")
    return TemporaryFailure(Reason.CONNECTION_FAILED, line.trouble or "no connection")


def _read(response: Response) -> bytes:
    """The decoded body; nothing if it broke off or is longer than ``MAX_BODY``."""
    body = bytearray()
    try:
        while chunk := response.raw.read(_CHUNK, decode_content=True):
            body += chunk
            if len(body) > MAX_BODY:
                return b""
    except _FORESEEN:
        return b""
    return bytes(body)


def _judge(answer: Answer) -> DeliveryFailure | None:
    headers = answer.headers
    now = datetime.now(UTC)
    return verdict(answer.status, headers.get("Retry-After"), headers.get("Date"), now)
