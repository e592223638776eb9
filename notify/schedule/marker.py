"""What Redis knows of the database that its schedules are from: enough to see that it lost some.

A hash beside the schedules has the database's ``identity``; the number of the last ``change`` that
Redis is known to have; and a ``pulse`` that goes up with each look. All three are in the database
as well. No hash: Redis was emptied. A lower number: it is an older Redis than the one that was
there before, brought back from a copy, or by a replica that had not got everything.
"""

from dataclasses import dataclass
from typing import Any, cast

from notify.redisclient import translated
from notify.schedule.shelf import Shelf


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """As it was written last."""

    identity: int
    change: int
    pulse: int


class Marker:
    """Methods raise ``LedgerUnavailable``."""

    def __init__(self, shelf: Shelf) -> None:
        self._redis = shelf.redis
        self.key = f"{shelf.prefix}:truth"

    def read(self) -> Mark | None:
        with translated():
            found = cast("dict[str, str]", self._redis.hgetall(self.key))
        try:
            return Mark(**{name: int(found[name]) for name in ("identity", "change", "pulse")})
        except (KeyError, ValueError):
            return None

    def write(self, mark: Mark) -> None:
        values: dict[Any, Any] = {"identity": mark.identity, "change": mark.change}
        with translated():
            self._redis.hset(self.key, mapping=values | {"pulse": mark.pulse})

    def foreign(self, identity: int) -> bool:
        """Whether the schedules in Redis are those of another database."""
        mark = self.read()
        return mark is not None and mark.identity != identity
