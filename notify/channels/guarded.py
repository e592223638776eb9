"""HTTP connections that obey a deadline and tell how far a request got."""

import http.client
import io
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from socket import socket
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from requests.utils import urldefragauth
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from notify.channels.addresses import Forbidden
from notify.channels.connecting import TunnelRefused, trouble
from notify.channels.deadlines import Deadline
from notify.channels.tls import tls_reason
from notify.channels.ways import Way
from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, TemporaryFailure

# Many servers close a connection that was idle for 5 seconds, and a request that crosses
# with the close may or may not have arrived. So we give up idle connections first.
MAX_IDLE: Final = 4.0
_POOLS: Final = 4
_FIRST: Final = 1024
# Under TLS, Python calls a write an "EOF" that the kernel refused.
_CLOSED: Final = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError)
# Of the lines before a body: what reads them takes time that no deadline can cut off.
_LONGEST_HEAD: Final = 65536


class Stage(Enum):
    """How far an exchange got. From SENDING on the kernel has bytes of the request."""

    CONNECTING = auto()
    CONNECTED = auto()
    SENDING = auto()


class Unsent(http.client.HTTPException):
    """The connection was closed before it took a single byte of the request."""


@dataclass(slots=True)
class Line:
    """One exchange under way; there is one for each adapter, so one for each thread."""

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


class _Head:
    """The lines of a status with its headers, up to a size."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = _LONGEST_HEAD

    def start(self) -> None:
        self._left = _LONGEST_HEAD

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self._stream.readline(limit)
        self._left -= len(line)
        if self._left < 0:
            raise http.client.HTTPException("too many headers")
        return line


class FinalResponse(http.client.HTTPResponse):
    """Passes over interim answers, and notes the status as soon as it is there."""

    def __init__(self, sock: socket, *, line: Line, **options: Any) -> None:
        super().__init__(sock, **options)
        self._line = line
        self._head = _Head(self.fp)

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = self._whole_status()
        # The standard library goes on to the final answer after 100 only, not after
        # 102 and 103.
        if 100 <= status <= 199 and status != 101:
            return version, 100, reason
        self._line.status = status
        return version, status, reason

    def _whole_status(self) -> tuple[str, int, str]:
        """The standard library takes a line that broke off for a status, too."""
        self._head.start()
        line = self.fp.readline(_LONGEST_HEAD)
        if not line.endswith(b"\n"):
            raise http.client.BadStatusLine("broken off")
        stream, self.fp = self.fp, io.BufferedReader(io.BytesIO(line))
        try:
            found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
        finally:
            self.fp = stream
        return found

    def begin(self) -> None:
        stream, self.fp = self.fp, self._head  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            self.fp = stream
        # urllib3 logs a warning with the whole URL about headers that are malformed.
        self.msg.defects = []
        self.msg.set_payload("")


class GuardedConnection(HTTPConnection):
    """Plain HTTP."""

    def __init__(self, *args: Any, line: Line, way: Way, **options: Any) -> None:
        super().__init__(*args, **options)
        self.response_class = partial(FinalResponse, line=line)  # type: ignore[assignment]
        self._line = line
        self._way = way
        self._used = monotonic()

    def _new_conn(self) -> socket:
        try:
            opened = self._open()
        except OSError as error:
            self._line.failure = _unconnected(error)
            # urllib3 takes some OSErrors for "sent, but the connection broke".
            raise NewConnectionError(self, trouble(error)) from error
        self._line.stage = Stage.CONNECTED
        return opened

    def _open(self) -> socket:
        return self._way.open(self._dns_host, self.port, self._line.deadline)

    @property
    def is_connected(self) -> bool:
        return monotonic() - self._used < MAX_IDLE and super().is_connected

    def request(self, *args: Any, **options: Any) -> None:
        if self.sock is not None:
            self._line.deadline.guard(self.sock)
        super().request(*args, **options)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        self._used = monotonic()
        if self._line.stage is not Stage.SENDING:
            data = data[self._send_first(data) :]
        super().send(data)

    def _send_first(self, data: bytes) -> int:
        """Send some bytes and return how many the kernel took.

        A closed connection takes none. Nothing was handed over before, so that there is
        room for so few bytes: the kernel takes all that TLS makes of them, or nothing.
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


class GuardedAdapter(HTTPAdapter):
    """Keeps a few idle connections for one thread; all of them report to ``line``.

    A connection is used again only for the same scheme, host and port. It leads to an
    address that was checked when it was opened, under the rules that still hold.
    """

    def __init__(self, tls: ssl.SSLContext, way: Way) -> None:
        self.line = Line(Deadline(0))
        self._tls = tls
        self._way = way
        super().__init__(pool_connections=_POOLS, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._tls, **options)
        kinds = {
            "http": self._pools(HTTPConnectionPool, GuardedConnection),
            "https": self._pools(HTTPSConnectionPool, GuardedTlsConnection),
        }
        self.poolmanager.pool_classes_by_scheme = kinds

    def _pools(
        self, kind: type[HTTPConnectionPool], connection: type[GuardedConnection]
    ) -> Callable[..., HTTPConnectionPool]:
        return partial(_pool, kind, partial(connection, line=self.line, way=self._way))

    def request_url(self, request: PreparedRequest, proxies: Any = None) -> str:
        """What stands in the request line; a proxy wants the whole URL of plain HTTP."""
        if self._way.proxy is None or urlsplit(str(request.url)).scheme == "https":
            return request.path_url
        return str(urldefragauth(str(request.url)))

    def add_headers(self, request: PreparedRequest, **_: Any) -> None:
        if self._way.proxy is not None and urlsplit(str(request.url)).scheme == "http":
            request.headers.update(self._way.proxy.headers)

    def cert_verify(self, conn: Any, *_: Any, **__: Any) -> None:
        """The context knows whom to trust; requests would load its own list each time."""
        conn.cert_reqs = "CERT_REQUIRED"


def _pool(
    kind: type[HTTPConnectionPool],
    connection: Callable[..., GuardedConnection],
    *args: Any,
    **options: Any,
) -> HTTPConnectionPool:
    pool = kind(*args, **options)
    pool.ConnectionCls = connection  # type: ignore[assignment]
    return pool
