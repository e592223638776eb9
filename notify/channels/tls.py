"""Whom we trust over TLS, and what it means when a server cannot be trusted."""

import ssl
from typing import Final

import certifi

from notify.outcomes import Reason

# Verification results of OpenSSL, see x509_vfy.h.
_EXPIRED: Final = frozenset({9, 10})  # not yet valid, expired
_WRONG_HOST: Final = frozenset({62, 64})  # another host name, another IP address
# No issuer found (2, 20), self-signed (18, 19), issuer not verified (21), not trusted (27).
_UNTRUSTED: Final = frozenset({2, 18, 19, 20, 21, 27})


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


def tls_reason(error: BaseException) -> Reason:
    """Why a TLS connection did not come about."""
    code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
    if code in _EXPIRED:
        return Reason.TLS_EXPIRED
    if code in _WRONG_HOST:
        return Reason.TLS_WRONG_HOST
    return Reason.TLS_UNTRUSTED if code in _UNTRUSTED else Reason.TLS_FAILED
