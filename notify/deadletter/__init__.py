"""Dead letters: notifications that could not be delivered, and why."""

from notify.deadletter.form import CONTENT_TYPE, encode
from notify.deadletter.reading import read
from notify.deadletter.value import DeadLetter, from_envelope, identity

__all__ = ["CONTENT_TYPE", "DeadLetter", "encode", "from_envelope", "identity", "read"]
