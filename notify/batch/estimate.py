"""How long the delivery of many takes at the limits that are configured. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from notify.config import Settings
from notify.config.limits import LimitSettings
from notify.config.models import ChannelSettings

_DAY: Final = 86400.0


@dataclass(kw_only=True, slots=True)
class Load:
    """What the rows of one channel are together."""

    messages: int = 0
    segments: int = 0
    bytes: int = 0


def estimate(loads: Mapping[str, Load], settings: Settings) -> dict[str, float | None]:
    """Seconds for each channel, None where no limit says anything."""
    return {name: seconds(load, settings.channel(name)) for name, load in loads.items()}


def seconds(load: Load, channel: ChannelSettings) -> float | None:
    """As long as the slowest of the providers takes that share the load.

    Nothing else is under way, nothing fails, and all is of normal priority; a day's cap is
    counted from now.
    """
    times = [_provider(load, share, limits) for share, limits in _shares(channel)]
    known = [time for time in times if time is not None]
    return max(known, default=None)


def _shares(channel: ChannelSettings) -> Sequence[tuple[float, LimitSettings]]:
    """With weights they share; without, the first one has all while it can be used."""
    weights = [(provider.weight or 0.0, provider.limits) for provider in channel.providers]
    total = sum(weight for weight, _ in weights)
    if not total:
        return [(1.0, channel.providers[0].limits)]
    return [(weight / total, limits) for weight, limits in weights if weight]


def _provider(load: Load, share: float, limits: LimitSettings) -> float | None:
    messages = load.messages * share
    paced = None if limits.rate is None else getattr(load, limits.unit) * share / limits.rate
    if limits.daily is None:
        return paced
    cap = limits.for_normal(limits.daily)
    days = max(0, math.ceil(messages / cap) - 1)
    # What is left for the last day goes at the same rate as all of it.
    last = (messages - days * cap) / messages if messages else 0.0
    return max(paced or 0.0, days * _DAY + (paced or 0.0) * last)
