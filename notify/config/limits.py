"""What a provider's account allows, and when it counts as down."""

import math
import re
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from notify.config.types import Duration, Number, Strict, Whole

_PER: dict[str, float] = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*([smhd])")
# A thread holds a message while it waits for its turn; RabbitMQ takes it back after 30 minutes.
LONGEST_TURN = 600.0


def parse_rate(value: Any) -> float:
    """Units per second from text such as ``"50/s"`` or ``"20/m"``. Raises ``ValueError``."""
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError('must be a rate such as "50/s", "20/m" or "1000/h"')
    rate = float(match[1]) / _PER[match[2]]
    if not 1 / 600 <= rate <= 100_000:
        raise ValueError("must be between 6/h and 100000/s")
    return rate


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("is no time zone of the IANA database") from None
    return name


Rate = Annotated[float, BeforeValidator(parse_rate)]
Zone = Annotated[str, AfterValidator(_known_zone)]


class LimitSettings(Strict):
    """Limits of one provider, shared by all workers; what is not set is not limited."""

    rate: Rate | None = None
    unit: Literal["messages", "segments", "bytes"] = "messages"
    burst: Whole = Field(default=0, ge=0, le=10_000_000)
    concurrency: Whole | None = Field(default=None, ge=1, le=10_000)
    daily: Whole | None = Field(default=None, ge=1)
    daily_zone: Zone = "UTC"
    urgent_share: Number = Field(default=0.2, ge=0.0, le=0.9)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.burst and self.rate is None:
            raise ValueError("burst needs rate")
        for name in ("concurrency", "daily"):
            if getattr(self, name) is not None and self.for_normal(getattr(self, name)) < 1:
                raise ValueError(
                    f"{name}: urgent_share leaves nothing for normal; raise {name},"
                    " or set urgent_share = 0"
                )
        return self

    def for_normal(self, whole: int) -> int:
        """What normal notifications may use of a cap; the rest is kept for urgent ones."""
        return math.floor(whole * (1 - self.urgent_share) + 1e-9)

    @property
    def any(self) -> bool:
        return any(value is not None for value in (self.rate, self.concurrency, self.daily))


class BreakerSettings(Strict):
    """When a provider counts as down, and how it is tried again."""

    enabled: bool = True
    window: Duration = 30.0
    minimum: Whole = Field(default=10, ge=1, le=100_000)
    error_rate: Number = Field(default=0.5, gt=0.0, le=1.0)
    open_for: Duration = 10.0
    longest: Duration = 120.0

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.longest < self.open_for:
            raise ValueError("longest must not be shorter than open_for")
        return self


class Window(Strict):
    """At most so many messages in any stretch of that length."""

    messages: Whole = Field(ge=1, le=10_000)
    per: Duration


class ThrottleSettings(Strict):
    """How many messages one recipient gets, whoever sends them."""

    per_recipient: tuple[Window, ...] = Field(default=(), max_length=5)
    same_content: tuple[Window, ...] = Field(default=(), max_length=5)
