"""RabbitMQ behind TLS, with certificates for whatever names a test wants."""

import select
import socket
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from tests.channels.peers import Peer, make_certificate, server_side

_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"


class Front:
    """Where TLS ends; ``heard`` is what clients sent to it once they trusted it."""

    def __init__(self, peer: Peer, upstream: SplitResult, heard: list[bytes]) -> None:
        self.port = peer.port
        self.heard = heard
        self._upstream = upstream

    def url(self, host: str, scheme: str = "amqps", query: str = "") -> str:
        login = self._upstream.netloc.rpartition("@")[0]
        place = f"{login}@{host}:{self.port}"
        return self._upstream._replace(scheme=scheme, netloc=place, query=query).geturl()


class Fronts:
    """Makes them, all with certificates of an authority that is ``trusted`` (PEM) by nobody
    unless told to; they are gone when it is left."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self._folder = folder / "fronts"
        self._folder.mkdir()
        self._upstream = urlsplit(upstream)
        self._stack = ExitStack()
        self._count = 0
        self._run(f"req -x509 {_KEY} -subj /CN=authority -days 2 -keyout ca.key -out ca.pem")
        self.trusted = (self._folder / "ca.pem").read_text(encoding="ascii")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, names: str, days: int = 2) -> Front:
        self._count += 1
        stem = f"front{self._count}"
        (self._folder / "extra").write_text(f"subjectAltName={names}\n", encoding="ascii")
        self._run(f"req {_KEY} -subj /CN=localhost -keyout {stem}.key -out {stem}.csr")
        signing = f"x509 -req -days {days} -CA ca.pem -CAkey ca.key -CAcreateserial"
        self._run(f"{signing} -extfile extra -in {stem}.csr -out {stem}.pem")
        heard: list[bytes] = []
        tls = server_side(self._folder / f"{stem}.pem", self._folder / f"{stem}.key")
        peer = Peer(lambda inner: self._forward(inner, heard), tls)
        return Front(self._stack.enter_context(peer), self._upstream, heard)

    def stranger(self) -> str:
        """A certificate that has signed none of them."""
        certificate, _ = make_certificate(self._folder)
        return certificate.read_text(encoding="ascii")

    def _run(self, arguments: str) -> None:
        command = ["openssl", *arguments.split()]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder)

    def _forward(self, inner: Any, heard: list[bytes]) -> None:
        """A piece is larger than the largest record of TLS: none stays behind unread."""
        address = (self._upstream.hostname or "", self._upstream.port or 0)
        with suppress(OSError), socket.create_connection(address) as outer:
            while True:
                readable, _, _ = select.select([inner, outer], [], [])
                for source, target in ((inner, outer), (outer, inner)):
                    if source in readable:
                        if not (data := source.recv(65536)):
                            return
                        if source is inner:
                            heard.append(data)
                        target.sendall(data)
