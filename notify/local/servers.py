"""RabbitMQ and Redis for a demo, for tests and for development, gone when their owner is."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

from notify.local import directory as place
from notify.local import executables
from notify.local.identity import Identity, load_or_create
from notify.local.offer import Servers
from notify.local.rabbitmq_server import epmd_program, rabbitmq_program
from notify.local.redis_server import redis_program
from notify.local.server import Server

Progress = Callable[[str], None]


def say_nothing(_: str) -> None:
    """Report no progress."""


class PrivateServers:
    """A RabbitMQ node and a Redis on free loopback ports, as a context manager.

    The ports stay the same over a restart, and from run to run where they are still free.
    ``fresh`` starts from nothing; as the data is then worth nothing afterwards either, such
    servers are killed at the end, not stopped in order (which takes RabbitMQ six seconds).
    """

    def __init__(
        self,
        directory: Path,
        *,
        progress: Progress = say_nothing,
        rabbitmq: bool = True,
        redis: bool = True,
        fresh: bool = False,
    ) -> None:
        self.directory = directory.absolute()
        self._progress = progress
        self._wanted = {"rabbitmq": rabbitmq, "redis": redis}
        self._fresh = fresh
        self._resources = ExitStack()
        self._epmd: Server | None = None
        self._broker: Server | None = None
        self._redis: Server | None = None

    def __enter__(self) -> Servers:
        with ExitStack() as starting, place.usable(self.directory):
            found = executables.find(**self._wanted)
            lock = starting.enter_context(place.locked(self.directory))
            place.prepare(self.directory, fresh=self._fresh)
            identity = load_or_create(self.directory)
            self._define(found, identity, lock)
            starting.callback(self._stop)
            self._start()
            self._resources = starting.pop_all()
        return self._offer(identity)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._resources.close()

    @property
    def pids(self) -> list[int]:
        """The processes that were started; each may have more below it."""
        running = filter(None, (self._epmd, self._broker, self._redis))
        return [server.pid for server in running]

    @property
    def broker_pid(self) -> int:
        return _wanted(self._broker).pid

    @property
    def redis_pid(self) -> int:
        return _wanted(self._redis).pid

    def start_broker(self) -> None:
        self._launch(_wanted(self._broker))

    def stop_broker(self, *, kill: bool = False) -> None:
        _wanted(self._broker).stop(kill=kill)

    def restart_broker(self, *, kill: bool = False) -> None:
        self.stop_broker(kill=kill)
        self.start_broker()

    def start_redis(self) -> None:
        self._launch(_wanted(self._redis))

    def stop_redis(self, *, kill: bool = False) -> None:
        _wanted(self._redis).stop(kill=kill)

    def restart_redis(self, *, kill: bool = False) -> None:
        self.stop_redis(kill=kill)
        self.start_redis()

    def _define(self, found: executables.Executables, identity: Identity, lock: int) -> None:
        rabbitmq, redis = self.directory / "rabbitmq", self.directory / "redis"
        if found.rabbitmq and found.epmd:
            self._epmd = Server(epmd_program(found.epmd, rabbitmq / "epmd", identity), lock=lock)
            self._broker = Server(rabbitmq_program(found.rabbitmq, rabbitmq, identity), lock=lock)
        if found.redis:
            self._redis = Server(redis_program(found.redis, redis, identity), lock=lock)

    def _start(self) -> None:
        """All at once; only the broker has to wait, for epmd."""
        if self._epmd:
            self._epmd.start()
            self._epmd.wait_until_ready()
        self._launch(*filter(None, (self._redis, self._broker)))

    def _launch(self, *servers: Server) -> None:
        started = time.monotonic()
        with self._undo(*servers):
            for server in servers:
                self._progress(f"{server.name}: starting")
                server.start()
            for server in servers:
                server.wait_until_ready()
                self._progress(f"{server.name}: ready after {time.monotonic() - started:.1f} s")

    @contextmanager
    def _undo(self, *servers: Server) -> Iterator[None]:
        try:
            yield
        except BaseException:
            for server in servers:
                server.stop()
            raise

    def _stop(self) -> None:
        """Both at once; then epmd, which the node talks to until its end."""
        running = [server for server in (self._broker, self._redis) if server]
        if not self._fresh:
            self._progress("stopping " + " and ".join(server.name for server in running))
            for server in running:
                server.ask_to_stop()
        for server in filter(None, (*running, self._epmd)):
            server.stop(kill=self._fresh)

    def _offer(self, identity: Identity) -> Servers:
        return Servers(
            broker_urls=(identity.broker_url,) if self._broker else (),
            management_url=identity.management_url if self._broker else "",
            redis_url=identity.redis_url if self._redis else "",
        )


def _wanted(server: Server | None) -> Server:
    if server is None:
        raise ValueError("this server was not asked for")
    return server
