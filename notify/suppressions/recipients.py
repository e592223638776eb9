"""Which recipients there can be. Pure."""

from notify.errors import InvalidInput
from notify.recipients import RECIPIENT_CHECKS
from notify.spelling import canonical, digest

__all__ = ["canonical", "check", "digest"]


def check(channel: str, recipient: str) -> None:
    """Raises ``InvalidInput`` for what no notification could be sent to."""
    if channel not in RECIPIENT_CHECKS:
        raise InvalidInput(f"channel: must be one of {', '.join(RECIPIENT_CHECKS)}")
    problem = RECIPIENT_CHECKS[channel](recipient)
    if problem:
        raise InvalidInput(f"recipient: {problem}")
