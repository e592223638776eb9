"""Whether a server is the one it claims to be, and the words for it where it is not."""

import ssl
from typing import Final

from notify.outcomes import Reason

# Verification results of OpenSSL, see x509_vfy.h.
_EXPIRED: Final = frozenset({9, 10})  # not yet valid, expired
_WRONG_HOST: Final = frozenset({62, 64})  # another host name, another IP address
# No issuer found (2, 20), self-signed (18, 19), issuer not verified (21), not trusted (27).
_UNTRUSTED: Final = frozenset({2, 18, 19, 20, 21, 27})
_WORDS: Final = {
    Reason.TLS_EXPIRED: "the certificate of {0} has expired, or is not valid yet",
    Reason.TLS_WRONG_HOST: "the certificate of {0} is for another name",
    Reason.TLS_UNTRUSTED: "nobody whom we trust has signed the certificate of {0}",
    Reason.TLS_FAILED: "the certificate of {0} cannot be verified",
}


def verifying(certificates: str | None = None) -> ssl.SSLContext:
    """Verifies servers and their names against these certificates (PEM) and no others.

    Without any, against what this machine trusts. A name counts only where it is among the
    alternative names, as in RFC 9525; an address only among those for addresses.
    """
    context = ssl.create_default_context(cadata=certificates)
    context.hostname_checks_common_name = False
    return context


def tls_reason(error: BaseException) -> Reason:
    """Why a TLS connection did not come about."""
    code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
    if code in _EXPIRED:
        return Reason.TLS_EXPIRED
    if code in _WRONG_HOST:
        return Reason.TLS_WRONG_HOST
    return Reason.TLS_UNTRUSTED if code in _UNTRUSTED else Reason.TLS_FAILED


def distrust(error: BaseException, place: str) -> str | None:
    """Why the server at ``place`` was not trusted; None where ``error`` is something else."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    return None if cause is None else _WORDS[tls_reason(cause)].format(place)
