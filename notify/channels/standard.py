"""Standard Webhooks: the headers of a webhook, and how its receiver checks them. Pure.

What is signed, by HMAC-SHA256 with a key that both sides know, is ``id.timestamp.body``, byte
for byte (https://www.standardwebhooks.com). The id stays the same for every attempt; timestamp
and signature are new each time, because receivers refuse what is older than five minutes.
"""

import hmac
import json
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from standardwebhooks import Webhook

# What the libraries of Standard Webhooks accept, in either direction.
TOLERANCE: Final = 300.0
_SECONDS: Final = re.compile(r"[0-9]{1,11}")
_DIGEST_SIZE: Final = 32
# What a signature would be right for, and what was done to it since.
_NEW_LINE: Final = "changed body: it has got a line break at its end"
_REWRITTEN: Final = "changed body: it was read as JSON and written again; check the bytes received"
_OTHER: Final = "wrong secret, or another id, timestamp or body: no signature matches"


def headers(id: str, timestamp: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of one attempt, with a signature for each of ``secrets``.

    ``body`` is the UTF-8 text that is sent, ``timestamp`` in epoch seconds.
    """
    values = {"webhook-id": id, "webhook-timestamp": str(timestamp)}
    if secrets:
        text = body.decode()
        signatures = [_sign(secret, id, timestamp, text) for secret in secrets]
        values["webhook-signature"] = " ".join(signatures)
    return values


def problem(
    secret: str,
    *,
    id: str,
    timestamp: str,
    signature: str,
    body: bytes,
    now: float,
    tolerance: float = TOLERANCE,
) -> str:
    """Why a receiver must not believe this webhook; empty if it may. All but ``secret`` is foreign.

    The signature comes first: that it is right, but old, is more than that it is old.
    """
    if not _SECONDS.fullmatch(timestamp):
        return "malformed: the timestamp must be whole epoch seconds"
    given = _given(signature)
    if not given:
        return 'malformed: the signature must have "v1," and base64 of 32 bytes'
    signed_at = int(timestamp)
    if not _matches(secret, id, signed_at, body, given):
        return _difference(secret, id, signed_at, body, given)
    return _untimely(now - signed_at, tolerance)


def _sign(secret: str, id: str, timestamp: int, body: str) -> str:
    return Webhook(secret).sign(id, datetime.fromtimestamp(timestamp, UTC), body)


def _given(signature: str) -> list[bytes]:
    """The digests in a header, without those of other versions, which others may add."""
    parts = [part.partition(",") for part in signature.split()]
    digests = [_decoded(coded) for version, _, coded in parts if version == "v1"]
    return [digest for digest in digests if len(digest) == _DIGEST_SIZE]


def _decoded(coded: str) -> bytes:
    try:
        return b64decode(coded, validate=True)
    except ValueError:
        return b""


def _matches(secret: str, id: str, timestamp: int, body: bytes, given: Sequence[bytes]) -> bool:
    try:
        _, _, coded = _sign(secret, id, timestamp, body.decode()).partition(",")
    except UnicodeError:  # nobody signs that: webhooks are text
        return False
    expected = b64decode(coded)
    return any(hmac.compare_digest(expected, digest) for digest in given)


def _difference(secret: str, id: str, timestamp: int, body: bytes, given: Sequence[bytes]) -> str:
    """What is wrong with the signature; the usual accidents of a body by their names."""
    for what, before in _accidents(body):
        if _matches(secret, id, timestamp, before, given):
            return what
    return _OTHER


def _accidents(body: bytes) -> Iterator[tuple[str, bytes]]:
    """What may have happened to a body, and what it would have been before."""
    yield _NEW_LINE, body.removesuffix(b"\n").removesuffix(b"\r")
    try:
        value = json.loads(body)
        yield _REWRITTEN, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return


def _untimely(age: float, tolerance: float) -> str:
    if abs(age) <= tolerance:
        return ""
    what = f"too old: signed {age:.0f} s ago" if age > 0 else f"too new: signed {-age:.0f} s ahead"
    return f"{what}, {tolerance:.0f} s are accepted"
