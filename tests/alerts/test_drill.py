"""The alerts, seen firing for real: processes, servers and gateways are broken on purpose, and a
real Prometheus with the shipped rules (see ``tests.alerts.prometheus``) watches.
"""

import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from notify.broker.channel import connect, drop
from notify.local import PrivateServers
from notify.message import Envelope
from notify.notification import Notification
from notify.publish import Client
from notify.sandbox import Answer, Sandbox
from tests.alerts.prometheus import Witness, faster, running, shipped_rules
from tests.alerts.promtool import RULES, alerts_of
from tests.broker.node import alarm
from tests.deployment import Deployment, Process, sms
from tests.metrics.scrapes import until_shown
from tests.ports import first_of
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(600)]

SMS = (
    '[[providers]]\nname = "texts"\ntype = "http-sms"\nurl = "${NOTIFY_SANDBOX_HTTP}/sms"\n'
    "takes_idempotency_key = true\n"
    '[providers.breaker]\nwindow = "10s"\nminimum = 5\nopen_for = "60s"\nlongest = "60s"\n'
)
HOOKS = (
    '[[providers]]\nname = "hooks"\ntype = "webhook"\nallow = "${NOTIFY_WEBHOOK_ALLOW}"\n'
    "[providers.breaker]\nenabled = false\n"
)
OFFSETS = {
    "worker-sms-urgent": 0,
    "worker-sms-normal": 1,
    "worker-webhook-urgent": 4,
    "worker-webhook-normal": 5,
    "archiver": 6,
    "beat": 7,
    "exporter": 8,
}
# With the database as the truth a schedule that is spoilt in Redis is put right at once.
QUICK = """
look_every = "0.5s"
heartbeat_every = "2s"
[schedules]
truth = "redis"
"""
SCRAPED = 'up{process="beat"} == 1'
# The port of a second beat on this host.
STRANGER = 27
AHEAD = """import time
true = time.time
time.time = lambda: true() + 5
"""
BROKEN_GATEWAY = "+491700000500"


class Stage:
    """A whole deployment that is watched."""

    def __init__(
        self,
        deployment: Deployment,
        servers: PrivateServers,
        first: int,
        witness: Witness,
        blind: Witness,
    ) -> None:
        self.deployment = deployment
        self.servers = servers
        self.first = first
        self.witness = witness
        self.blind = blind
        """Of a Prometheus that has no targets."""
        self.over = threading.Event()
        self.processes: dict[str, Process] = {}

    def see(self, *faults: Callable[["Stage"], list[str]], seconds: float = 60.0) -> None:
        """Breaks all of these, and sees the alerts that each of them names."""
        wanted = [name for fault in faults for name in fault(self)]
        self.witness.until(*wanted, seconds=seconds)

    def start(self, name: str) -> None:
        kind, *queue = name.split("-")
        self.processes[name] = self.deployment.start(kind, *queue)

    def kill(self, name: str) -> None:
        self.processes[name].kill()

    def schedule(self, name: str, *what: str) -> None:
        added = self.deployment.cli("schedule", "add", name, *what)
        assert added.returncode == 0, added.stderr

    def hook_to(self, path: str) -> tuple[str, ...]:
        """The arguments of a schedule that posts there."""
        return ("webhook", f"{self.deployment.sandbox.http_url}/hook/{path}", "--data", "1")

    def hook(self, path: str, *answers: Answer, count: int, priority: str = "normal") -> None:
        """Webhooks whose receiver answers so, each time."""
        for n in range(count):
            self.deployment.sandbox.script(f"/hook/{path}{n}", then=answers[0])
        url = f"{self.deployment.sandbox.http_url}/hook/{path}"
        self.deployment.send(
            *(
                Notification(channel="webhook", recipient=f"{url}{n}", priority=priority, data=n)
                for n in range(count)
            )
        )


def targets(first: int, second: int) -> dict[str, Any]:
    """What is scraped: the processes by their names, and a beat that does not belong to them."""
    own = [
        {"targets": [f"127.0.0.1:{first + offset}"], "labels": {"process": name}}
        for name, offset in OFFSETS.items()
    ]
    other = [{"targets": [f"127.0.0.1:{second}"], "labels": {"process": "stranger"}}]
    return {
        "scrape_configs": [
            {"job_name": "notify", "static_configs": own},
            {"job_name": "strangers", "static_configs": other},
        ]
    }


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    rules = tmp_path / "rules.yml"
    rules.write_text(json.dumps(faster(shipped_rules(tmp_path / "reading"))))
    first = first_of(STRANGER + 1)
    own = PrivateServers(tmp_path / "servers", fresh=True)
    with ExitStack() as stack:
        servers = stack.enter_context(own)
        sandbox = stack.enter_context(Sandbox())
        deployment = Deployment(
            directory=tmp_path / "deployment",
            sandbox=sandbox,
            servers=servers,
            vhost_url=urlsplit(servers.broker_urls[0])._replace(path="/drill").geturl(),
            prefix="drill",
            options={
                "metrics": f"{first}{QUICK}",
                "providers": {"sms": SMS, "webhook": HOOKS, "email": None},
                "give_up_after": "600s",
            },
        )
        stack.callback(deployment.close)
        config = targets(first, first + STRANGER) | {"rule_files": [str(rules)]}
        prometheus = stack.enter_context(running(tmp_path / "prometheus", config))
        nothing = running(tmp_path / "blind", {"rule_files": [str(rules)]})
        blind = Witness(stack.enter_context(nothing))
        witness = Witness(prometheus)
        made = Stage(deployment, own, first, witness, blind)
        stack.enter_context(witness.watching())
        stack.callback(made.over.set)
        yield made


def test_each_alert_is_seen_firing(stage: Stage) -> None:
    for name in OFFSETS:
        stage.start(name)
    healthy(stage)
    stage.see(a_stranger_joins, a_schedule_breaks, gateways_fail, letters_die)
    planned = a_beat_is_killed(stage)
    with an_archive_that_is_locked(stage):
        stage.see(a_worker_is_killed, the_topology_is_damaged, seconds=60)
        stage.witness.until("NotifyArchiveAway", "NotifyArchiverLate", seconds=60)
    stage.see(the_archiver_stops)
    the_beat_comes_back(stage, planned)
    stage.witness.until("NotifyQueueGrows", "NotifyVersionsDiffer", seconds=150)
    redis_is_in_trouble(stage)
    rabbitmq_is_in_trouble(stage)
    stage.see(nobody_leads, nobody_looks)
    stage.blind.until("NotifyNothingScraped")
    seen = stage.witness.seen | stage.blind.seen
    assert seen.keys() == alerts_of(RULES.read_text()).keys()
    for name, (_, annotations) in seen.items():
        assert "<error" not in "".join(annotations.values()), name
        assert "<no value>" not in "".join(annotations.values()), name


def healthy(stage: Stage) -> None:
    """All of it runs, and nothing fires."""
    for offset in OFFSETS.values():
        until_shown(stage.first + offset)
    stage.deployment.send(*(sms(priority=p) for p in ("urgent", "normal") for _ in range(10)))
    calm = Calm(stage.witness)
    eventually(lambda: calm.lasts() > 8, "eight seconds of silence while all is well", 120)
    stage.witness.seen.clear()


class Calm:
    """For how long nothing has fired, in seconds."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._since = time.monotonic()

    def lasts(self) -> float:
        if self._witness.look():
            self._since = time.monotonic()
        return time.monotonic() - self._since


def a_stranger_joins(stage: Stage) -> list[str]:
    """A beat with another configuration and another Redis prefix: a lock of its own. Its host's
    clock is wrong."""
    clock = stage.deployment.directory / "clock"
    clock.mkdir()
    # Read by the interpreter before anything else.
    (clock / "sitecustomize.py").write_text(AHEAD)
    environ = stage.deployment.environ | {
        "PYTHONPATH": str(clock),
        "NOTIFY_METRICS_FIRST_PORT": str(stage.first + STRANGER - OFFSETS["beat"]),
        "NOTIFY_REDIS_PREFIX": "stranger",
        "NOTIFY_ARCHIVE_URL": f"sqlite:///{stage.deployment.directory}/stranger.sqlite3",
    }
    process = Process(["beat"], environ, stage.deployment.directory / "stranger.log")
    stage.deployment.processes.append(process)
    stage.processes["stranger"] = process
    return ["NotifyTwoLeaders", "NotifyClockSkew"]


def gateways_fail(stage: Stage) -> list[str]:
    """The only provider of texts answers errors, while more and more is to be sent."""
    late = datetime.now(UTC) - timedelta(minutes=2)
    for _ in range(8):
        envelope = Envelope(notification=sms(priority="urgent"), first_queued=late)
        stage.deployment.publish_raw(envelope)
    stage.witness.until("NotifyUrgentLate")
    stage.deployment.sandbox.script(BROKEN_GATEWAY, then=Answer(status=500))
    texts = [sms(recipient=BROKEN_GATEWAY, priority=p) for p in ("urgent", "normal") * 8]
    stage.deployment.send(*texts)
    threading.Thread(target=flood, args=[stage], daemon=True).start()
    down = ["NotifyProviderDown", "NotifyWorkerPaused", "NotifyHeartbeatSilent"]
    return [*down, "NotifyQueueOld"]


def flood(stage: Stage) -> None:
    """What makes a queue grow, until that is seen; a trial cannot send any of it either."""
    with Client(stage.deployment.settings) as client:
        for _ in client.send_many(sms(recipient=BROKEN_GATEWAY) for _ in range(1100)):
            pass
        while "NotifyQueueGrows" not in stage.witness.seen and not stage.over.wait(0.5):
            for _ in client.send_many(sms(recipient=BROKEN_GATEWAY) for _ in range(2)):
                pass


def letters_die(stage: Stage) -> list[str]:
    stage.hook("refused", Answer(status=400), count=30)
    stage.hook("lost", Answer(reset="after"), count=8)
    url = f"{stage.deployment.sandbox.http_url}/hook/one"
    one = Notification(channel="webhook", recipient=url, data=1, id="same")
    stage.deployment.send(one)
    stage.deployment.until_sent("same")
    stage.deployment.send(one.evolve(data=2))
    return ["NotifyDeadLetters", "NotifyUnknownOutcomes", "NotifyUnexpectedLetters"]


def a_worker_is_killed(stage: Stage) -> list[str]:
    stage.kill("worker-webhook-urgent")
    stage.witness.until("NotifyNoConsumer")
    return ["NotifyProcessDown"]


def the_topology_is_damaged(stage: Stage) -> list[str]:
    """The queue of the worker that is gone, and what messages return through."""
    connection = connect(stage.deployment.vhost_url, connect_timeout=5, read_timeout=5)
    try:
        channel = connection.channel()
        channel.exchange_delete("notify.return")
        channel.queue_delete("notify.webhook.urgent")
    finally:
        drop(connection)
    stage.hook("busy", Answer(status=503), count=4)
    return ["NotifyRungStuck", "NotifyQueueMissing"]


@contextmanager
def an_archive_that_is_locked(stage: Stage) -> Iterator[None]:
    path = stage.deployment.directory / "archive.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as other:
        other.execute("BEGIN EXCLUSIVE")
        stage.hook("unstored", Answer(status=400), count=1)
        yield
        other.execute("ROLLBACK")


def the_archiver_stops(stage: Stage) -> list[str]:
    stage.processes["archiver"].stop()
    return ["NotifyArchiverStopped"]


def a_schedule_breaks(stage: Stage) -> list[str]:
    """Somebody writes into Redis; and another one is wanted half a minute late at most."""
    stage.schedule("broken", *stage.hook_to("broken"), "--every", "3s")
    with closing(redis.Redis.from_url(stage.deployment.settings.redis.url)) as server:
        server.hset("drill:beat:broken", "definition", "nonsense")
    stage.schedule("often", *stage.hook_to("often"), "--every", "2s", "--grace", "30s")
    return ["NotifyScheduleQuarantined"]


def a_beat_is_killed(stage: Stage) -> datetime:
    """When something was planned that it does not fire."""
    stage.kill("beat")
    # A command takes its time on a busy machine, and what is over already is refused.
    planned = datetime.now(UTC) + timedelta(seconds=20)
    stage.schedule("late", *stage.hook_to("late"), "--at", planned.isoformat())
    return planned


def the_beat_comes_back(stage: Stage, planned: datetime) -> None:
    """More than a minute late, and more than once."""
    late = planned + timedelta(seconds=62)
    eventually(lambda: datetime.now(UTC) > late, "a minute and more", 90)
    for _ in range(4):
        stage.kill("beat")
        stage.start("beat")
        until_shown(stage.first + OFFSETS["beat"])
        eventually(lambda: stage.witness.query(SCRAPED), "a scrape of the beat")
    names = ("NotifyScheduleLate", "NotifyScheduleMisfired", "NotifyProcessRestarts")
    # The last one leads only when the locks of those that were killed have ended.
    stage.witness.until(*names, seconds=150)


def redis_is_in_trouble(stage: Stage) -> None:
    with closing(redis.Redis.from_url(stage.deployment.settings.redis.url)) as server:
        used = int(server.info("memory")["used_memory"])
        server.config_set("maxmemory", int(used / 0.8))
        stage.witness.until("NotifyRedisMemory")
        server.config_set("maxmemory-policy", "allkeys-random")
        server.config_set("maxmemory", int(server.info("memory")["used_memory"]) + 500_000)
        for n in range(200):
            server.set(f"filler:{n}", "x" * 10_000)
        stage.witness.until("NotifyRedisEvicts")
        server.config_set("maxmemory", 0)
        server.flushall()
        stage.witness.until("NotifyLedgerLostKeys")
    stage.hook("slow", Answer(delay=2.0), count=1)
    eventually(lambda: stage.deployment.sandbox.received("/hook/slow0"), "the request")
    os.kill(stage.servers.redis_pid, signal.SIGSTOP)
    try:
        stage.witness.until("NotifyRedisDown", "NotifyOutcomesHeld")
    finally:
        os.kill(stage.servers.redis_pid, signal.SIGCONT)


def rabbitmq_is_in_trouble(stage: Stage) -> None:
    # Their retries are to be published while RabbitMQ takes nothing.
    stage.hook("late", Answer(status=503, delay=4.0), count=8)
    eventually(lambda: stage.deployment.sandbox.received("/hook/late0"), "the request")
    with alarm(stage.servers):
        stage.witness.until("NotifyBrokerAlarm", "NotifyPublishingFails", seconds=60)
    stage.servers.stop_broker(kill=True)
    stage.witness.until("NotifyBrokerDown")


def nobody_leads(stage: Stage) -> list[str]:
    for name in ("beat", "stranger"):
        stage.kill(name)
    return ["NotifyNoLeader"]


def nobody_looks(stage: Stage) -> list[str]:
    stage.witness.until("NotifyNoLeader")
    stage.kill("exporter")
    return ["NotifyExporterBlind"]
