"""What the drill outage-replay plays on: one channel whose provider is down at first."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from notify.config import Settings, load_settings
from notify.drill.config import to_toml
from notify.drill.crew import Crew
from notify.drill.outage import MEANT, OutagePlan
from notify.errors import UsageError
from notify.local import PrivateServers, servers_from_environment
from notify.outcomes import Reason
from notify.processes import environment, notify, own_virtual_host
from notify.provision import management
from notify.sandbox import Answer, Sandbox
from notify.store import Filter, Store

_NAME: Final = "notify-drill"
_DOWN: Final = Answer(status=503)
_REFUSES: Final = Answer(status=400)
# It takes the request and hangs up: nobody can know.
_SILENT: Final = Answer(reset="after")
_MAIN: Final[Mapping[str, Any]] = {
    "broker": {"rungs": [1, 2, 4, 8, 15], "connect_timeout": "3s", "confirm_timeout": "10s"},
    "redis": {"timeout": "5s"},
    "archive": {"batch_size": 500, "batch_wait": "0.1s"},
    "log": {"level": "WARNING", "format": "json"},
}
_SMS: Final[Mapping[str, Any]] = {
    "queues": {"urgent": {"concurrency": 4}, "normal": {"concurrency": 16}},
    # As after an outage that was longer than all retries, without waiting for it.
    "retry": {
        "first": "1s",
        "cap": "15s",
        "max_retries": 0,
        "give_up_after": {"urgent": "30m", "normal": "30m"},
    },
    "send": {"deadline": "5s", "lease": "12s", "retention": "6h", "unknown": "archive"},
    "providers": [
        {
            "name": "sandbox-sms",
            "type": "http-sms",
            "url": "${NOTIFY_SANDBOX_HTTP}/sms",
            "breaker": {"enabled": False},
        }
    ],
}


@dataclass(frozen=True, kw_only=True)
class OutageStage:
    """``crew`` starts processes by name, which are stopped at the end."""

    settings: Settings
    environ: Mapping[str, str]
    sandbox: Sandbox
    logs: Path
    broker_version: str
    say: Callable[[str], None]
    stack: ExitStack = field(repr=False)

    def start(self, *names: str) -> None:
        """Workers by their priority, or the archiver."""
        commands = {
            name: notify("archiver") if name == "archiver" else notify("worker", "sms", name)
            for name in names
        }
        crew = Crew(commands, logs=self.logs, environ=self.environ, say=self.say)
        self.stack.enter_context(crew)


@contextmanager
def outage_stage(
    plan: OutagePlan, directory: Path, say: Callable[[str], None]
) -> Iterator[OutageStage]:
    """Starts servers and the sandbox, and stops everything at the end.

    Raises ``UsageError`` for an archive in which something is, and ``Unavailable``.
    """
    with ExitStack() as stack:
        servers = servers_from_environment()
        if servers is None:
            private = PrivateServers(directory / "servers", progress=say, fresh=True)
            servers = stack.enter_context(private)
        logs = _emptied(directory)
        sandbox = stack.enter_context(Sandbox())
        _script(plan, sandbox)
        environ = environment(servers, sandbox, directory, _NAME)
        environ["NOTIFY_CONFIG"] = str(_configured(directory).absolute())
        if plan.archive:
            environ["NOTIFY_ARCHIVE_URL"] = plan.archive
        settings = load_settings(environ=environ)
        _check_empty(settings)
        stack.enter_context(own_virtual_host(settings))
        version = ".".join(map(str, management(settings).version()))
        yield OutageStage(
            settings=settings,
            environ=environ,
            sandbox=sandbox,
            logs=logs,
            broker_version=version,
            say=say,
            stack=stack,
        )


def recover(plan: OutagePlan, sandbox: Sandbox) -> None:
    """The provider is up again, for everybody."""
    for number in range(plan.count):
        sandbox.script(plan.address(number))


def _script(plan: OutagePlan, sandbox: Sandbox) -> None:
    for fate, answer in (
        (MEANT, _DOWN),
        (Reason.REFUSED, _REFUSES),
        (Reason.UNKNOWN_OUTCOME, _SILENT),
    ):
        for number in plan.numbers(fate):
            sandbox.script(plan.address(number), then=answer)


def _emptied(directory: Path) -> Path:
    for part in ("log", "config"):
        shutil.rmtree(directory / part, ignore_errors=True)
    for path in directory.glob("archive.sqlite3*"):
        path.unlink()
    logs = directory / "log"
    logs.mkdir(parents=True)
    return logs


def _configured(directory: Path) -> Path:
    config = directory / "config"
    (config / "channels").mkdir(parents=True)
    (config / "notify.toml").write_text(to_toml(_MAIN), encoding="utf-8")
    (config / "channels" / "sms.toml").write_text(to_toml(_SMS), encoding="utf-8")
    return config


def _check_empty(settings: Settings) -> None:
    """A drill must not replay what is somebody's."""
    with closing(Store(settings.archive.url)) as store:
        store.create()
        if store.count(Filter(), 1):
            raise UsageError("the drill's archive must be empty: give the URL of a new database")
