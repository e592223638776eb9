"""Making pika survive headers that Python has no value for.

A timestamp beyond the year 9999 (milliseconds taken for seconds) or a table nested a
thousand levels deep passes RabbitMQ and makes pika drop the connection at every delivery:
the message would come back for ever and stop the archive. With this, the innermost table
that cannot be decoded becomes its bytes.
"""

import struct
from typing import Any, Final

import pika.data

UNDECODABLE: Final = "notify-undecodable"

_decode_table = pika.data.decode_table


def tolerate_any_table() -> None:
    """Affects all of pika in this process, of which the archiver is the only user."""
    pika.data.decode_table = _tolerant


def _tolerant(encoded: bytes, offset: int) -> tuple[dict[str, Any], int]:
    try:
        return _decode_table(encoded, offset)  # type: ignore[no-any-return]
    except Exception:
        (length,) = struct.unpack_from(">I", encoded, offset)
        start = offset + 4
        return {UNDECODABLE: encoded[start : start + length]}, start + length
