"""What each process counts, for Prometheus.

Names follow Prometheus's conventions: base units, ``_total`` for what only grows. Label values
come from the configuration and from closed sets, never from a notification; what is not in such
a set is counted as ``other``.
"""

from notify.metrics.archiver import ArchiverMetrics
from notify.metrics.beat import BeatMetrics
from notify.metrics.exporter import ExporterMetrics
from notify.metrics.labels import folded
from notify.metrics.process import ProcessMetrics
from notify.metrics.worker import Metrics

__all__ = [
    "ArchiverMetrics",
    "BeatMetrics",
    "ExporterMetrics",
    "Metrics",
    "ProcessMetrics",
    "folded",
]
