"""Requests over HTTPS to a server of ours, whose certificate may be signed by ourselves."""

from typing import Any

from requests.adapters import HTTPAdapter

from notify.certificates import verifying


class Trusting(HTTPAdapter):
    """Trusts these certificates (PEM) and no others, which are in no file any more.

    Without any: whom this machine trusts, and what certifi brings, as requests does anyhow.
    """

    def __init__(self, certificates: str | None) -> None:
        self._certificates = certificates
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        context = verifying(self._certificates)
        super().init_poolmanager(*arguments, ssl_context=context, **options)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Adds certifi's, unless there are others; that it is verified stands in the context."""
        if self._certificates is None:
            super().cert_verify(conn, url, verify, cert)
