"""The way to a host: straight, or through the proxy of the configuration.

A proxy is spoken to here and not by ``urllib3``, which would ask it for the host by name: the
proxy would look the name up itself, and connect to an address that nobody has checked.
"""

import re
import socket
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import unquote, urlsplit

from notify.channels.addresses import Forbidden, Guard
from notify.channels.connecting import TunnelRefused, connect, first_that_opens, look_up
from notify.channels.deadlines import Deadline

_LONGEST_ANSWER: Final = 16384
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})[ \r]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxy:
    """An HTTP proxy, and what opens it."""

    host: str
    port: int
    credentials: tuple[str, str] | None = field(default=None, repr=False)

    @property
    def headers(self) -> Mapping[str, str]:
        if self.credentials is None:
            return {}
        basic = b64encode(":".join(self.credentials).encode()).decode()
        return {"Proxy-Authorization": f"Basic {basic}"}


def parse_proxy(url: str | None) -> Proxy | None:
    """The proxy at a URL such as ``http://user:password@proxy:3128``."""
    if url is None:
        return None
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    credentials = (user, password) if user or password else None
    return Proxy(host=parts.hostname or "", port=parts.port or 80, credentials=credentials)


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """Opens connections for one provider. Without a guard, its hosts are the operator's."""

    guard: Guard | None = None
    proxy: Proxy | None = None

    def open(self, host: str, port: int, deadline: Deadline) -> socket.socket:
        """A connection for plain HTTP. Raises ``OSError``.

        A proxy takes such requests by URL, so that it would be the proxy's choice where a
        name leads to: for a target that must be checked that is no way.
        """
        if self.proxy is None:
            return connect(host, port, deadline, self.guard)
        if self.guard is not None:
            raise Forbidden("plain http through a proxy cannot be checked")
        return connect(self.proxy.host, self.proxy.port, deadline)

    def open_for_tls(self, host: str, port: int, deadline: Deadline) -> socket.socket:
        """A connection on which TLS with the host itself can begin. Raises ``OSError``."""
        if self.proxy is None:
            return connect(host, port, deadline, self.guard)
        targets = [host.strip("[]")]
        if self.guard is not None:
            addresses = look_up(host, port, deadline, self.guard)
            targets = [str(address[4][0]) for address in addresses]
        tunnels = [partial(_tunnel, self.proxy, target, port, deadline) for target in targets]
        return first_that_opens(tunnels, deadline)


def _tunnel(
    proxy: Proxy, target: str, port: int, deadline: Deadline, seconds: float
) -> socket.socket:
    opened = connect(proxy.host, proxy.port, deadline)
    try:
        opened.settimeout(seconds)
        place = f"[{target}]:{port}" if ":" in target else f"{target}:{port}"
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
        lines += [f"{name}: {value}" for name, value in proxy.headers.items()]
        opened.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        status = _read_status(opened)
        if not 200 <= status <= 299:
            raise TunnelRefused(status)
    except BaseException:
        opened.close()
        raise
    return opened


def _read_status(connection: socket.socket) -> int:
    """The status of the proxy's answer; not a byte of what follows the answer is taken."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        received = connection.recv(1)
        if not received or len(head) > _LONGEST_ANSWER:
            raise ConnectionResetError("the proxy broke off")
        head += received
    status = _STATUS.match(head)
    if status is None:
        raise ConnectionResetError("the proxy does not speak HTTP")
    return int(status[1])
