"""Chooses one of a channel's providers. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Availability(StrEnum):
    """Whether a provider may be given a notification now."""

    USABLE = "usable"
    ON_TRIAL = "on trial"
    """Its breaker is half open: one message at a time, by whoever gets the permit."""
    DRAINING = "draining"
    """Only what it may have had already."""
    BREAKER_OPEN = "breaker open"
    DISABLED = "disabled"
    EXHAUSTED = "daily cap reached"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A provider as the choice sees it. ``weight`` None: in the order of the configuration."""

    name: str
    weight: float | None = None
    availability: Availability = Availability.USABLE


class NoProvider(Exception):
    """No provider may be used for this notification now; the text says why of each.

    ``everywhere``: nor for any other of the channel.
    """

    def __init__(self, why: str, *, everywhere: bool = False) -> None:
        super().__init__(why)
        self.everywhere = everywhere


class Barred(Exception):
    """The notification must not be sent at all, and has taken nobody's turn."""


def in_order(
    standings: Sequence[Standing], *, pinned: str, tried: Collection[str], draw: float
) -> list[Standing]:
    """The providers to try, best first. ``draw`` is uniform in [0, 1).

    ``pinned`` is the one that may have had the notification already: while it can be used it
    is the only one, because no other could tell the repeat. Where there are weights, one
    provider is drawn by them, and those without weight stand by.
    """
    left = [each for each in standings if each.name not in tried]
    own = [each for each in left if each.name == pinned and _usable(each, pinned=True)]
    if own:
        return own
    usable = [each for each in left if _usable(each, pinned=False)]
    drawn = _draw([each for each in usable if each.weight], draw)
    return drawn + [each for each in usable if each not in drawn]


def _usable(standing: Standing, *, pinned: bool) -> bool:
    kind = standing.availability
    if kind is Availability.DRAINING:
        return pinned
    return kind in (Availability.USABLE, Availability.ON_TRIAL)


def _draw(weighted: Sequence[Standing], draw: float) -> list[Standing]:
    """The weighted ones, the drawn one first."""
    if not weighted:
        return []
    point = draw * sum(each.weight or 0.0 for each in weighted)
    for each in weighted:
        point -= each.weight or 0.0
        if point < 0:
            return [each, *(other for other in weighted if other is not each)]
    return list(weighted)


def why_none(standings: Sequence[Standing]) -> str:
    """Why no provider can be used, in words."""
    return ", ".join(f"{each.name}: {each.availability}" for each in standings)
