"""Three RabbitMQ nodes of our own that form a cluster, and what an operator does with them."""

import secrets
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CalledProcessError
from typing import Self

from notify.errors import Unavailable
from notify.local import directory as place
from notify.local import executables, ports
from notify.local.identity import PORTS, Identity
from notify.local.rabbitmq_server import epmd_program, rabbitmq_program
from notify.local.server import Server
from tests.broker.node import run_control
from tests.waiting import eventually

SIZE = 3

# They find each other when they start for the first time: no commands that join them.
DISCOVERY = "cluster_formation.peer_discovery_backend = classic_config\n"
PEER = "cluster_formation.classic_config.nodes.{number} = {node}\n"

_OTHERS = "length(nodes())."
_QUEUE = '{{ok, Q}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"{vhost}">>, queue, <<"{queue}">>)), '
_LEADER = _QUEUE + "{{ok, _, {{_, Leader}}}} = ra:members(amqqueue:get_pid(Q)), Leader."
_MEMBERS = _QUEUE + "{{ok, Members, _}} = ra:members(amqqueue:get_pid(Q)), length(Members)."
_TRANSFER = _QUEUE + "rabbit_quorum_queue:transfer_leadership(Q, '{node}')."


@dataclass(frozen=True, kw_only=True)
class Node:
    """One node: who it is, and its process."""

    identity: Identity
    directory: Path
    server: Server

    @property
    def running(self) -> bool:
        try:
            return Path(f"/proc/{self.server.pid}").exists()
        except Unavailable:
            return False

    def control(self, *arguments: str) -> str:
        home, epmd = self.directory / "home", self.identity.ports["epmd"]
        return run_control(home, epmd, self.identity.node, *arguments).strip()

    def evaluate(self, expression: str) -> str:
        return self.control("eval", expression)

    def url(self, vhost: str) -> str:
        return self.identity.broker_url + vhost


class Cluster:
    """A context manager; what a test stops must run again when the test ends."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._resources = ExitStack()
        self._whole = False
        self.nodes: list[Node] = []

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            found = executables.find(rabbitmq=True, redis=False)
            assert found.rabbitmq
            assert found.epmd
            lock = starting.enter_context(place.locked(self._directory))
            identities = _identities()
            epmd = Server(
                epmd_program(found.epmd, self._directory / "epmd", identities[0]), lock=lock
            )
            starting.callback(epmd.stop, kill=True)
            epmd.start()
            epmd.wait_until_ready()
            cookie = secrets.token_hex(24)
            for identity in identities:
                directory = self._directory / identity.node.partition("@")[0]
                _prepare(directory, cookie, identities)
                program = rabbitmq_program(found.rabbitmq, directory, identity)
                server = Server(program, lock=lock)
                self.nodes.append(Node(identity=identity, directory=directory, server=server))
                starting.callback(server.stop, kill=True)
            self.start(*self.nodes)
            self._resources = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def start(self, *nodes: Node) -> None:
        """Starts nodes at once, and returns when they can be used."""
        for node in nodes:
            node.server.start()
        for node in nodes:
            node.server.wait_until_ready(90)

    def kill(self, node: Node) -> None:
        self._whole = False
        node.server.stop(kill=True)

    def leader(self, vhost: str, queue: str) -> str:
        """The name of the node that leads a queue; empty while there is none."""
        try:
            return self._first().evaluate(_LEADER.format(vhost=vhost, queue=queue)).strip("'")
        except CalledProcessError:
            return ""

    def members(self, vhost: str, queue: str) -> int:
        return int(self._first().evaluate(_MEMBERS.format(vhost=vhost, queue=queue)))

    def move_leader(self, vhost: str, queue: str, node: Node) -> None:
        expression = _TRANSFER.format(vhost=vhost, queue=queue, node=node.identity.node)
        self._first().evaluate(expression)
        eventually(
            lambda: self.leader(vhost, queue) == node.identity.node, f"{node.identity.node} to lead"
        )

    def _first(self) -> Node:
        return next(node for node in self.nodes if node.running)

    def heal(self) -> None:
        """Every node runs and sees the others."""
        if self._whole:
            return
        self.start(*[node for node in self.nodes if not node.running])
        eventually(
            lambda: {node.evaluate(_OTHERS) for node in self.nodes} == {str(SIZE - 1)},
            "three nodes that see each other",
            60,
        )
        self._whole = True


def _identities() -> list[Identity]:
    """Three that differ in names and ports; epmd, user and password are the same."""
    first = Identity.new()
    free = ports.choose(f"{name}-{number}" for name in PORTS for number in range(1, SIZE))
    prefix = first.node.partition("@")[0]
    others = [
        replace(
            first,
            node=f"{prefix}-{number}@localhost",
            ports={name: free[f"{name}-{number}"] for name in PORTS}
            | {"epmd": first.ports["epmd"]},
        )
        for number in range(1, SIZE)
    ]
    return [first, *others]


def _prepare(directory: Path, cookie: str, identities: list[Identity]) -> None:
    """What differs from a node that is alone; the rest is written by its program."""
    (directory / "home").mkdir(parents=True)
    file = directory / "home" / ".erlang.cookie"
    file.touch(mode=0o600)
    file.write_text(cookie)
    peers = [
        PEER.format(number=number, node=identity.node)
        for number, identity in enumerate(identities, 1)
    ]
    (directory / "conf.d").mkdir()
    (directory / "conf.d" / "cluster.conf").write_text(DISCOVERY + "".join(peers))
