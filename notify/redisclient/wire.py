"""One connection to Redis for many commands at once."""

import select
import socket
import time
from typing import Any, Final, cast

import hiredis
import redis
from redis.connection import DefaultParser

from notify.kernelwaits import bound_waits
from notify.redisclient.opening import open_connection

_NOTHING: Final = object()
_BUFFER: Final = 32768


class Wire:
    """Raises what Redis raises, and is of no use afterwards. For one thread at a time."""

    def __init__(self, url: str, timeout: float) -> None:
        self._connection = open_connection(url, timeout)
        self._timeout = timeout
        # Greeted by the library, used without it: its way costs more than the command.
        self._socket = cast(socket.socket, cast(Any, self._connection)._sock)
        bound_waits(self._socket, timeout)
        self._buffer: Any = bytearray(_BUFFER)
        self._reader = hiredis.Reader(
            protocolError=redis.InvalidResponse,
            replyError=DefaultParser.parse_error,
            encoding="utf-8",
            errors="replace",
            notEnoughData=_NOTHING,
        )

    def exchange(self, packed: bytes, count: int) -> list[Any]:
        """Sends packed commands and waits for so many answers; a refusal is one of them."""
        give_up = time.monotonic() + self._timeout
        answers: list[Any] = []
        try:
            self._socket.sendall(packed)
            while True:
                while (answer := self._reader.gets()) is not _NOTHING:
                    answers.append(answer)
                if len(answers) >= count:
                    return answers
                self._receive(give_up)
        except (BlockingIOError, TimeoutError) as error:
            raise redis.TimeoutError("no answer in time") from error
        except OSError as error:
            raise redis.ConnectionError("connection lost") from error

    def _receive(self, give_up: float) -> None:
        if time.monotonic() > give_up:
            raise TimeoutError
        length = self._socket.recv_into(self._buffer)
        if not length:
            raise ConnectionResetError
        self._reader.feed(self._buffer, 0, length)

    def is_over(self) -> bool:
        """Whether the server has ended the connection: nothing is due between exchanges."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        self._connection.disconnect()
