"""Free loopback ports.

Chosen below the range from which the kernel takes ports for outgoing connections. A port in
that range can be taken while a server restarts, even by a client that reconnects in a loop
and ends up connected to itself.
"""

import random
import socket
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

LOOPBACK = "127.0.0.1"
LOWEST = 10_000
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def is_free(port: int) -> bool:
    with ExitStack() as stack:
        return _bind(port, stack) is not None


def choose(names: Iterable[str]) -> dict[str, int]:
    """A different free port for each name."""
    with ExitStack() as held:
        return {name: _choose_one(held) for name in names}


def _choose_one(held: ExitStack) -> int:
    for candidate in _candidates():
        port = _bind(candidate, held)
        if port is not None:
            return port
    raise OSError("no free port on 127.0.0.1")


def _candidates() -> list[int]:
    """Some ports to try; last of all 0, any that the kernel offers."""
    below = range(LOWEST, _first_ephemeral())
    return [*random.sample(below, min(50, len(below))), 0]


def _first_ephemeral() -> int:
    try:
        return int(EPHEMERAL_RANGE.read_text().split()[0])
    except (OSError, ValueError):
        return LOWEST


def _bind(port: int, held: ExitStack) -> int | None:
    """Hold the port until the stack closes; None when somebody has it."""
    listener = held.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(1)
    except OSError:
        return None
    return int(listener.getsockname()[1])
