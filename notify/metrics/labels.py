"""Values of labels: few, and known before anything is counted."""

from collections.abc import Container
from typing import Final

from notify.notification import CHANNELS, PRIORITIES
from notify.outcomes import Reason

OTHER: Final = "other"
REASONS: Final = frozenset(map(str, Reason))


def folded(value: str | None, known: Container[str]) -> str:
    """The value where it is known, "" where there is none, and else "other"."""
    return "" if not value else value if value in known else OTHER


def reason(value: str | None) -> str:
    """A reason may be a stranger's, or one of another version of ours."""
    return folded(value, REASONS)


def channel(value: str | None) -> str:
    return folded(value, CHANNELS)


def priority(value: str | None) -> str:
    return folded(value, PRIORITIES)
