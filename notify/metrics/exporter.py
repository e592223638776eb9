"""What belongs to no worker: the queues, RabbitMQ, Redis, and how the heartbeats fare."""

from prometheus_client import Counter, Gauge, Histogram

from notify.metrics.process import ProcessMetrics

_BEAT = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_QUEUE = ("queue", "role", "channel", "priority")


class ExporterMetrics(ProcessMetrics):
    """The numbers of one exporter process.

    ``role`` is ``work``, ``delay`` or ``dead``. What could not be asked is left out, not zero.
    """

    def __init__(self) -> None:
        super().__init__()
        self._show_queues()
        self._show_broker()
        self._show_redis()
        self._show_heartbeats()
        self.looked = self._gauge(
            "notify_exporter_last_look_timestamp_seconds",
            "When RabbitMQ and Redis were last asked, whatever they answered",
        )

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(name, meaning, labels, registry=self.registry)

    def _show_queues(self) -> None:
        self.messages = self._gauge(
            "notify_queue_messages",
            "Messages in a queue: ready, unacknowledged, or held_back (their dead lettering fails)",
            *_QUEUE,
            "state",
        )
        self.consumers = self._gauge("notify_queue_consumers", "Consumers of a queue", *_QUEUE)
        self.oldest = self._gauge(
            "notify_queue_oldest_age_seconds",
            "The oldest ready message is no older than this; 0 without one",
            *_QUEUE,
        )
        self.missing = self._gauge("notify_queue_missing", "1 while it does not exist", *_QUEUE)

    def _show_broker(self) -> None:
        self.broker_up = self._gauge(
            "notify_broker_up", "1 while RabbitMQ's management API answers"
        )
        self.alarms = self._gauge(
            "notify_broker_alarm", "1 while a node is short of memory or disk", "node", "kind"
        )

    def _show_redis(self) -> None:
        self.redis_up = self._gauge("notify_redis_up", "1 while Redis answers")
        self.redis_used = self._gauge("notify_redis_memory_used_bytes", "Memory that Redis uses")
        self.redis_limit = self._gauge(
            "notify_redis_memory_max_bytes", "The memory that Redis may use; 0 without a limit"
        )
        self.redis_evicted = Counter(
            "notify_redis_evicted_keys",
            "Keys that Redis threw away while this process looked on",
            registry=self.registry,
        )
        self.redis_keys = self._gauge(
            "notify_redis_keys", "Keys in the database of Redis: mostly one for each notification"
        )
        self.redis_replicas = self._gauge("notify_redis_replicas", "Replicas that are connected")
        self.intact_since = self._gauge(
            "notify_ledger_intact_since_timestamp_seconds",
            "Since when the ledger has lost no record, as far as it can tell; 0 if it cannot",
        )
        self.losses = Counter(
            "notify_ledger_losses",
            "How often the ledger was seen to have lost records",
            registry=self.registry,
        )
        self.at_risk = self._gauge(
            "notify_ledger_deliveries_at_risk",
            "The most deliveries since then that may repeat one whose record was lost",
        )

    def _show_heartbeats(self) -> None:
        queue = ("channel", "priority")
        self.heartbeat_success = self._gauge(
            "notify_heartbeat_last_success_timestamp_seconds",
            "When the last heartbeat was settled by a worker; 0 if none was seen",
            *queue,
        )
        self.heartbeat_seconds = Histogram(
            "notify_heartbeat_seconds",
            "From publishing a heartbeat until a worker settled it",
            queue,
            buckets=_BEAT,
            registry=self.registry,
        )
        self.heartbeats_sent = Counter(
            "notify_heartbeats_published",
            "Heartbeats by what became of publishing them",
            [*queue, "outcome"],
            registry=self.registry,
        )
