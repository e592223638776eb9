"""All scenarios, in the order in which they run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benching.scenarios import (
    delivering,
    emailing,
    laddering,
    prioritising,
    publishing,
    scaling,
    slow,
    steady,
    stores,
    workers,
)
from benching.stage import Stage
from benching.values import Findings


@dataclass(frozen=True, kw_only=True)
class Scenario:
    name: str
    title: str
    run: Callable[[Stage], Findings]


SCENARIOS: Final = (
    Scenario(name="publish", title="Publishing, each confirmed", run=publishing.run),
    Scenario(name="deliver", title="Delivering to an instant gateway", run=delivering.run),
    Scenario(name="workers", title="More workers with a share each", run=workers.run),
    Scenario(name="slow", title="A gateway that takes 200 ms", run=slow.run),
    Scenario(name="email", title="Email over reused connections", run=emailing.run),
    Scenario(name="ladder", title="Through the delay ladder", run=laddering.run),
    Scenario(name="priority", title="Urgent beside many normal ones", run=prioritising.run),
    Scenario(name="scale", title="Cost of one with more queued", run=scaling.run),
    Scenario(name="soak", title="A worker at full rate for long", run=steady.soak),
    Scenario(name="idle", title="An idle worker", run=steady.idle),
    Scenario(name="schedules", title="Schedules", run=stores.schedules),
    Scenario(name="archive", title="Archive", run=stores.archive),
)
