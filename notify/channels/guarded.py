"""HTTP connections that obey a deadline and tell how far a request got."""

import http.client
import ssl
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from socket import socket
from time import monotonic
from typing import Any, Final

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from notify.channels.connecting import connect, trouble
from notify.channels.deadlines import Deadline

# Many servers close a connection that was idle for 5 seconds, and a request that crosses
# with the close may or may not have arrived. So we give up idle connections first.
MAX_IDLE: Final = 4.0
_POOLS: Final = 4


class Stage(Enum):
    """How far an exchange got."""

    CONNECTING = auto()
    CONNECTED = auto()
    SENDING = auto()


@dataclass(slots=True)
class Line:
    """One exchange under way; there is one for each adapter, so one for each thread."""

    deadline: Deadline
    stage: Stage = Stage.CONNECTING
    status: int | None = None
    trouble: str = ""

    def begin(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.stage = Stage.CONNECTING
        self.status = None
        self.trouble = ""


class FinalResponse(http.client.HTTPResponse):
    """Passes over interim answers, and notes the status as soon as it is there."""

    def __init__(self, sock: socket, *, line: Line, **options: Any) -> None:
        super().__init__(sock, **options)
        self._line = line

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]
        # The standard library goes on to the final answer after 100 only, not after
        # 102 and 103.
        if 100 <= status <= 199 and status != 101:
            return version, 100, reason
        self._line.status = status
        return version, status, reason

    def begin(self) -> None:
        super().begin()
        # urllib3 logs a warning with the whole URL about headers that are malformed.
        self.msg.defects = []
        self.msg.set_payload("")


class GuardedConnection(HTTPConnection):
    """Plain HTTP."""

    def __init__(self, *args: Any, line: Line, **options: Any) -> None:
        super().__init__(*args, **options)
        self.response_class = partial(FinalResponse, line=line)  # type: ignore[assignment]
        self._line = line
        self._used = monotonic()

    def _new_conn(self) -> socket:
        try:
            opened = connect(self._dns_host, self.port, self._line.deadline)
        except OSError as error:
            self._line.trouble = trouble(error)
            # urllib3 takes some OSErrors for "sent, but the connection broke".
            raise NewConnectionError(self, self._line.trouble) from error
        self._line.stage = Stage.CONNECTED
        return opened

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
        self._line.stage = Stage.SENDING
        self._used = monotonic()
        super().send(data)


class GuardedTlsConnection(GuardedConnection, HTTPSConnection):
    """HTTP over TLS."""

    def connect(self) -> None:
        try:
            super().connect()
        except OSError as error:
            self._line.trouble = trouble(error)
            raise


class GuardedAdapter(HTTPAdapter):
    """Keeps a few idle connections for one thread; all of them report to ``line``."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.line = Line(Deadline(0))
        self._tls = tls
        super().__init__(pool_connections=_POOLS, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._tls, **options)
        kinds = {
            "http": partial(_pool, HTTPConnectionPool, GuardedConnection, self.line),
            "https": partial(_pool, HTTPSConnectionPool, GuardedTlsConnection, self.line),
        }
        self.poolmanager.pool_classes_by_scheme = kinds

    def cert_verify(self, conn: Any, *_: Any, **__: Any) -> None:
        """The context knows whom to trust; requests would load its own list each time."""
        conn.cert_reqs = "CERT_REQUIRED"


def _pool(
    kind: type[HTTPConnectionPool],
    connection: type[GuardedConnection],
    line: Line,
    *args: Any,
    **options: Any,
) -> HTTPConnectionPool:
    pool = kind(*args, **options)
    pool.ConnectionCls = partial(connection, line=line)  # type: ignore[assignment]
    return pool
