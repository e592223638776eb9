"""The bytes of a conversation with a mail server.

Python's timeouts cost a system call more for each read and write, and each one lets another
thread run first. So a connection in the clear waits in the kernel, which gives up by itself now
and then (SO_RCVTIMEO, SO_SNDTIMEO); over TLS that is not to be had, and Python's timeout does it.
"""

from smtplib import SMTPServerDisconnected
from socket import socket
from typing import Final

from notify.channels.deadlines import Deadline
from notify.kernelwaits import bound_waits

_MAX_LINE: Final = 8192
_MAX_LINES: Final = 100
_CHUNK: Final = 8192
# How far the longest wait may be from half of the time that is left.
_SLACK: Final = 0.1
_GAVE_UP: Final = (BlockingIOError, TimeoutError)


class Wire:
    """One connection, and what was read from it and not yet used.

    ``file`` of a connection of ``smtplib``, which drops it when TLS begins: what came before is
    not read as if it came through TLS (RFC 3207).
    """

    def __init__(self, connection: socket) -> None:
        self._connection = connection
        self._unread = b""
        self._deadline: Deadline | None = None
        self._patience = 0.0

    def close(self) -> None:
        """The connection is not ours to close."""
        self._unread = b""

    @property
    def unasked(self) -> bool:
        """Whether the server has said more than it was asked."""
        return bool(self._unread)

    def begin(self, deadline: Deadline) -> None:
        """From now on this deadline holds; the connection is guarded already.

        Half of it is the longest wait for a peer that may be gone.
        """
        self._deadline = deadline
        wanted = deadline.remaining() / 2
        if abs(self._patience - wanted) > wanted * _SLACK:
            self._patience = wanted
            bound_waits(self._connection, wanted)

    def send(self, data: bytes) -> None:
        """Raises ``OSError`` unless all of it has left; then its end has not."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._connection.send(rest) :]
            except _GAVE_UP:
                self._check_time()

    def reply(self, *, patient: bool = True) -> tuple[int, bytes]:
        """The next reply, -1 for its code if it has none; ``patient`` unless the peer may be gone.

        Raises ``OSError``.
        """
        texts = []
        for _ in range(_MAX_LINES):
            line = self._line(patient)
            texts.append(line[4:].strip())
            numbered = len(line) >= 3 and line[:3].isdigit()
            if not numbered or line[3:4] != b"-":
                return int(line[:3]) if numbered else -1, b"\n".join(texts)
        raise SMTPServerDisconnected("the reply does not end")

    def _line(self, patient: bool) -> bytes:
        while True:
            line, end, rest = self._unread.partition(b"\n")
            if end:
                self._unread = rest
                return line
            if len(line) > _MAX_LINE:
                raise SMTPServerDisconnected("the line does not end")
            self._unread += self._receive(patient)

    def _receive(self, patient: bool) -> bytes:
        while True:
            try:
                received = self._connection.recv(_CHUNK)
            except _GAVE_UP:
                if not patient:
                    raise TimeoutError("no reply") from None
                self._check_time()
            else:
                if not received:
                    raise SMTPServerDisconnected("the connection was lost")
                return received

    def _check_time(self) -> None:
        if self._deadline is None or self._deadline.passed:
            raise TimeoutError("the deadline has passed")
