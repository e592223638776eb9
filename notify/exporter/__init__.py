"""The exporter: shows Prometheus what belongs to no worker, and publishes the heartbeats.

It is a process of its own, and none of those it looks at: what an archiver showed of its own
queue would be gone at the moment when it matters.
"""

from notify.exporter.run import run_exporter

__all__ = ["run_exporter"]
