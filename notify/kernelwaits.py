"""Waits on a socket that the kernel ends by itself. Pure but for the socket."""

import ssl
from socket import SO_RCVTIMEO, SO_SNDTIMEO, SOL_SOCKET, socket
from struct import pack


def bound_waits(connection: socket, seconds: float) -> None:
    """No wait on this connection takes longer; one that does fails as if it would block.

    Python's timeout asks first whether there is anything, which costs a call, and a turn of the
    interpreter, each time. Over TLS there is no other.
    """
    if isinstance(connection, ssl.SSLSocket):
        connection.settimeout(seconds)
        return
    connection.settimeout(None)
    # Nothing at all would mean no limit (socket(7)).
    limit = pack("@ll", int(seconds), int(seconds % 1 * 1e6) or 1)
    for option in (SO_RCVTIMEO, SO_SNDTIMEO):
        connection.setsockopt(SOL_SOCKET, option, limit)
