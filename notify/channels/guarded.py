"""HTTP connections that obey a deadline and tell how far a request got."""

import http.client
import select
import ssl
from dataclasses import dataclass
from enum import Enum, auto
from math import inf
from socket import socket
from time import monotonic
from typing import Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from notify.channels.addresses import Forbidden
from notify.channels.connecting import TunnelRefused, trouble
from notify.channels.deadlines import Deadline, Duplicate
from notify.channels.heads import FinalResponse
from notify.channels.outlines import Origin, Request
from notify.channels.tls import tls_reason
from notify.channels.ways import Way
from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, TemporaryFailure

# Many servers close a connection that was idle for 5 seconds, and a request that crosses
# with the close may or may not have arrived. So we give up idle connections first.
MAX_IDLE: Final = 4.0
_KEPT: Final = 4
# One record of TLS: of a part of one the peer can read nothing.
_FIRST: Final = 16384
# Under TLS, Python calls a write an "EOF" that the kernel refused.
_CLOSED: Final = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError)


class Stage(Enum):
    """How far an exchange got. From SENDING on the kernel has bytes of the request."""

    CONNECTING = auto()
    CONNECTED = auto()
    SENDING = auto()


class Unsent(http.client.HTTPException):
    """The connection was closed before it took a single byte of the request."""


@dataclass(slots=True)
class Line:
    """One exchange under way; there is one for each thread."""

    deadline: Deadline
    stage: Stage = Stage.CONNECTING
    status: int | None = None
    # Why nothing was sent, as far as it is known.
    failure: DeliveryFailure | None = None
    # The connection was an old one, and the peer had closed it.
    stale: bool = False

    def begin(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.again()

    def again(self) -> None:
        """Start over, within the same deadline."""
        self.stage = Stage.CONNECTING
        self.status = None
        self.failure = None
        self.stale = False


class GuardedConnection(HTTPConnection):
    """Plain HTTP.

    The socket waits for as long as it takes: what ends that is the deadline, which shuts it
    down. A timeout would cost two further calls of the kernel for each one that does something.
    """

    def __init__(self, origin: Origin, *, line: Line, way: Way, **options: Any) -> None:
        super().__init__(origin.host, origin.port, **options)
        self.origin = origin
        self._line = line
        self._way = way
        self._used = monotonic()
        self._duplicate: Duplicate | None = None

    def __del__(self) -> None:
        self.close()

    def _new_conn(self) -> socket:
        try:
            opened = self._open()
        except OSError as error:
            self._line.failure = _unconnected(error)
            raise NewConnectionError(self, trouble(error)) from error
        self._line.stage = Stage.CONNECTED
        return opened

    def _open(self) -> socket:
        return self._way.open(self._dns_host, self.port, self._line.deadline)

    def connect(self) -> None:
        super().connect()
        self._news = select.poll()
        self._news.register(self.sock, select.POLLIN)
        self._duplicate = Duplicate(self.sock)
        self.sock.settimeout(None)

    def close(self) -> None:
        self._duplicate = None
        super().close()

    @property
    def is_connected(self) -> bool:
        """Whether it is open, and silent: what comes unasked is the end, or nonsense."""
        return monotonic() - self._used < MAX_IDLE and not self._news.poll(0)

    def ask(self, request: Request) -> FinalResponse:
        """Sends a request, and reads the answer up to its body."""
        if self._duplicate is not None:
            self._line.deadline.watch(self._duplicate)
        else:
            self.connect()
        self._hand_over(request.head(), request.body)
        response = FinalResponse(self.sock, noted=self._line, method=request.method)
        try:
            response.begin()
        except BaseException:
            response.close()
            raise
        return response

    def _hand_over(self, head: bytes, body: bytes) -> None:
        self._used = monotonic()
        data = head + body[:_FIRST]
        sent = self._send_first(data)
        try:
            if sent < len(data):
                self.sock.sendall(memoryview(data)[sent:])
            if len(body) > _FIRST:
                self.sock.sendall(memoryview(body)[_FIRST:])
        except (BrokenPipeError, ConnectionResetError):
            # A server may answer, and close, without having read all of it.
            self._used = -inf

    def _send_first(self, data: bytes) -> int:
        """Send some bytes and return how many the kernel took.

        A closed connection takes none. Under TLS it could take a part, but of nothing that is
        more than one record, and so nothing that the peer could read.
        """
        reused = self._line.stage is Stage.CONNECTING
        try:
            sent: int = self.sock.send(data[:_FIRST])
        except _CLOSED as error:
            self._line.failure = _unconnected(error)
            self._line.stale = reused and not self._line.deadline.passed
            raise Unsent from error
        except OSError:
            self._line.stage = Stage.SENDING
            raise
        self._line.stage = Stage.SENDING
        return sent


class GuardedTlsConnection(GuardedConnection, HTTPSConnection):
    """HTTP over TLS; the name in the certificate is always that of the URL."""

    def connect(self) -> None:
        try:
            super().connect()
        except OSError as error:
            passed = self._line.deadline.passed
            reason = Reason.CONNECTION_FAILED if passed else tls_reason(error)
            self._line.failure = TemporaryFailure(reason, trouble(error))
            raise

    def _open(self) -> socket:
        return self._way.open_for_tls(self._dns_host, self.port, self._line.deadline)


def _unconnected(error: OSError) -> DeliveryFailure:
    if isinstance(error, Forbidden):
        return PermanentFailure(Reason.ADDRESS_FORBIDDEN, trouble(error))
    denied = isinstance(error, TunnelRefused) and error.denied
    reason = Reason.PROVIDER_DENIED if denied else Reason.CONNECTION_FAILED
    return TemporaryFailure(reason, trouble(error))


class Connections:
    """Keeps a few idle connections of one thread; all of them report to ``line``.

    A connection is used again only for the same scheme, host and port. It leads to an
    address that was checked when it was opened, under the rules that still hold.
    """

    def __init__(self, tls: ssl.SSLContext, way: Way) -> None:
        self.line = Line(Deadline(0))
        self._tls = tls
        self._way = way
        self._kept: dict[Origin, GuardedConnection] = {}

    def take(self, origin: Origin) -> GuardedConnection:
        """One that is still good, or a new one, which is not connected yet."""
        kept = self._kept.pop(origin, None)
        if kept is not None:
            if kept.is_connected:
                return kept
            kept.close()
        if origin.scheme == "http":
            return GuardedConnection(origin, line=self.line, way=self._way)
        return GuardedTlsConnection(
            origin,
            line=self.line,
            way=self._way,
            ssl_context=self._tls,
            cert_reqs=ssl.CERT_REQUIRED,
        )

    def keep(self, connection: GuardedConnection) -> None:
        """The one that was not used for the longest time makes room for it."""
        if len(self._kept) >= _KEPT:
            self._kept.pop(next(iter(self._kept))).close()
        self._kept[connection.origin] = connection
