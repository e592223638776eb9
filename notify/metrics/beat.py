"""What a beat counts."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from notify.metrics.process import ProcessMetrics

_LAG: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_TICK: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class BeatMetrics(ProcessMetrics):
    """The numbers of one beat."""

    def __init__(self) -> None:
        super().__init__()
        registry = self.registry
        self.leading = Gauge(
            "notify_beat_leading", "1 while this beat fires the schedules", registry=registry
        )
        self.lag_seconds = Histogram(
            "notify_schedule_lag_seconds",
            "From the planned instant of an occurrence until RabbitMQ had it",
            buckets=_LAG,
            registry=registry,
        )
        self.occurrences = Counter(
            "notify_schedule_occurrences",
            "Planned instants that are over, by what came of them",
            ["outcome"],
            registry=registry,
        )
        for outcome in ("fired", "skipped", "missed", "failed"):
            self.occurrences.labels(outcome)
        self.schedules = Gauge(
            "notify_schedules",
            "Schedules by their state, as the leading beat last counted them",
            ["state"],
            registry=registry,
        )
        self.quarantined = Counter(
            "notify_schedules_quarantined",
            "Schedules that could not be used and were set aside",
            registry=registry,
        )
        self.tick_seconds = Histogram(
            "notify_beat_tick_seconds",
            "How long one look at the schedules took, publishing included",
            buckets=_TICK,
            registry=registry,
        )
        self.clock_skew_seconds = Gauge(
            "notify_beat_clock_skew_seconds",
            "By how much this machine's clock is ahead of that of Redis",
            registry=registry,
        )
        self.clock_steps = Counter(
            "notify_beat_clock_steps", "How often this machine's clock was set", registry=registry
        )
