"""Asks a server, and reads what it answers; or finds out why there is no answer."""

from http.client import HTTPException
from typing import Any, Final

import urllib3
from requests import RequestException
from urllib3.exceptions import HTTPError

from notify.channels.guarded import Connections, Line, Stage
from notify.channels.heads import FinalResponse
from notify.channels.outlines import Request
from notify.channels.verdicts import Answer
from notify.outcomes import DeliveryFailure, Reason, TemporaryFailure
from notify.outcomes import UnknownOutcome as Unknown

MAX_BODY: Final = 65536
_CHUNK: Final = 8192
_FORESEEN: Final = (RequestException, HTTPError, HTTPException, OSError, ValueError)


def ask(connections: Connections, request: Request) -> Answer:
    """Ask once, and once more on a fresh connection if the kept one took nothing.

    Raises ``DeliveryFailure``. Third-party errors quote the URL, which can be a secret: none of
    them is chained.
    """
    answer = _ask_once(connections, request)
    if answer is None and connections.line.stale:
        answer = _ask_once(connections, request)
    if answer is None:
        raise _failure(connections.line)
    return answer


def _ask_once(connections: Connections, request: Request) -> Answer | None:
    """None where no answer came: the line knows why."""
    line = connections.line
    line.again()
    connection = connections.take(request.outline.origin)
    try:
        response = connection.ask(request)
    except _FORESEEN:
        connection.close()
        # The status alone is an answer, even if what follows it broke off.
        return None if line.status is None else Answer(status=line.status)
    with response:
        body, whole = _read(response, line)
    if whole and not response.is_last:
        connections.keep(connection)
    else:
        connection.close()
    return Answer(status=response.status, headers=response.fields, body=body, whole=whole)


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


def _read(response: FinalResponse, line: Line) -> tuple[bytes, bool]:
    """The decoded body, and whether it is all of it: not if it broke off, or is too long."""
    body = bytearray()
    try:
        stream = _decoding(response)
        while chunk := stream.read(_CHUNK):
            body += chunk
            if len(body) > MAX_BODY:
                return bytes(body[:MAX_BODY]), False
    except _FORESEEN:
        return bytes(body), False
    return bytes(body), _is_whole(response, line)


def _decoding(response: FinalResponse) -> Any:
    """We ask for no encoding, and get one now and then."""
    encoding = response.fields.get("content-encoding")
    if encoding is None:
        return response
    return urllib3.HTTPResponse(
        response, {"content-encoding": encoding}, preload_content=False, decode_content=True
    )


def _is_whole(response: FinalResponse, line: Line) -> bool:
    """Where the end of the connection ends a body, the deadline may have made it."""
    if response.length is not None:
        return response.length == 0
    return response.chunked or not line.deadline.passed
