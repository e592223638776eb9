"""What becomes of firings whose time has passed while no beat could fire them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from notify.config.types import parse_duration
from notify.errors import InvalidInput

ON_TIME: Final = 30.0
"""Seconds: a beat takes over from another within these, so that less is never a misfire."""
SKIP: Final = "skip"
RUN_LATEST: Final = "run-latest"
RUN_ALL: Final = "run-all"
POLICIES: Final = (SKIP, RUN_LATEST, RUN_ALL)
_GRACE: Final = 3600.0
_LONGEST: Final = 366 * 86400.0
_MOST: Final = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Misfire:
    """What is later than ``ON_TIME`` is a misfire, and what is later than ``grace`` never runs.

    "run-latest" runs the last one that was missed, unless one on time makes up for it;
    "run-all" runs the last ``cap`` of them, oldest first; "skip" is "run-latest" with a grace of
    ``ON_TIME``, unless another is given. The usual grace of an hour lets a morning's message
    survive a restart, not a day: what arrives in the evening would surprise.
    """

    policy: str = RUN_LATEST
    grace: float = _GRACE
    cap: int = 10

    def to_dict(self) -> dict[str, Any]:
        values = {"policy": self.policy, "grace": self.grace}
        return values | {"cap": self.cap} if self.policy == RUN_ALL else values

    def describe(self) -> str:
        """In words."""
        cap = f" of {self.cap}" if self.policy == RUN_ALL else ""
        return f"{self.policy}{cap} within {self.grace:g} s"


def parse_misfire(values: Any) -> Misfire:
    """Reads a policy, or an object with policy, grace and cap. Raises ``InvalidInput``."""
    given = {"policy": values} if isinstance(values, str) else values
    if not isinstance(given, Mapping):
        raise InvalidInput(f"misfire: must be one of {', '.join(POLICIES)}, or a table")
    for name in given:
        if name not in ("policy", "grace", "cap"):
            raise InvalidInput("misfire: has an unknown key; known: policy, grace, cap")
    policy = given.get("policy", RUN_LATEST)
    if policy not in POLICIES:
        raise InvalidInput(f"misfire.policy: must be one of {', '.join(POLICIES)}")
    grace = _grace(given.get("grace", ON_TIME if policy == SKIP else _GRACE))
    if "cap" in given and policy != RUN_ALL:
        raise InvalidInput(f"misfire.cap: is for {RUN_ALL} only")
    return Misfire(policy=policy, grace=grace, cap=_cap(given.get("cap", 10)))


def _grace(value: Any) -> float:
    try:
        grace = parse_duration(value)
    except ValueError as error:
        raise InvalidInput(f"misfire.grace: {error}") from None
    if not ON_TIME <= grace <= _LONGEST:
        raise InvalidInput(
            f"misfire.grace: must be from {ON_TIME:g} s, within which another beat takes over,"
            " to a year"
        )
    return grace


def _cap(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise InvalidInput(f"misfire.cap: must be a whole number from 1 to {_MOST}")
    return value
