"""Opens TCP connections within a deadline, name lookup included."""

import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from notify.channels.addresses import Forbidden, Guard
from notify.channels.deadlines import Deadline

_STREAM: Final = socket.SOCK_STREAM
Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]


class TunnelRefused(OSError):
    """The proxy did not connect us to where we want to go."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the proxy answered {status}")
        self.denied = status in (403, 407)


def connect(host: str, port: int, deadline: Deadline, guard: Guard | None = None) -> socket.socket:
    """A connection watched by the deadline. Raises ``OSError``.

    The name is looked up once. ``guard`` sees every address, before any of them is tried,
    and what is tried is what it has seen. Each address gets only its share of the time
    that is left.
    """
    return first_that_opens(
        [partial(_open, address) for address in look_up(host, port, deadline, guard)], deadline
    )


def look_up(host: str, port: int, deadline: Deadline, guard: Guard | None) -> list[Address]:
    """The addresses of a host, all of them allowed. Raises ``OSError``, or ``Forbidden``."""
    if guard is not None:
        guard.check_host(host)
    addresses = _look_up(host.strip("[]"), port, deadline)
    if guard is not None:
        guard.check([str(address[4][0]) for address in addresses], port)
    return addresses


def first_that_opens(
    attempts: Sequence[Callable[[float], socket.socket]], deadline: Deadline
) -> socket.socket:
    """What the first attempt returns that does not fail; each is given its share of time."""
    failure = OSError("the host has no address")
    for position, attempt in enumerate(attempts):
        # Thousands of addresses, each with the shortest time there is, take long together.
        if position and deadline.passed:
            break
        try:
            opened = attempt(deadline.remaining() / (len(attempts) - position))
        except OSError as error:
            failure = error
        else:
            deadline.guard(opened)
            opened.settimeout(deadline.remaining())
            return opened
    raise failure


def _open(address: Address, timeout: float) -> socket.socket:
    family, kind, protocol, _, place = address
    opened = socket.socket(family, kind, protocol)
    try:
        opened.settimeout(timeout)
        opened.connect(place)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        opened.close()
        raise
    return opened


def _look_up(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Ask the resolver, and stop waiting at the deadline.

    A lookup cannot be interrupted. One that is given up goes on in its own thread until
    the resolver's timeout, and ends there: it holds no socket of ours.
    """
    with suppress(OSError, ValueError):
        return list(socket.getaddrinfo(host, port, type=_STREAM, flags=socket.AI_NUMERICHOST))
    answers: SimpleQueue[list[Address] | OSError] = SimpleQueue()
    Thread(target=_ask, args=(host, port, answers), name="lookup", daemon=True).start()
    try:
        answer = answers.get(timeout=deadline.remaining())
    except Empty:
        raise TimeoutError("name lookup timed out") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _ask(host: str, port: int, answers: "SimpleQueue[list[Address] | OSError]") -> None:
    try:
        answers.put(list(socket.getaddrinfo(host, port, type=_STREAM)))
    except OSError as error:
        answers.put(error)
    except ValueError:
        answers.put(socket.gaierror("the name cannot be looked up"))


def trouble(error: BaseException) -> str:
    """What went wrong, in words that name neither host nor content."""
    if isinstance(error, Forbidden | TunnelRefused):
        return str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate not verified ({error.verify_code})"
    if isinstance(error, ssl.SSLError):
        return str(error.reason or "handshake broken off").lower()
    if isinstance(error, socket.gaierror):
        return "name lookup failed"
    if isinstance(error, TimeoutError):
        return "timed out"
    code = error.errno if isinstance(error, OSError) else None
    return errno.errorcode.get(code or 0, "broken off")
