"""Looking at RabbitMQ and Redis. What does not answer is left out of the metrics: an old number
would pass for a new one."""

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from notify.config import Settings
from notify.errors import LedgerUnavailable, ManagementUnavailable
from notify.ledger import Health, Ledger
from notify.management import Management
from notify.metrics import ExporterMetrics
from notify.queuestate import queue_states
from notify.telemetry import event
from notify.topology import DEAD, rung, work_queue

log = logging.getLogger(__name__)

_STATES = ("ready", "unacknowledged", "held_back")
Queue = tuple[str, str]
"""Channel and priority."""


class _NoProgress:
    """In place of a ledger that does not answer."""

    def progress(self, queues: Sequence[str]) -> dict[str, int]:
        return {}

    def now(self) -> datetime:
        return datetime.now(UTC)


class Sampler:
    """Asks both servers, and notes what they say. For one thread; raises nothing."""

    def __init__(
        self, settings: Settings, api: Management, ledger: Ledger, metrics: ExporterMetrics
    ) -> None:
        self._settings = settings
        self._api = api
        self._ledger = ledger
        self._metrics = metrics
        self._labels = _labels(settings)
        self._up: dict[str, bool] = {}
        self._evicted: int | None = None
        self._since: datetime | None = None

    def look(self) -> Mapping[Queue, int]:
        """The consumers of each work queue, as far as RabbitMQ tells."""
        try:
            return self._look()
        finally:
            self._metrics.looked.set(time.time())

    def _look(self) -> Mapping[Queue, int]:
        redis = self._look_at_redis()
        try:
            states = queue_states(
                self._settings, self._api, self._ledger if redis else _NoProgress()
            )
            alarms = self._api.node_alarms()
        except ManagementUnavailable as error:
            self._forget_broker(error)
            return {}
        except LedgerUnavailable as error:
            self._forget_redis(error)
            return {}
        self._note("rabbitmq", None)
        self._metrics.broker_up.set(1)
        self._show_alarms(alarms)
        for state in states:
            self._show_queue(state, ages=redis)
        work = {work_queue(*pair): pair for pair in self._settings.queues()}
        return {work[s["name"]]: s["consumers"] for s in states if s["name"] in work}

    def _look_at_redis(self) -> bool:
        try:
            health = self._ledger.health()
        except LedgerUnavailable as error:
            self._forget_redis(error)
            return False
        self._note("redis", None)
        self._show_redis(health)
        return True

    def _note(self, server: str, error: Exception | None) -> None:
        """Says once that a server does not answer, and once that it does again."""
        if self._up.get(server, True) is not (error is None):
            if error is None:
                log.info("answers again", extra=event(server=server))
            else:
                log.warning("does not answer", extra=event(server=server, problem=str(error)))
        self._up[server] = error is None

    def _forget_broker(self, error: ManagementUnavailable) -> None:
        self._note("rabbitmq", error)
        metrics = self._metrics
        metrics.broker_up.set(0)
        for each in (metrics.messages, metrics.consumers, metrics.missing, metrics.alarms):
            each.clear()
        metrics.oldest.clear()

    def _forget_redis(self, error: LedgerUnavailable) -> None:
        self._note("redis", error)
        self._metrics.redis_up.set(0)
        self._metrics.oldest.clear()

    def _show_alarms(self, alarms: Mapping[tuple[str, str], bool]) -> None:
        self._metrics.alarms.clear()
        for place, in_force in alarms.items():
            self._metrics.alarms.labels(*place).set(in_force)

    def _show_queue(self, state: Mapping[str, Any], *, ages: bool) -> None:
        metrics, labels = self._metrics, self._labels[state["name"]]
        for each in _STATES:
            metrics.messages.labels(*labels, each).set(state[each])
        metrics.consumers.labels(*labels).set(state["consumers"])
        metrics.missing.labels(*labels).set(not state["exists"])
        if ages and (state["oldest_at_most"] is not None or not state["ready"]):
            metrics.oldest.labels(*labels).set(state["oldest_at_most"] or 0.0)

    def _show_redis(self, health: Health) -> None:
        metrics, since = self._metrics, health.intact_since
        metrics.redis_up.set(1)
        metrics.redis_used.set(health.used_bytes)
        metrics.redis_limit.set(health.limit_bytes)
        metrics.redis_keys.set(health.keys)
        metrics.redis_replicas.set(health.replicas)
        metrics.intact_since.set(since.timestamp() if since else 0)
        metrics.at_risk.set(health.at_risk)
        if self._since is not None and since != self._since:
            metrics.losses.inc()
        self._since = since
        known = health.evicted if self._evicted is None else self._evicted
        metrics.redis_evicted.inc(max(0, health.evicted - known))
        self._evicted = health.evicted


def _labels(settings: Settings) -> dict[str, tuple[str, str, str, str]]:
    """Name, role, channel and priority of each queue of the topology."""
    work = [(work_queue(c, p), "work", c, p) for c, p in settings.queues()]
    rungs = [
        (rung(p, seconds), "delay", "", p)
        for p in ("urgent", "normal")
        for seconds in settings.broker.rungs
    ]
    return {each[0]: each for each in [(DEAD, "dead", "", ""), *work, *rungs]}
