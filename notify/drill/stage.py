"""What a drill plays on: servers, sandbox, configuration, processes."""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from notify import provision
from notify.config import Settings, load_settings
from notify.drill.config import write_config
from notify.drill.crew import Crew
from notify.drill.disk import SmallDisk
from notify.drill.faults import ARCHIVER, BEATS, Breaker
from notify.drill.gateways import Gateways
from notify.drill.plan import Kind, Plan
from notify.drill.traffic import Item
from notify.errors import UsageError
from notify.local import PrivateServers, Servers, servers_from_environment
from notify.processes import commands, environment, own_virtual_host, wait_until_consumed
from notify.provision import management
from notify.store import Store

RECORD: Final = "received.jsonl"
SPARE_RECORD: Final = "received-spare.jsonl"
_NAME: Final = "notify-drill"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the drill works with while it plays."""

    settings: Settings
    gateways: Gateways
    crew: Crew
    breaker: Breaker
    broker_version: str


@contextmanager
def stage(
    plan: Plan, items: tuple[Item, ...], directory: Path, say: Callable[[str], None]
) -> Iterator[Stage]:
    """Starts everything, and stops it at the end however that comes.

    Raises ``UsageError`` where the servers are not ours to restart, and ``Unavailable``
    with one line that says what does not start.
    """
    with ExitStack() as stack:
        private, servers = _servers(plan, directory, say, stack)
        gateways = stack.enter_context(_gateways(plan, items, _emptied(directory)))
        write_config(directory / "config", spare=plan.drill.spare)
        environ = environment(servers, gateways.sandbox, directory, _NAME) | _ways(gateways)
        environ["NOTIFY_CONFIG"] = str((directory / "config").absolute())
        settings = load_settings(environ=environ)
        stack.enter_context(own_virtual_host(settings))
        version = ".".join(map(str, management(settings).version()))
        say(f"RabbitMQ {version}: {len(provision.wanted(settings).queues)} queues declared")
        disk = _disk(plan, settings, directory)
        crew = stack.enter_context(
            Crew(_commands(plan, settings, disk), logs=directory / "log", environ=environ, say=say)
        )
        wait_until_consumed(settings)
        say("processes: all queues have their consumer")
        breaker = Breaker(
            crew=crew,
            gateways=gateways,
            workers=[f"{channel}-{priority}" for channel, priority in settings.queues()],
            servers=private,
            disk=disk,
        )
        yield Stage(
            settings=settings,
            gateways=gateways,
            crew=crew,
            breaker=breaker,
            broker_version=version,
        )


def _servers(
    plan: Plan, directory: Path, say: Callable[[str], None], stack: ExitStack
) -> tuple[PrivateServers | None, Servers]:
    given = servers_from_environment()
    if given is None:
        private = PrivateServers(directory / "servers", progress=say, fresh=True)
        return private, stack.enter_context(private)
    if plan.restarts_servers:
        raise UsageError(
            f"drill {plan.name} restarts RabbitMQ or Redis: unset NOTIFY_BROKER_URLS and "
            "NOTIFY_REDIS_URL, so that it runs on private ones"
        )
    return None, given


def _emptied(directory: Path) -> Path:
    """Accounts and servers stay; whatever else the last drill left is its own."""
    for part in ("log", "config"):
        shutil.rmtree(directory / part, ignore_errors=True)
    for path in [*directory.glob("archive.sqlite3*"), *directory.glob("received*.jsonl")]:
        path.unlink()
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _gateways(plan: Plan, items: tuple[Item, ...], directory: Path) -> Gateways:
    spare = directory / SPARE_RECORD if plan.drill.spare else None
    return Gateways(directory / RECORD, items, plan.seed, spare=spare)


def _ways(gateways: Gateways) -> dict[str, str]:
    """The variables that lead to the spare gateways."""
    if gateways.spare is None:
        return {}
    return {
        "NOTIFY_SPARE_HTTP": gateways.spare.http_url,
        "NOTIFY_SPARE_SMTP_PORT": str(gateways.spare.smtp_port),
    }


def _disk(plan: Plan, settings: Settings, directory: Path) -> SmallDisk | None:
    if Kind.DISK_FULL not in plan.drill.kinds:
        return None
    store = Store(settings.archive.url)
    store.create()
    store.close()
    return SmallDisk(directory / "archive.sqlite3", round(plan.count * plan.drill.refused))


def _commands(plan: Plan, settings: Settings, disk: SmallDisk | None) -> Mapping[str, list[str]]:
    """The workers and the archiver; two beats where there is something to fire."""
    wanted = commands(settings)
    beat = wanted.pop("beat")
    if plan.drill.scheduled:
        wanted |= dict.fromkeys(BEATS, beat)
    if disk is not None:
        cramped = [sys.executable, "-m", "notify.drill.cramped", str(disk.pages), "archiver"]
        wanted[ARCHIVER] = cramped
    return wanted
