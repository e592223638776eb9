"""What is known of a recipient that gets nothing, or may soon get nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

# The reason of an endpoint that was given up after nothing but failures.
ENDPOINT_FAILING: Final = "endpoint_failing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppression:
    """A recipient that gets nothing through a channel, ``since`` then, until it is removed.

    ``source`` is where that comes from: a provider's name, "operator" or "notify"; ``by`` is
    who and why, for people. ``digest`` stands for the recipient where it must not be shown.
    ``unreported`` while somebody has still to be told.
    """

    channel: str
    recipient: str
    digest: str
    reason: str
    source: str
    by: str
    since: datetime
    unreported: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Failing:
    """A recipient with nothing but failures since its last success."""

    channel: str
    recipient: str
    digest: str
    failures: int
    since: datetime
    last: datetime


def read_suppression(channel: str, digest: str, values: Mapping[str, str]) -> Suppression | None:
    """From the fields of a hash; None where there is none."""
    if not values:
        return None
    return Suppression(
        channel=channel,
        recipient=values["recipient"],
        digest=digest,
        reason=values["reason"],
        source=values["source"],
        by=values["by"],
        since=_instant(values["since"]),
        unreported="unreported" in values,
    )


def read_failing(channel: str, digest: str, values: Mapping[str, str]) -> Failing | None:
    """Like ``read_suppression``."""
    if not values:
        return None
    return Failing(
        channel=channel,
        recipient=values["recipient"],
        digest=digest,
        failures=int(values["failures"]),
        since=_instant(values["first"]),
        last=_instant(values["last"]),
    )


def _instant(micros: str) -> datetime:
    return datetime.fromtimestamp(int(micros) / 1e6, UTC)
