"""What of a worker is looked at when Prometheus asks."""

from functools import partial

from notify.config import Settings
from notify.deliver import Pipeline
from notify.worker.gate import Gate


def show_metrics(
    settings: Settings, pipeline: Pipeline, gate: Gate, priority: str, number: str = ""
) -> None:
    """Serves the metrics of the worker of one queue; ``number`` tells several on one host apart."""
    metrics, channel = pipeline.tools.metrics, pipeline.name
    fleet = pipeline.tools.router.fleet
    metrics.begin(channel, priority, fleet.names)
    metrics.sending.labels(channel, priority).set_function(lambda: len(pipeline.sending))
    metrics.held.labels(channel, priority).set_function(lambda: pipeline.holding)
    metrics.paused.labels(channel, priority).set_function(lambda: bool(gate.reason))
    for name in fleet.names:
        down = metrics.breaker_open.labels(channel, name)
        down.set_function(partial(fleet.breaker_open, name))
    copy = int(number) if number.isdecimal() and number.isascii() else 1
    metrics.serve(settings, channel, priority, copy=copy)
