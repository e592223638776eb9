#!/usr/bin/env python3
"""Writes the dashboards beside this file: overview.json and channel.json.

Import them into Grafana 9 or later; the data source is asked for. Change a dashboard here, not
there: ``ops/grafana/build.py`` and the tests compare what is here with what was written.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDE, HIGH, ROW = 24, 8, 3


@dataclass(frozen=True, kw_only=True)
class Panel:
    """``queries`` are expressions and their legends; ``good`` says what good looks like."""

    title: str
    good: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    kind: str = "timeseries"


def quantile(share: str, name: str, by: str, where: str = "") -> str:
    rate = f"rate({name}_bucket{{{where}}}[$__rate_interval])"
    return f"histogram_quantile({share}, sum by (le, {by}) ({rate}))".replace("{}", "")


def rate(name: str, by: str, where: str = "") -> str:
    return f"sum by ({by}) (rate({name}{{{where}}}[$__rate_interval]))".replace("{}", "")


QUEUE = "{{channel}} {{priority}}"
OVERVIEW: Sequence[tuple[str, Sequence[Panel]]] = (
    (
        "Does it work?",
        (
            Panel(
                title="Alerts that fire",
                good="Empty.",
                queries=[('ALERTS{alertname=~"Notify.+",alertstate="firing"}', "{{alertname}}")],
                kind="table",
            ),
            Panel(
                title="Since the last heartbeat",
                good="Saw teeth below 75 s for every queue. A normal one may wait behind a batch.",
                queries=[
                    (
                        "time() - max by (channel, priority)"
                        " (notify_heartbeat_last_success_timestamp_seconds)",
                        QUEUE,
                    )
                ],
                unit="s",
            ),
            Panel(
                title="Delivered per second",
                good="What you publish. It may fall to zero at night: heartbeats go on.",
                queries=[
                    (
                        rate("notify_notifications_total", "channel", 'done="delivered"'),
                        "{{channel}}",
                    )
                ],
                unit="ops",
            ),
            Panel(
                title="Urgent: from publishing to delivery, 95 of 100",
                good="Around a second, or what the provider takes.",
                queries=[
                    (
                        quantile("0.95", "notify_delivery_seconds", "channel", 'priority="urgent"'),
                        "{{channel}}",
                    )
                ],
                unit="s",
            ),
            Panel(
                title="Dead letters per minute",
                good="A few per thousand delivered, with reasons about recipients.",
                queries=[
                    ("sum by (reason) (rate(notify_dead_letters_total[5m])) * 60 > 0", "{{reason}}")
                ],
            ),
            Panel(
                title="Providers that count as down",
                good="Zero everywhere.",
                queries=[
                    (
                        "max by (channel, provider) (notify_breaker_open)",
                        "{{channel}} {{provider}}",
                    )
                ],
            ),
        ),
    ),
    (
        "Queues",
        (
            Panel(
                title="Ready messages",
                good="Near zero; a hill during a batch that comes down again.",
                queries=[
                    (
                        "max by (channel, priority)"
                        ' (notify_queue_messages{role="work",state="ready"})',
                        QUEUE,
                    )
                ],
            ),
            Panel(
                title="Age of the oldest message",
                good="Urgent: seconds. Normal: as long as a batch takes.",
                queries=[
                    (
                        'max by (channel, priority) (notify_queue_oldest_age_seconds{role="work"})',
                        QUEUE,
                    )
                ],
                unit="s",
            ),
            Panel(
                title="Waiting for a retry, by rung",
                good="Few, and on the short rungs. Full long rungs: a provider fails for hours.",
                queries=[
                    (
                        'max by (queue) (notify_queue_messages{role="delay",state="ready"}) > 0',
                        "{{queue}}",
                    )
                ],
            ),
            Panel(
                title="Consumers",
                good="As many as you run workers, for every queue; one or more for notify.dead.",
                queries=[('max by (queue) (notify_queue_consumers{role!="delay"})', "{{queue}}")],
            ),
            Panel(
                title="Held back, missing",
                good="Zero: whatever is held back cannot leave its queue.",
                queries=[
                    (
                        'max by (queue) (notify_queue_messages{state="held_back"}) > 0',
                        "{{queue}} held back",
                    ),
                    ("max by (queue) (notify_queue_missing) > 0", "{{queue}} missing"),
                ],
            ),
            Panel(
                title="Publishes that were not confirmed, per second",
                good="Zero.",
                queries=[
                    (
                        rate("notify_publishes_total", "process, outcome", 'outcome!="confirmed"'),
                        "{{process}} {{outcome}}",
                    )
                ],
            ),
        ),
    ),
    (
        "Servers",
        (
            Panel(
                title="RabbitMQ and Redis answer",
                good="One.",
                queries=[
                    ("max(notify_broker_up)", "RabbitMQ"),
                    ("max(notify_redis_up)", "Redis"),
                    ("max by (node, kind) (notify_broker_alarm) > 0", "{{node}} {{kind}} alarm"),
                ],
            ),
            Panel(
                title="Redis: share of its memory in use",
                good="Below 70 %, and level over days.",
                queries=[
                    (
                        "max(notify_redis_memory_used_bytes / (notify_redis_memory_max_bytes > 0))",
                        "used",
                    )
                ],
                unit="percentunit",
            ),
            Panel(
                title="Redis: keys, evictions, replicas",
                good="Keys follow what was sent within the retention; no eviction, ever.",
                queries=[
                    ("max(notify_redis_keys)", "keys"),
                    (
                        "sum(increase(notify_redis_evicted_keys_total[1h]))",
                        "evicted within an hour",
                    ),
                    ("max(notify_redis_replicas)", "replicas"),
                ],
            ),
            Panel(
                title="Ledger: losses and deliveries at risk",
                good="Zero.",
                queries=[
                    ("sum(increase(notify_ledger_losses_total[1h]))", "losses within an hour"),
                    ("max(notify_ledger_deliveries_at_risk)", "deliveries at risk"),
                ],
            ),
        ),
    ),
    (
        "Archive",
        (
            Panel(
                title="From death to archive, 95 of 100",
                good="Below a second.",
                queries=[(quantile("0.95", "notify_archive_lag_seconds", "process"), "lag")],
                unit="s",
            ),
            Panel(
                title="Waiting to be archived",
                good="Zero but for moments.",
                queries=[
                    ('max(notify_queue_messages{role="dead",state="ready"})', "in notify.dead"),
                    ("max(notify_archive_oldest_waiting_seconds)", "oldest held, seconds"),
                ],
            ),
            Panel(
                title="One commit, 95 of 100",
                good="Tens of milliseconds.",
                queries=[(quantile("0.95", "notify_archive_commit_seconds", "process"), "commit")],
                unit="s",
            ),
            Panel(
                title="Letters in a batch, mean",
                good="One on a quiet day; up to archive.batch_size when much dies at once.",
                queries=[
                    (
                        "sum(rate(notify_archive_batch_letters_sum[$__rate_interval]))"
                        " / sum(rate(notify_archive_batch_letters_count[$__rate_interval]))",
                        "letters",
                    ),
                    ("sum(increase(notify_archive_failures_total[5m]))", "failed within 5 minutes"),
                ],
            ),
        ),
    ),
    (
        "Schedules",
        (
            Panel(
                title="Leading beats",
                good="One in sum.",
                queries=[("sum(notify_beat_leading)", "leading")],
            ),
            Panel(
                title="Late by, 95 of 100",
                good="Below two seconds.",
                queries=[(quantile("0.95", "notify_schedule_lag_seconds", "job"), "lag")],
                unit="s",
            ),
            Panel(
                title="Occurrences per hour",
                good="As planned, and none that was missed.",
                queries=[
                    (
                        "sum by (outcome) (increase(notify_schedule_occurrences_total[1h]))",
                        "{{outcome}}",
                    )
                ],
            ),
            Panel(
                title="Schedules by state",
                good="None is quarantined.",
                queries=[("max by (state) (notify_schedules)", "{{state}}")],
            ),
        ),
    ),
    (
        "Processes",
        (
            Panel(
                title="Up",
                good="One for each process.",
                queries=[('up{job="notify"}', "{{process}} {{instance}}")],
            ),
            Panel(
                title="Starts within an hour",
                good="Zero, but for deployments.",
                queries=[
                    (
                        'changes(process_start_time_seconds{job="notify"}[1h])',
                        "{{process}} {{instance}}",
                    )
                ],
            ),
            Panel(
                title="Memory",
                good="Level over days, around 100 MB each.",
                queries=[
                    (
                        'process_resident_memory_bytes{job="notify"}',
                        "{{process}} {{instance}}",
                    )
                ],
                unit="bytes",
            ),
            Panel(
                title="Versions and configurations",
                good="One line.",
                queries=[
                    ("count by (version, config) (notify_build_info)", "{{version}} {{config}}")
                ],
            ),
        ),
    ),
)
WHERE = 'channel="$channel",priority=~"$priority"'
CHANNEL: Sequence[tuple[str, Sequence[Panel]]] = (
    (
        "How fast",
        (
            Panel(
                title="From publishing to delivery",
                good="Urgent: about what the provider takes. Normal: more behind a batch.",
                queries=[
                    (
                        quantile(share, "notify_delivery_seconds", "priority", WHERE),
                        f"{{{{priority}}}} {name}",
                    )
                    for share, name in (
                        ("0.5", "half"),
                        ("0.95", "95 of 100"),
                        ("0.99", "99 of 100"),
                    )
                ],
                unit="s",
            ),
            Panel(
                title="Wait in the queue, 95 of 100",
                good="Below a second, but for batches.",
                queries=[
                    (
                        quantile("0.95", "notify_queue_wait_seconds", "priority", WHERE),
                        "{{priority}}",
                    )
                ],
                unit="s",
            ),
            Panel(
                title="Wait for a turn (limits), 95 of 100",
                good="Near zero, or what your limits ask for during a batch.",
                queries=[
                    (quantile("0.95", "notify_turn_seconds", "priority", WHERE), "{{priority}}")
                ],
                unit="s",
            ),
            Panel(
                title="One attempt by provider, 95 of 100",
                good="Far below send.deadline.",
                queries=[
                    (
                        quantile(
                            "0.95", "notify_attempt_seconds", "provider", 'channel="$channel"'
                        ),
                        "{{provider}}",
                    )
                ],
                unit="s",
            ),
            Panel(
                title="Heartbeats, 95 of 100",
                good="Well below a second.",
                queries=[
                    (
                        quantile("0.95", "notify_heartbeat_seconds", "priority", WHERE),
                        "{{priority}}",
                    )
                ],
                unit="s",
            ),
        ),
    ),
    (
        "What comes of it",
        (
            Panel(
                title="Handled per second",
                good="Almost all delivered; retries and dead ones a thin line.",
                queries=[(rate("notify_notifications_total", "done", WHERE), "{{done}}")],
                unit="ops",
            ),
            Panel(
                title="Attempts by provider and outcome, per second",
                good="Almost all sent; no unknown ones.",
                queries=[
                    (
                        rate("notify_attempts_total", "provider, outcome", WHERE),
                        "{{provider}} {{outcome}}",
                    )
                ],
                unit="ops",
            ),
            Panel(
                title="Reasons of failed attempts, per second",
                good="Few, and about recipients rather than about providers.",
                queries=[
                    (rate("notify_attempts_total", "reason", WHERE + ',reason!=""'), "{{reason}}")
                ],
                unit="ops",
            ),
            Panel(
                title="Dead letters per hour, by reason",
                good="Few, and none that says that something is broken.",
                queries=[
                    (
                        "sum by (reason)"
                        ' (increase(notify_dead_letters_total{channel="$channel"}[1h])) > 0',
                        "{{reason}}",
                    )
                ],
            ),
            Panel(
                title="Claims refused, per second",
                good="Duplicates only where publishers repeat themselves; no conflicts.",
                queries=[(rate("notify_claims_refused_total", "why", WHERE), "{{why}}")],
                unit="ops",
            ),
        ),
    ),
    (
        "Workers and queues",
        (
            Panel(
                title="Sends under way",
                good="Below the concurrency; at it all the time, raise it.",
                queries=[(f"sum by (priority) (notify_sending{{{WHERE}}})", "{{priority}}")],
            ),
            Panel(
                title="Paused, held, handed back",
                good="Zero.",
                queries=[
                    (f"max by (priority) (notify_paused{{{WHERE}}})", "{{priority}} paused"),
                    (f"sum by (priority) (notify_held{{{WHERE}}})", "{{priority}} held"),
                    (
                        f"sum by (priority) (increase(notify_handed_back_total{{{WHERE}}}[5m]))",
                        "{{priority}} handed back within 5 minutes",
                    ),
                ],
            ),
            Panel(
                title="Breakers",
                good="Zero: closed.",
                queries=[
                    ('max by (provider) (notify_breaker_open{channel="$channel"})', "{{provider}}")
                ],
            ),
            Panel(
                title="Messages in the queue",
                good="Ready ones near zero; unacknowledged ones at most the concurrency.",
                queries=[
                    (
                        f'max by (priority, state) (notify_queue_messages{{role="work",{WHERE}}})',
                        "{{priority}} {{state}}",
                    )
                ],
            ),
            Panel(
                title="Age of the oldest message",
                good="Urgent: seconds.",
                queries=[
                    (
                        "max by (priority)"
                        f' (notify_queue_oldest_age_seconds{{role="work",{WHERE}}})',
                        "{{priority}}",
                    )
                ],
                unit="s",
            ),
            Panel(
                title="Heartbeats published, per minute",
                good="One for each priority, confirmed, by each exporter.",
                queries=[
                    (
                        "sum by (priority, outcome)"
                        f" (rate(notify_heartbeats_published_total{{{WHERE}}}[5m])) * 60",
                        "{{priority}} {{outcome}}",
                    )
                ],
            ),
        ),
    ),
)


def panels(rows: Sequence[tuple[str, Sequence[Panel]]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    y = 0
    for title, row in rows:
        found.append(
            {"type": "row", "title": title, "id": len(found) + 1, "panels": [], "collapsed": False}
            | {"gridPos": {"x": 0, "y": y, "w": WIDE, "h": 1}}
        )
        y += 1
        for place, each in enumerate(row):
            width = WIDE // ROW
            where = {"x": place % ROW * width, "y": y + place // ROW * HIGH, "w": width, "h": HIGH}
            found.append(panel(each, len(found) + 1, where))
        y += (len(row) + ROW - 1) // ROW * HIGH
    return found


def panel(each: Panel, number: int, where: dict[str, int]) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expr, "legendFormat": legend}
        | ({"instant": True, "format": "table"} if each.kind == "table" else {})
        for i, (expr, legend) in enumerate(each.queries)
    ]
    return {
        "id": number,
        "type": each.kind,
        "title": each.title,
        "description": f"Good: {each.good}",
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": each.unit, "min": 0}, "overrides": []},
        "gridPos": where,
        "targets": targets,
    }


def variable(name: str, query: str, *, many: bool) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": SOURCE,
        "query": query,
        "refresh": 2,
        "multi": many,
        "includeAll": many,
        "sort": 1,
    }


def dashboard(
    uid: str, title: str, rows: Sequence[tuple[str, Sequence[Panel]]], *more: dict[str, Any]
) -> dict[str, Any]:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    return {
        "uid": uid,
        "title": title,
        "tags": ["notify"],
        "schemaVersion": 37,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [source, *more]},
        "panels": panels(rows),
    }


def dashboards() -> dict[str, dict[str, Any]]:
    channel = variable("channel", "label_values(notify_sending, channel)", many=False)
    priority = variable("priority", "label_values(notify_sending, priority)", many=True)
    return {
        "overview.json": dashboard("notify-overview", "Notify: overview", OVERVIEW),
        "channel.json": dashboard("notify-channel", "Notify: channel", CHANNEL, channel, priority),
    }


def text_of(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, value in dashboards().items():
        (HERE / name).write_text(text_of(value), encoding="utf-8")
