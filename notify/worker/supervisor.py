"""What systemd is told: sd_notify(3), one datagram for each message."""

import os
import socket
from contextlib import suppress


def tell_supervisor(message: str) -> None:
    """Sends ``READY=1``, ``STATUS=…``, ``WATCHDOG=1`` or ``STOPPING=1``; without systemd nothing.

    An address that starts with "@" is in Linux's abstract namespace.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.connect(address)
        out.sendall(message.encode())
