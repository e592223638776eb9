"""Whom we trust over TLS, and what it means when a server cannot be trusted."""

import ssl

import certifi

from notify.certificates import tls_reason

__all__ = ["tls_reason", "trust"]


def trust(certificates: str | None = None) -> ssl.SSLContext:
    """Verifies servers against these certificates (PEM) and no others.

    Without any, against what this machine trusts and what certifi brings. There is no way
    to verify nothing.
    """
    if certificates is not None:
        return ssl.create_default_context(cadata=certificates)
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
