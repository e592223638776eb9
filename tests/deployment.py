"""A small deployment of its own for one test: virtual host, keys, archive, processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from notify import provision
from notify.broker import Publisher
from notify.broker.channel import connect, drop
from notify.config import Settings, load_settings
from notify.ledger import Ledger, Record
from notify.local import Servers
from notify.message import Envelope, encode
from notify.notification import Notification
from notify.provision import management
from notify.publish import Client
from notify.sandbox import Sandbox
from notify.store import Store
from notify.topology import work_queue
from tests.waiting import eventually

ROOT = Path(__file__).parents[1]

MAIN = """
[broker]
rungs = {rungs}
heartbeat = {heartbeat}
confirm_timeout = "5s"
delivery_limit = {delivery_limit}
connect_timeout = "2s"
[redis]
prefix = "{prefix}"
timeout = "1s"
[archive]
batch_wait = "0.05s"
[log]
format = "json"
[metrics]
first_port = {metrics}
"""
CHANNEL = """
[queues.urgent]
concurrency = {concurrency}
[queues.normal]
concurrency = {concurrency}
[retry]
first = "1s"
factor = 2
cap = "4s"
jitter = 0
[retry.give_up_after]
urgent = "{give_up_after}"
normal = "{give_up_after}"
[send]
deadline = "{deadline}"
lease = "{lease}"
unknown = "{unknown}"
{throttle}
"""
PROVIDERS = {
    "sms": (
        '[[providers]]\nname = "texts"\ntype = "http-sms"\nurl = "${NOTIFY_SANDBOX_HTTP}/sms"\n'
        "takes_idempotency_key = true\n"
    ),
    "email": (
        '[[providers]]\nname = "mails"\ntype = "smtp"\nhost = "127.0.0.1"\n'
        'port = "${NOTIFY_SANDBOX_SMTP_PORT}"\nsecurity = "none"\nsender = "notify@example.com"\n'
    ),
    "webhook": (
        '[[providers]]\nname = "hooks"\ntype = "webhook"\nallow = "${NOTIFY_WEBHOOK_ALLOW}"\n'
    ),
}


class Process:
    """A ``notify`` process whose log is kept."""

    def __init__(self, arguments: Iterable[str], environ: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "notify", *arguments],
                env=dict(environ),
                stdout=output,
                stderr=output,
                cwd=ROOT,
            )

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def stop(self, seconds: float = 30.0) -> int:
        """SIGTERM, as systemd sends it; the exit code."""
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(seconds)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()


@dataclass
class Deployment:
    """What a test needs to publish, run processes, and look at what became of it."""

    directory: Path
    sandbox: Sandbox
    servers: Servers
    vhost_url: str
    prefix: str
    options: dict[str, Any] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        values: dict[str, Any] = {
            "rungs": [1, 2, 4],
            "delivery_limit": 10,
            "heartbeat": 10,
            "concurrency": 4,
            "give_up_after": "60s",
            "deadline": "5s",
            "lease": "12s",
            "unknown": "archive",
            "throttle": "",
            "metrics": 0,
            "prefix": self.prefix,
        } | self.options
        providers = PROVIDERS | values.pop("providers", {})
        config = self.directory / "config"
        (config / "channels").mkdir(parents=True)
        (config / "notify.toml").write_text(MAIN.format(**values))
        for name, provider in providers.items():
            if provider:  # None: without that channel
                text = CHANNEL.format(**values) + provider
                (config / "channels" / f"{name}.toml").write_text(text)
        self.environ = dict(os.environ) | self.servers.environment() | self._own(config)
        self.settings: Settings = load_settings(environ=self.environ)
        provision.declare_all(self.settings)
        redis = self.settings.redis
        self.ledger = Ledger(redis.url, prefix=redis.prefix, timeout=redis.timeout)
        self.store = Store(self.settings.archive.url)
        self.store.create()

    def _own(self, config: Path) -> dict[str, str]:
        return {
            "NOTIFY_CONFIG": str(config),
            "NOTIFY_BROKER_URLS": self.vhost_url,
            "NOTIFY_ARCHIVE_URL": f"sqlite:///{self.directory}/archive.sqlite3",
            "NOTIFY_SANDBOX_HTTP": self.sandbox.http_url,
            "NOTIFY_SANDBOX_SMTP_PORT": str(self.sandbox.smtp_port),
            "NOTIFY_WEBHOOK_ALLOW": "127.0.0.0/8,::1/128",
        }

    def start(self, *arguments: str) -> Process:
        log = self.directory / f"{'-'.join(arguments)}-{len(self.processes)}.log"
        process = Process(arguments, self.environ, log)
        self.processes.append(process)
        return process

    def worker(self, channel: str = "sms", priority: str = "normal") -> Process:
        """A worker that consumes already."""
        process = self.start("worker", channel, priority)
        self.until_logged(process, '"event":"ready"')
        return process

    def archiver(self) -> Process:
        process = self.start("archiver")
        self.until_logged(process, "archiver consuming")
        return process

    def until_logged(self, process: Process, text: str, seconds: float = 30.0) -> None:
        def seen() -> bool:
            assert process.popen.poll() is None or text in process.text(), process.text()
            return text in process.text()

        eventually(seen, f"{text!r} in {process.log.name}", seconds)

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "notify", *arguments],
            env=self.environ,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def send(self, *notifications: Notification) -> None:
        with Client(self.settings) as client:
            for notification in notifications:
                client.send(notification)

    def until_settled(self, id: str) -> Record:
        def settled() -> Record | None:
            record = self.ledger.record(id)
            over = record and record.state != "sending" and not record.unpublished
            return record if over else None

        return eventually(settled, f"{id} settled")

    def until_sent(self, id: str) -> Record:
        def sent() -> Record | None:
            record = self.ledger.record(id)
            return record if record and record.state == "sent" else None

        return eventually(sent, f"{id} delivered", 40)

    def until_depth(self, queue: str, count: int) -> None:
        eventually(lambda: self.depth(queue) == count, f"{count} messages on {queue}")

    def ready(self, channel: str = "sms", priority: str = "normal") -> int:
        return self.depth(work_queue(channel, priority))

    def depth(self, queue: str) -> int:
        """Ready messages by AMQP, which is exact, where the management API lags."""
        connection = connect(self.vhost_url, connect_timeout=5, read_timeout=5)
        try:
            opened = connection.channel()
            return int(opened.queue_declare(queue, passive=True).message_count)
        finally:
            drop(connection)

    def unacknowledged(self, queue: str) -> int:
        return management(self.settings).queues()[queue].unacknowledged

    def publish_raw(self, envelope: Envelope, exchange: str = "notify") -> None:
        """Publishes as another program would, without the client's checks."""
        publisher = Publisher([self.vhost_url])
        publisher.publish(exchange, encode(envelope, now=datetime.now(UTC)))
        publisher.close()

    def close(self) -> None:
        for process in self.processes:
            if process.popen.poll() is None:
                process.kill()
        self.ledger.close()
        self.store.close()


def sms(body: str = "Hello", recipient: str = "+491701234567", **values: Any) -> Notification:
    return Notification(channel="sms", recipient=recipient, body=body, **values)
