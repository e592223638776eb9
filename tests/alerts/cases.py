"""For each alert, what makes it fire, and what looks like it and must not.

Series are written as promtool reads them, one value a minute from the first minute on: ``0x9`` is
ten times 0, ``0+5x9`` counts up by five, ``_`` is a scrape that failed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Case:
    """``fires`` are the labels expected, one set for each alert; none for silence."""

    alert: str
    what: str
    series: Mapping[str, str]
    at: str
    fires: tuple[Mapping[str, str], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.alert}: {self.what}"


def _labels(**labels: str) -> str:
    return ",".join(f'{name}="{value}"' for name, value in labels.items())


SMS = _labels(channel="sms", priority="urgent")
BULK = _labels(channel="sms", priority="normal")
WORK = f'queue="notify.sms.urgent",role="work",{SMS}'
BULK_WORK = f'queue="notify.sms.normal",role="work",{BULK}'
DEAD = 'queue="notify.dead",role="dead"'
RUNG = 'queue="notify.delay.normal.5s",role="delay",priority="normal"'
HEARTBEAT = "notify_heartbeat_last_success_timestamp_seconds"
URGENT_PAGE = {"channel": "sms", "priority": "urgent", "severity": "page"}
NORMAL_PAGE = URGENT_PAGE | {"priority": "normal"}
LEADING = 'notify_beat_leading{instance="'
TARGET = 'job="notify",instance="h:9464",process="worker-sms-urgent"'


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The cases of one alert, where one expression is enough."""

    series: str
    fires: str
    silent: str
    labels: Mapping[str, str]
    at: str = "20m"
    beside: Mapping[str, str] = field(default_factory=dict)


def _page(**labels: str) -> dict[str, str]:
    return labels | {"severity": "page"}


def _ticket(**labels: str) -> dict[str, str]:
    return labels | {"severity": "ticket"}


_PAIRS: dict[str, Pair] = {
    "NotifyWorkerPaused": Pair(
        series=f"notify_paused{{{SMS}}}", fires="1x20", silent="1x3 0x16", labels=URGENT_PAGE
    ),
    "NotifyProviderDown": Pair(
        series='notify_breaker_open{channel="sms",provider="texts"}',
        fires="1x20",
        silent="1x3 0x3 1x3 0x9",
        labels=_ticket(channel="sms", provider="texts"),
    ),
    "NotifyOutcomesHeld": Pair(
        series=f"notify_held{{{SMS}}}", fires="3x20", silent="0x4 3 0x14", labels=URGENT_PAGE
    ),
    "NotifyUnknownOutcomes": Pair(
        series=f'notify_attempts_total{{{SMS},provider="texts",outcome="unknown",reason="lost"}}',
        fires="0+1x20",
        silent="0x10 3x9",
        labels=_ticket(channel="sms"),
    ),
    "NotifyArchiveAway": Pair(
        series="notify_archive_up", fires="0x20", silent="0x3 1x16", labels=_page()
    ),
    "NotifyUnexpectedLetters": Pair(
        series='notify_dead_letters_total{channel="sms",reason="poison"}',
        fires="0x10 1x9",
        silent="7x20",
        labels=_ticket(reason="poison"),
    ),
    "NotifyRedisEvicts": Pair(
        series="notify_redis_evicted_keys_total", fires="0x15 9x4", silent="9x20", labels=_page()
    ),
    "NotifyRedisDown": Pair(
        series="notify_redis_up", fires="1x10 0x9", silent="1x10 0 1x8", labels=_page()
    ),
    "NotifyLedgerLostKeys": Pair(
        series="notify_ledger_losses_total", fires="0x10 1x9", silent="1x20", labels=_page()
    ),
    "NotifyBrokerDown": Pair(
        series="notify_broker_up", fires="1x10 0x9", silent="1x10 0 1x8", labels=_page()
    ),
    "NotifyBrokerAlarm": Pair(
        series='notify_broker_alarm{node="rabbit@a",kind="disk"}',
        fires="1x20",
        silent="0x20",
        labels=_page(node="rabbit@a", kind="disk"),
    ),
    "NotifyPublishingFails": Pair(
        series='notify_publishes_total{outcome="unconfirmed"}',
        fires="0+3x20",
        silent="0x9 2x10",
        labels=_page(outcome="unconfirmed"),
    ),
    "NotifyRungStuck": Pair(
        series=f'notify_queue_messages{{{RUNG},state="held_back"}}',
        fires="4x20",
        silent="4x3 0 4x3 0 4x3 0x7",
        labels=_ticket(queue="notify.delay.normal.5s"),
    ),
    "NotifyQueueMissing": Pair(
        series=f"notify_queue_missing{{{WORK}}}",
        fires="1x20",
        silent="0x20",
        labels=_page(queue="notify.sms.urgent"),
    ),
    "NotifyTwoLeaders": Pair(
        series='notify_beat_leading{instance="b:9471"}',
        fires="1x20",
        silent="0x18 1",
        beside={'notify_beat_leading{instance="a:9471"}': "1x20"},
        labels=_ticket(),
    ),
    "NotifyScheduleLate": Pair(
        series="notify_schedule_lag_seconds_count",
        fires="0x10 2x9",
        silent="0x10 1x9",
        beside={'notify_schedule_lag_seconds_bucket{le="60.0"}': "0x10 1x9"},
        labels=_ticket(),
    ),
    "NotifyScheduleMisfired": Pair(
        series='notify_schedule_occurrences_total{outcome="missed"}',
        fires="0x10 1x9",
        silent="3x20",
        labels=_ticket(outcome="missed"),
    ),
    "NotifyScheduleQuarantined": Pair(
        series='notify_schedules{state="quarantined"}',
        fires="1x20",
        silent="0x20",
        labels=_ticket(),
    ),
    "NotifyClockSkew": Pair(
        series='notify_beat_clock_skew_seconds{instance="a:9471"}',
        fires="-3x20",
        silent="0.3x20",
        labels=_ticket(instance="a:9471"),
    ),
    "NotifyProcessDown": Pair(
        series=f"up{{{TARGET}}}",
        fires="1x10 0x9",
        silent="1x17 0 1",
        labels=_page(job="notify", instance="h:9464", process="worker-sms-urgent"),
    ),
    "NotifyProcessRestarts": Pair(
        series=f"process_start_time_seconds{{{TARGET}}}",
        fires="0x8 500 600 700 800x8",
        silent="0x8 500 600x10",
        labels=_ticket(job="notify", instance="h:9464", process="worker-sms-urgent"),
    ),
    "NotifyVersionsDiffer": Pair(
        series='notify_build_info{version="2",config="aa",instance="b"}',
        fires="1x60",
        silent="_x40 1x19",
        beside={'notify_build_info{version="1",config="aa",instance="a"}': "1x60"},
        labels=_ticket(),
        at="60m",
    ),
    "NotifyExporterBlind": Pair(
        series="notify_exporter_last_look_timestamp_seconds",
        fires="0+60x10 600x9",
        silent="0+60x20",
        labels=_page(),
    ),
}


def _from(alert: str, pair: Pair) -> tuple[Case, Case]:
    def case(what: str, values: str, *fires: Mapping[str, str]) -> Case:
        series = {**pair.beside, pair.series: values}
        return Case(alert=alert, what=what, series=series, at=pair.at, fires=fires)

    return case("fires", pair.fires, pair.labels), case("is silent", pair.silent)


def _more() -> list[Case]:
    """Where one series is not enough."""
    letters = 'notify_dead_letters_total{channel="sms",reason="refused"}'
    unwanted = 'notify_dead_letters_total{channel="sms",reason="suppressed"}'
    delivered = f'notify_notifications_total{{{BULK},done="delivered"}}'
    slow = f"notify_delivery_seconds_count{{{SMS}}}"
    soon = f'notify_delivery_seconds_bucket{{{SMS},le="60.0"}}'
    ready = f'notify_queue_messages{{{BULK_WORK},state="ready"}}'
    used, most = "notify_redis_memory_used_bytes", "notify_redis_memory_max_bytes"

    def case(
        alert: str, what: str, series: Any, *labels: Mapping[str, str], at: str = "20m"
    ) -> Case:
        return Case(alert=alert, what=what, series=series, at=at, fires=labels)

    return [
        case(
            "NotifyHeartbeatSilent",
            "fires for urgent",
            {f"{HEARTBEAT}{{{SMS}}}": "0+60x5 300x15"},
            URGENT_PAGE,
        ),
        case(
            "NotifyHeartbeatSilent",
            "fires for normal",
            {f"{HEARTBEAT}{{{BULK}}}": "0x20", delivered: "5x20"},
            NORMAL_PAGE,
        ),
        case(
            "NotifyHeartbeatSilent",
            "fires where none was ever seen",
            {f"{HEARTBEAT}{{{SMS}}}": "0x9"},
            URGENT_PAGE,
            at="9m",
        ),
        case(
            "NotifyHeartbeatSilent",
            "is silent with heartbeats",
            {f"{HEARTBEAT}{{{SMS}}}": "0+60x20"},
        ),
        case(
            "NotifyHeartbeatSilent",
            "is silent after an exporter's restart",
            {f"{HEARTBEAT}{{{SMS}}}": "0+60x10 _x2 0 840+60x7"},
        ),
        case(
            "NotifyHeartbeatSilent",
            "is silent behind a batch",
            {f"{HEARTBEAT}{{{BULK}}}": "0x20", delivered: "0+600x20"},
        ),
        case("NotifyUrgentLate", "fires", {slow: "0+10x20", soon: "0+8x20"}, _page(channel="sms")),
        case(
            "NotifyUrgentLate", "is silent with few late ones", {slow: "0+10x20", soon: "0+9.9x20"}
        ),
        case(
            "NotifyUrgentLate",
            "is silent where late ones are one in fifty",
            {slow: "0+1000x20", soon: "0+980x20"},
        ),
        case(
            "NotifyQueueOld",
            "fires for urgent",
            {f"notify_queue_oldest_age_seconds{{{WORK}}}": "0x5 60+60x14"},
            URGENT_PAGE,
        ),
        case(
            "NotifyQueueOld",
            "fires for normal",
            {f"notify_queue_oldest_age_seconds{{{BULK_WORK}}}": "0+60x100"},
            _ticket(channel="sms", priority="normal"),
            at="90m",
        ),
        case(
            "NotifyQueueOld",
            "is silent for one look",
            {f"notify_queue_oldest_age_seconds{{{WORK}}}": "0x9 3000 0x9"},
        ),
        case(
            "NotifyQueueOld",
            "is silent for a batch",
            {f"notify_queue_oldest_age_seconds{{{BULK_WORK}}}": "0+60x40"},
            at="40m",
        ),
        case(
            "NotifyQueueGrows",
            "fires",
            {ready: "0+200x40"},
            _ticket(channel="sms", priority="normal"),
            at="40m",
        ),
        case("NotifyQueueGrows", "is silent while it shrinks", {ready: "9000-100x40"}, at="40m"),
        case("NotifyQueueGrows", "is silent while it is small", {ready: "0+20x40"}, at="40m"),
        case(
            "NotifyNoConsumer",
            "fires",
            {f"notify_queue_consumers{{{WORK}}}": "1x5 0x14"},
            URGENT_PAGE,
        ),
        case(
            "NotifyNoConsumer",
            "is silent for a restart",
            {f"notify_queue_consumers{{{WORK}}}": "1x9 0x1 1x8"},
        ),
        case(
            "NotifyNoConsumer",
            "is silent for a pause",
            {f"notify_queue_consumers{{{WORK}}}": "0x20", f"notify_paused{{{SMS}}}": "1x20"},
        ),
        case(
            "NotifyArchiverStopped",
            "fires",
            {f"notify_queue_consumers{{{DEAD}}}": "0x20"},
            _ticket(),
        ),
        case(
            "NotifyArchiverStopped",
            "is silent for a restart",
            {f"notify_queue_consumers{{{DEAD}}}": "1x9 0x3 1x6"},
        ),
        case(
            "NotifyArchiverStopped",
            "is silent while the archive is away",
            {f"notify_queue_consumers{{{DEAD}}}": "0x20", "notify_archive_up": "0x20"},
        ),
        case(
            "NotifyArchiverLate",
            "fires by age",
            {"notify_archive_oldest_waiting_seconds": "0+60x40"},
            _ticket(),
            at="40m",
        ),
        case(
            "NotifyArchiverLate",
            "fires by number",
            {f'notify_queue_messages{{{DEAD},state="ready"}}': "9000x20"},
            _ticket(),
        ),
        case(
            "NotifyArchiverLate",
            "is silent for a burst",
            {f'notify_queue_messages{{{DEAD},state="ready"}}': "0x9 9000x5 0x5"},
        ),
        case(
            "NotifyDeadLetters",
            "fires",
            {letters: "0+2x20", delivered: "0+20x20"},
            _ticket(channel="sms"),
        ),
        case(
            "NotifyDeadLetters",
            "fires where nothing is delivered",
            {letters: "0+2x20"},
            _ticket(channel="sms"),
        ),
        case(
            "NotifyDeadLetters",
            "is silent for one in a hundred",
            {letters: "0+2x20", delivered: "0+200x20"},
        ),
        case("NotifyDeadLetters", "is silent for few", {letters: "0+1x20"}),
        case("NotifyDeadLetters", "is silent for who wants nothing", {unwanted: "0+20x20"}),
        case("NotifyRedisMemory", "fires as a ticket", {used: "80x20", most: "100x20"}, _ticket()),
        case("NotifyRedisMemory", "fires as a page", {used: "95x20", most: "100x20"}, _page()),
        case("NotifyRedisMemory", "is silent with room", {used: "60x20", most: "100x20"}),
        case("NotifyRedisMemory", "is silent without a limit", {used: "60x20", most: "0x20"}),
        case("NotifyNoLeader", "fires", {f'{LEADING}a:9471"}}': "0x20"}, _page()),
        case(
            "NotifyNoLeader",
            "is silent where another leads",
            {f'{LEADING}a:9471"}}': "0x20", f'{LEADING}b:9471"}}': "0x10 1x9"},
        ),
        case("NotifyNothingScraped", "fires", {'up{job="other"}': "1x20"}, _page(job="notify")),
        case("NotifyNothingScraped", "is silent", {f"up{{{TARGET}}}": "0x20"}),
        case("NotifyNoLeader", "fires where no beat is scraped", {"up": "1x20"}, _page()),
        case("NotifyExporterBlind", "fires where no exporter is scraped", {"up": "1x20"}, _page()),
    ]


def _cases() -> list[Case]:
    found = [case for alert, pair in _PAIRS.items() for case in _from(alert, pair)]
    return [*found, *_more()]


CASES = _cases()
