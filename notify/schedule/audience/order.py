"""One firing for many, as its batch has it noted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

from notify.errors import InvalidInput
from notify.schedule.spec import ScheduleSpec
from notify.store.batches import Batch
from notify.store.firingbatches import KIND


@dataclass(frozen=True, kw_only=True, slots=True)
class FanOrder:
    """The schedule as it was when it fired; the same for all of the batch's life.

    ``host`` is where the rows were read first, and ``why`` the batch was paused by whoever ran
    it; both are empty before.
    """

    spec: ScheduleSpec
    planned: datetime
    actual: datetime
    host: str = ""
    why: str = ""

    @property
    def batch(self) -> str:
        return batch_name(self.spec.name, self.planned)

    def evolve(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The source of its batch."""
        values = {
            # The first: this is what they are found by.
            "kind": KIND,
            "schedule": self.spec.name,
            "planned": self.planned.astimezone(UTC).isoformat(),
            "actual": self.actual.astimezone(UTC).isoformat(),
            "spec": self.spec.to_dict(),
        }
        return values | {k: v for k, v in (("host", self.host), ("why", self.why)) if v}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Raises ``InvalidInput`` for what another version wrote."""
        try:
            return cls(
                spec=ScheduleSpec.from_dict(values["spec"]),
                planned=datetime.fromisoformat(values["planned"]),
                actual=datetime.fromisoformat(values["actual"]),
                host=values.get("host", ""),
                why=values.get("why", ""),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"batch: cannot be read: {type(error).__name__}") from error


def is_firing(batch: Batch) -> bool:
    """Whether a batch is what a schedule sends to its audience."""
    return batch.source.get("kind") == KIND


def batch_name(schedule: str, planned: datetime) -> str:
    """The same for the same firing. With the longest name it is as long as a batch's may be;
    what is no whole second is told by six more digits."""
    instant = planned.astimezone(UTC)
    fraction = f"{instant.microsecond:06}" if instant.microsecond else ""
    return f"schedule-{schedule}-{instant:%Y%m%dT%H%M%S}{fraction}Z"
