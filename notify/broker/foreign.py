"""Messages whose properties py-amqp cannot read."""

from typing import Any

from amqp.serialization import PROPERTY_CLASSES, decode_properties_basic
from amqp.spec import Basic


def tolerate_foreign_properties() -> None:
    """From now on such a message has no properties, instead of ending the process.

    A property that is not UTF-8, or a header that names a time beyond the year 9999, is an
    exception in the middle of reading from the socket: each delivery of that one message
    would cost the worker its connection, and the messages behind it a delivery.
    """
    PROPERTY_CLASSES[Basic.CLASS_ID] = _readable


def _readable(content: bytes, offset: int) -> tuple[dict[str, Any], int]:
    try:
        properties, end = decode_properties_basic(content, offset)
    except (ValueError, OverflowError, OSError):
        return {}, len(content)
    return properties, end
