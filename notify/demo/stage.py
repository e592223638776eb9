"""The demo's stage: servers, sandbox and all processes, up for as long as it plays."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from notify import provision
from notify.config import Settings, load_settings
from notify.errors import Unavailable
from notify.local import PrivateServers, servers_from_environment
from notify.local.process import GuardedProcess
from notify.processes import (
    commands,
    environment,
    find_config,
    own_virtual_host,
    wait_until_consumed,
)
from notify.sandbox import Sandbox

_NAME = "notify-demo"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the story works with."""

    settings: Settings
    sandbox: Sandbox
    logs: Path


@contextmanager
def stage(directory: Path, say: Callable[[str], None]) -> Iterator[Stage]:
    """Starts everything, and stops it at the end however that comes.

    Raises ``Unavailable`` with one line that says what does not start.
    """
    with ExitStack() as stack:
        servers = servers_from_environment() or stack.enter_context(
            PrivateServers(directory / "servers", progress=say, fresh=True)
        )
        sandbox = stack.enter_context(Sandbox(_emptied(directory) / "received.jsonl"))
        environ = environment(servers, sandbox, directory, _NAME) | {
            "NOTIFY_RETRY_PRESET": "quick",
            "NOTIFY_LOG_FORMAT": "json",
            "NOTIFY_CONFIG": str(find_config({}).absolute()),
        }
        settings = load_settings(environ=environ)
        stack.enter_context(own_virtual_host(settings))
        say(f"RabbitMQ: {len(provision.wanted(settings).queues)} quorum queues declared")
        processes = stack.enter_context(_running(commands(settings), directory, environ))
        wait_until_consumed(settings, lambda: _all_alive(processes))
        say(f"processes: {', '.join(processes)}")
        yield Stage(settings=settings, sandbox=sandbox, logs=directory / "log")


def _emptied(directory: Path) -> Path:
    (directory / "log").mkdir(parents=True, exist_ok=True)
    for path in [*directory.glob("archive.sqlite3*"), *directory.glob("received.jsonl")]:
        path.unlink()
    return directory


@contextmanager
def _running(
    wanted: dict[str, list[str]], directory: Path, environ: dict[str, str]
) -> Iterator[dict[str, GuardedProcess]]:
    running: dict[str, GuardedProcess] = {}
    try:
        for name, command in wanted.items():
            log = directory / "log" / f"{name}.log"
            running[name] = GuardedProcess(command, log=log, cwd=Path.cwd(), env=environ)
        yield running
    finally:
        for process in running.values():
            process.ask_to_stop()
        for process in running.values():
            process.stop()


def _all_alive(processes: dict[str, GuardedProcess]) -> None:
    for name, process in processes.items():
        if not process.alive():
            raise Unavailable(f"{name} has stopped; see {process.log}")
