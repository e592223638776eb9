"""Connections over TLS only to the server that the URL names.

Kombu asks for a valid certificate, and takes one for any name. Where it can be told a name,
that is one for all URLs of a list; here it is that of the URL in use, however often kombu
turns to another one, and nothing in a URL lets a server off.
"""

import socket
import ssl
from collections.abc import Mapping
from typing import Any, ClassVar

from amqp.transport import SSLTransport as AmqpTransport
from kombu.connection import Connection as KombuConnection
from kombu.transport import pyamqp

from notify.certificates import distrust, verifying


class Untrusted(OSError):
    """The server is not the one that it should be; the text names it and says why."""


class TlsTransport(AmqpTransport):
    """A socket that speaks TLS; raises ``Untrusted``."""

    def __init__(self, host: str, *, name: str, trusted: str | None, **options: Any) -> None:
        super().__init__(host, **options)
        self._name = name
        self._trusted = trusted

    def _setup_transport(self) -> None:
        try:
            super()._setup_transport()
        except ssl.SSLCertVerificationError as error:
            place = f"[{self._name}]" if ":" in self._name else self._name
            raise Untrusted(distrust(error, f"{place}:{self.port}")) from error

    def _wrap_socket(self, sock: socket.socket, **_: Any) -> ssl.SSLSocket:
        return verifying(self._trusted).wrap_socket(
            sock, server_hostname=self._name, do_handshake_on_connect=False
        )


class Connection(pyamqp.Connection):
    """``trusted`` are certificates (PEM) that take the place of those of this machine."""

    def __init__(self, *arguments: Any, trusted: str | None = None, **options: Any) -> None:
        self._trusted = trusted
        super().__init__(*arguments, **options)

    def Transport(
        self,
        host: str,
        connect_timeout: float | None,
        ssl: Any = False,
        read_timeout: float | None = None,
        write_timeout: float | None = None,
        **options: Any,
    ) -> Any:
        if not ssl:
            return super().Transport(
                host, connect_timeout, ssl, read_timeout, write_timeout, **options
            )
        return TlsTransport(
            host,
            name=ssl["server_hostname"],
            trusted=self._trusted,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            write_timeout=write_timeout,
            **options,
        )


class Transport(pyamqp.Transport):
    """What kombu connects with; it has the URL's parts as attributes of its ``client``."""

    Connection = Connection

    def establish_connection(self) -> Any:
        client: Any = self.client
        named, wanted = client.hostname, client.ssl
        if wanted:
            client.ssl = {"server_hostname": named}
        try:
            return super().establish_connection()
        finally:
            # Kombu writes an address over the name localhost.
            client.hostname, client.ssl = named, wanted


class SSLTransport(Transport, pyamqp.SSLTransport):
    """The same for URLs with amqps."""


class Broker(KombuConnection):
    """A connection by URL. It asks anew for the transport with each URL it turns to."""

    transports: ClassVar[Mapping[Any, Any]] = {
        pyamqp.Transport: Transport,
        pyamqp.SSLTransport: SSLTransport,
    }

    def get_transport_cls(self) -> Any:
        usual = super().get_transport_cls()
        return self.transports.get(usual, usual)
