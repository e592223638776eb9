"""The private RabbitMQ node under an operator's hands."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from notify.local import PrivateServers, executables
from tests.waiting import eventually

Kind = Literal["memory", "disk"]

# What sets off each alarm, and what the node had before.
_LIMITS: Final[dict[Kind, tuple[str, str, str]]] = {
    "memory": ("set_vm_memory_high_watermark", "0.0000001", "0.4"),
    "disk": ("set_disk_free_limit", "1000000GB", "50MB"),
}

_DEAD_LETTERING: Final = "length(supervisor:which_children(rabbit_fifo_dlx_sup))."
_ELECT: Final = (
    "[ra:trigger_election({N, node()}) || {N, State} <- ets:tab2list(ra_state), State =/= leader]."
)


def control(servers: PrivateServers, *arguments: str) -> str:
    """Runs ``rabbitmqctl`` against the private node; what it prints."""
    identity = _identity(servers)
    home = servers.directory / "rabbitmq" / "home"
    return run_control(home, identity["ports"]["epmd"], identity["node"], *arguments)


def run_control(home: Path, epmd_port: int, node: str, *arguments: str) -> str:
    """The same for any node of ours, by the directory with its cookie and its epmd's port."""
    script = executables.find(rabbitmq=True, redis=False).rabbitmq
    assert script
    environment = {
        "PATH": executables.search_path(),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "ERL_EPMD_PORT": str(epmd_port),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
    }
    done = subprocess.run(
        [str(script.with_name("rabbitmqctl")), "-n", node, *arguments],
        env=environment,
        check=True,
        capture_output=True,
        timeout=60,
        text=True,
    )
    return done.stdout


def restart(servers: PrivateServers) -> None:
    """SIGKILL and a new start, until each queue has its leader and its dead lettering.

    A queue that is deleted while its dead lettering is starting takes RabbitMQ 3.10's down
    for the whole node: that is what the end of a test would do. And a queue whose node dies
    within a second of its declaration waits for somebody to call the election.
    """
    queues = int(control(servers, "eval", _DEAD_LETTERING))
    # In order first: RabbitMQ writes its directory of queues late, and would not know the newest.
    servers.restart_broker()
    servers.restart_broker(kill=True)

    def led() -> bool:
        # A member may come up late, and then waits for an election too.
        elected = control(servers, "eval", _ELECT).strip() == "[]"
        return elected and int(control(servers, "eval", _DEAD_LETTERING)) >= queues

    eventually(led, "a leader and dead lettering for every queue", 60)


@contextmanager
def alarm(servers: PrivateServers, kind: Kind = "memory") -> Iterator[None]:
    """A real resource alarm: while it lasts, RabbitMQ does not read from who publishes."""
    command, low, usual = _LIMITS[kind]
    try:
        control(servers, command, low)
        eventually(lambda: _rings(servers, kind), f"a {kind} alarm")
        yield
    finally:
        control(servers, command, usual)
        eventually(lambda: not _rings(servers, kind), f"the end of the {kind} alarm")


def _rings(servers: PrivateServers, kind: Kind) -> bool:
    return f",{kind}," in control(servers, "eval", "rabbit_alarm:get_alarms().")


def _identity(servers: PrivateServers) -> Any:
    return json.loads((servers.directory / "servers.json").read_text())
