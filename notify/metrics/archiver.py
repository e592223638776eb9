"""What an archiver counts."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from notify.metrics.labels import OTHER, REASONS
from notify.metrics.process import ProcessMetrics
from notify.notification import CHANNELS

_COMMIT: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_BATCH: Final = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
_LAG: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 86400)


class ArchiverMetrics(ProcessMetrics):
    """The numbers of one archiver process."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = Counter(
            "notify_dead_letters",
            "Dead letters committed to the archive, repeats included",
            ["channel", "reason"],
            registry=self.registry,
        )
        # From the beginning, so that the first of a kind is seen as one more than none.
        for channel in ("", *CHANNELS):
            for reason in (*REASONS, OTHER):
                self.letters.labels(channel, reason)
        self.commit_seconds = Histogram(
            "notify_archive_commit_seconds",
            "How long storing one batch of dead letters took",
            buckets=_COMMIT,
            registry=self.registry,
        )
        self.batch_letters = Histogram(
            "notify_archive_batch_letters",
            "Dead letters in one batch",
            buckets=_BATCH,
            registry=self.registry,
        )
        self.lag_seconds = Histogram(
            "notify_archive_lag_seconds",
            "From the death of a letter until it was archived",
            buckets=_LAG,
            registry=self.registry,
        )
        self._show()

    def _show(self) -> None:
        self.oldest_seconds = Gauge(
            "notify_archive_oldest_waiting_seconds",
            "Age of the oldest letter that the archiver holds and has not stored; 0 without one",
            registry=self.registry,
        )
        self.failures = Counter(
            "notify_archive_failures",
            "Batches that could not be stored; their letters are in RabbitMQ",
            registry=self.registry,
        )
        self.up = Gauge(
            "notify_archive_up",
            "1 while the archive can be used, as far as the last try tells",
            registry=self.registry,
        )
        self.care = Counter(
            "notify_care_letters",
            "Dead letters by the rule of automatic care, and what it did with them",
            ["rule", "done"],
            registry=self.registry,
        )
        self.purged = Counter(
            "notify_purged_letters",
            "Dead letters that were deleted because their time was over",
            registry=self.registry,
        )
        self.heartbeats_dropped = Counter(
            "notify_heartbeats_dropped",
            "Heartbeats that came to the queue of the dead, and were not archived",
            registry=self.registry,
        )
