"""Everything that a benchmark needs, started once: servers, the gateway, the mail server."""

import platform
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import redis
import requests

from benching.gateway import Gateway
from benching.mailsink import MailSink
from benching.meters import family
from benching.ours import LIMITS, Ours
from benching.saying import say
from benching.sizes import Sizes
from notify.local import PrivateServers, Servers
from notify.local.ports import choose, is_free

VHOST: Final = "bench"
PEERS: Final = "peers"
QUEUE: Final = "notify.sms.normal"
URGENT: Final = "notify.sms.urgent"
MAILS: Final = "notify.email.normal"
DEAD: Final = "notify.dead"
# Processes count on from their first port; a second of a kind is 20 further on.
_PORTS: Final = 40


@dataclass
class Stage:
    """Where it is measured, and how much."""

    sizes: Sizes
    folder: Path
    servers: Servers
    private: PrivateServers
    gateway: Gateway
    sink: MailSink
    _made: int = field(default=0, init=False)

    def vhost(self, name: str = VHOST) -> str:
        return self.servers.broker_urls[0].rpartition("/")[0] + f"/{name}"

    @cached_property
    def url(self) -> str:
        """The virtual host of ours, with all that is declared in it."""
        self.ours(concurrency=self.sizes.threads).declare()
        return self.vhost()

    @cached_property
    def peers_url(self) -> str:
        """The same queues in a virtual host where peers may declare more."""
        ours = self.ours(concurrency=self.sizes.threads)
        ours.environ["NOTIFY_BROKER_URLS"] = self.vhost(PEERS)
        ours.declare()
        return self.vhost(PEERS)

    def ours(
        self,
        *,
        concurrency: int,
        limits: Mapping[str, str] = LIMITS,
        changes: Mapping[str, str] | None = None,
    ) -> Ours:
        """Notify with a configuration of its own."""
        self._made += 1
        environ = self.servers.environment() | {
            "NOTIFY_BROKER_URLS": self.vhost(),
            "NOTIFY_SANDBOX_HTTP": self.gateway.url(),
            "NOTIFY_SANDBOX_SMTP_PORT": str(self.sink.port),
            "NOTIFY_METRICS_FIRST_PORT": str(_first_port()),
        }
        folder = self.folder / f"ours-{self._made}"
        return Ours(folder, environ, concurrency=concurrency, limits=limits, changes=changes)

    def new_file(self, name: str) -> Path:
        self._made += 1
        return self.folder / f"{self._made}-{name}"

    @cached_property
    def redis(self) -> Any:
        return redis.Redis.from_url(self.servers.redis_url, socket_timeout=120)

    @property
    def broker_pids(self) -> list[int]:
        return family([self.private.broker_pid])

    @property
    def redis_pids(self) -> list[int]:
        return family([self.private.redis_pid])

    def machine(self) -> dict[str, str]:
        """What it was measured on."""
        broker = requests.get(f"{self.servers.management_url}/api/overview", timeout=10).json()
        models = [
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ]
        return {
            "processors": f"{len(models)} x {models[0] if models else platform.machine()}",
            "system": platform.platform(),
            "python": platform.python_version(),
            "rabbitmq": str(broker["rabbitmq_version"]),
            "redis": str(self.redis.info("server")["redis_version"]),
        }


def _first_port() -> int:
    while True:
        first = choose(["first"])["first"]
        if all(is_free(port) for port in range(first, first + _PORTS)):
            return first


@contextmanager
def stage(sizes: Sizes) -> Iterator[Stage]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notify-bench-")))
        # The mail server's user must get to its file.
        folder.chmod(0o755)
        ports = choose(["gateway", "mail"])
        private = PrivateServers(folder / "servers", progress=say, fresh=True)
        yield Stage(
            sizes=sizes,
            folder=folder,
            private=private,
            servers=stack.enter_context(private),
            gateway=stack.enter_context(Gateway(folder / "gateway", ports["gateway"])),
            sink=stack.enter_context(MailSink(folder / "mail", ports["mail"])),
        )
