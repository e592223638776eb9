"""What of a worker is looked at when Prometheus asks."""

from functools import partial

from notify.config import Settings
from notify.deliver import Pipeline
from notify.worker.gate import Gate


def show_metrics(settings: Settings, pipeline: Pipeline, gate: Gate, priority: str) -> None:
    """Serves the metrics of the worker of one queue."""
    metrics, channel = pipeline.tools.metrics, pipeline.name
    fleet = pipeline.tools.router.fleet
    metrics.sending.labels(channel, priority).set_function(lambda: len(pipeline.sending))
    metrics.paused.labels(channel, priority).set_function(lambda: bool(gate.reason))
    for name in fleet.names:
        down = metrics.breaker_open.labels(channel, name)
        down.set_function(partial(fleet.breaker_open, name))
    metrics.serve(settings.metrics.address, settings.metrics_port(channel, priority))
