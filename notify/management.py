"""RabbitMQ's management API: what AMQP cannot tell."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

import requests

from notify.certificates import distrust
from notify.errors import ManagementUnavailable, TopologyMismatch
from notify.topology import Policy, Topology
from notify.trusting import Trusting

_FOR_QUEUES = ("queues", "quorum_queues", "all")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Node:
    base: str
    user: str
    password: str = field(repr=False)

    @classmethod
    def at(cls, url: str) -> Self:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return cls(
            base=f"{parts.scheme}://{host}{parts.path.rstrip('/')}/api",
            user=unquote(parts.username or "guest"),
            password=unquote(parts.password or "guest"),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueStatus:
    """One queue as the management API sees it; counts are some seconds old."""

    name: str
    ready: int
    unacknowledged: int
    held_back: int
    consumers: int
    arguments: Mapping[str, Any]


class Management:
    """One virtual host through the management API. Raises ``ManagementUnavailable``.

    ``url`` may be several, separated by commas: the first that answers is used, and while none
    does, the error is the last one's. ``trusted`` are the certificates (PEM) that one of https
    must have been signed with, instead of those that are trusted by everybody here.
    """

    def __init__(
        self, url: str, virtual_host: str, *, timeout: float = 10.0, trusted: str | None = None
    ) -> None:
        self._nodes = [_Node.at(each.strip()) for each in url.split(",")]
        self._vhost = quote(virtual_host, safe="")
        self._timeout = timeout
        self._session = requests.Session()
        self._session.trust_env = False
        if any(node.base.startswith("https:") for node in self._nodes):
            self._session.mount("https://", Trusting(trusted))

    @property
    def _base(self) -> str:
        return self._nodes[0].base

    @classmethod
    def from_urls(cls, management_url: str, broker_url: str, *, trusted: str | None = None) -> Self:
        """For the virtual host that is the last path segment of ``broker_url``."""
        path = urlsplit(broker_url).path
        return cls(management_url, unquote(path[1:]) if len(path) > 1 else "/", trusted=trusted)

    def version(self) -> tuple[int, ...]:
        """The broker's version, for example (4, 0, 5)."""
        text = str(self._get("/overview")["rabbitmq_version"])
        digits = (part.split("-")[0].split("+")[0] for part in text.split("."))
        return tuple(int(part) for part in digits if part.isdigit())

    def alarms(self) -> list[str]:
        """Resource alarms in force, one line each."""
        return [f"{node}: {kind} alarm" for (node, kind), on in self.node_alarms().items() if on]

    def node_alarms(self) -> dict[tuple[str, str], bool]:
        """Whether each resource alarm is in force, by node and kind."""
        kinds = {"mem_alarm": "memory", "disk_free_alarm": "disk"}
        nodes = self._get("/nodes")
        return {(n["name"], kinds[key]): bool(n.get(key)) for n in nodes for key in kinds}

    def create_virtual_host(self) -> None:
        """Creates the virtual host and gives this user all rights in it."""
        self._put(f"/vhosts/{self._vhost}", {})
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        user = quote(self._nodes[0].user, safe="")
        self._put(f"/permissions/{self._vhost}/{user}", everything)

    def delete_virtual_host(self) -> None:
        """Deletes the virtual host with all that is in it, if it exists."""
        if self.virtual_host_exists():
            self._checked(self._request("DELETE", f"/vhosts/{self._vhost}"))

    def virtual_host_exists(self) -> bool:
        return self._request("GET", f"/vhosts/{self._vhost}").status_code != 404

    def set_policy(self, policy: Policy) -> None:
        body = {
            "pattern": policy.pattern,
            "definition": policy.definition,
            "apply-to": "queues",
            "priority": 10,
        }
        self._put(f"/policies/{self._vhost}/{quote(policy.name, safe='')}", body)

    def ask(self, path: str) -> Any:
        """Any answer of the API, ``{vhost}`` in ``path`` being this virtual host; None where its
        user may not see it, or where there is no such thing."""
        response = self._request("GET", path.replace("{vhost}", self._vhost))
        if response.status_code in (401, 403, 404):
            return None
        return self._checked(response).json()

    def clock(self) -> datetime | None:
        """What time it is there, to the second."""
        said = self._request("GET", "/overview").headers.get("Date", "")
        try:
            return parsedate_to_datetime(said)
        except ValueError:
            return None

    def queues(self) -> dict[str, QueueStatus]:
        return {item["name"]: _queue(item) for item in self._get(f"/queues/{self._vhost}")}

    def differences(self, topology: Topology) -> list[str]:
        """How the broker differs from what Notify needs, one line each; empty when it does not."""
        queues = self.queues()
        found = [
            line
            for queue in topology.queues
            for line in _queue_differences(queue.name, queue.arguments, queues.get(queue.name))
        ]
        return [
            *self._exchange_differences(topology),
            *found,
            *self._binding_differences(topology),
            *self._policy_differences(topology, queues),
        ]

    def require(self, topology: Topology) -> None:
        """Raises ``TopologyMismatch`` with every difference."""
        differences = self.differences(topology)
        if differences:
            raise TopologyMismatch([*differences, "run: notify topology declare"])

    def close(self) -> None:
        self._session.close()

    def _exchange_differences(self, topology: Topology) -> list[str]:
        known = {item["name"]: item for item in self._get(f"/exchanges/{self._vhost}")}
        lines = []
        for exchange in topology.exchanges:
            item = known.get(exchange.name)
            if item is None:
                lines.append(f"exchange {exchange.name}: is missing")
            elif (item["type"], item["arguments"]) != (exchange.type, exchange.arguments):
                lines.append(f"exchange {exchange.name}: has another type or other arguments")
        return lines

    def _binding_differences(self, topology: Topology) -> list[str]:
        items = self._get(f"/bindings/{self._vhost}")
        known = {(b["source"], b["destination"], b["routing_key"]) for b in items}
        return [
            f"binding {b.exchange} -> {b.queue} ({b.routing_key}): is missing"
            for b in topology.bindings
            if (b.exchange, b.queue, b.routing_key) not in known
        ]

    def _policy_differences(
        self, topology: Topology, queues: Mapping[str, QueueStatus]
    ) -> list[str]:
        # The policies themselves: what the queues show of them is some seconds old.
        set_now = self._get(f"/policies/{self._vhost}")
        wanted = topology.policies(self.version())
        return [
            line
            for queue in topology.queues
            if queue.name in queues
            for policy in wanted
            if policy.covers(queue.name)
            for line in _policy_differences(queue.name, policy, _in_force(set_now, queue.name))
        ]

    def _get(self, path: str) -> Any:
        response = self._checked(self._request("GET", path))
        try:
            return response.json()
        except ValueError as error:
            raise ManagementUnavailable(
                f"RabbitMQ management API at {self._base}: the answer is not JSON"
            ) from error

    def _put(self, path: str, body: Mapping[str, Any]) -> None:
        self._checked(self._request("PUT", path, body))

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> requests.Response:
        # What is asked for here can be asked for twice.
        for last in range(len(self._nodes) - 1, -1, -1):
            node = self._nodes[0]
            try:
                return self._session.request(
                    method,
                    node.base + path,
                    json=body,
                    timeout=self._timeout,
                    auth=(node.user, node.password),
                )
            except requests.RequestException as error:
                self._nodes = [*self._nodes[1:], node]
                if not last:
                    raise ManagementUnavailable(
                        f"RabbitMQ management API at {node.base}: {_kind(error, node.base)}"
                    ) from error
        raise AssertionError("there is at least one node")

    def _checked(self, response: requests.Response) -> requests.Response:
        if response.ok:
            return response
        hint = {
            401: "user or password is wrong",
            403: "the user lacks a tag or permission",
            404: f"virtual host {unquote(self._vhost)!r} is missing; run: notify topology declare",
        }
        reason = hint.get(response.status_code, f"HTTP {response.status_code}")
        raise ManagementUnavailable(f"RabbitMQ management API at {self._base}: {reason}")


def _kind(error: Exception, base: str) -> str:
    return distrust(error, urlsplit(base).netloc) or type(error).__name__


def _queue(item: Mapping[str, Any]) -> QueueStatus:
    ready = item.get("messages_ready", 0)
    unacknowledged = item.get("messages_unacknowledged", 0)
    return QueueStatus(
        name=item["name"],
        ready=ready,
        unacknowledged=unacknowledged,
        # Neither ready nor with a consumer: kept because dead lettering has not succeeded.
        held_back=max(0, item.get("messages", 0) - ready - unacknowledged),
        consumers=item.get("consumers", 0),
        arguments=item.get("arguments", {}),
    )


def _in_force(policies: Sequence[Mapping[str, Any]], queue: str) -> Mapping[str, Any]:
    """The definition that RabbitMQ applies: of the policies that match, the highest one."""
    matching = [
        policy
        for policy in policies
        if policy["apply-to"] in _FOR_QUEUES and _matches(policy["pattern"], queue)
    ]
    best = max(matching, key=lambda policy: int(policy["priority"]), default=None)
    return {} if best is None else best["definition"]


def _matches(pattern: str, queue: str) -> bool:
    """A foreign policy's pattern may be one that only Erlang can read: then it is not ours."""
    try:
        return re.search(pattern, queue) is not None
    except re.error:
        return False


def _policy_differences(queue: str, wanted: Policy, has: Mapping[str, Any]) -> list[str]:
    return [
        f"queue {queue}: policy {key} is {has.get(key, 'not set')}, must be {value}"
        for key, value in wanted.definition.items()
        if has.get(key) != value
    ]


def _queue_differences(
    name: str, wanted: Mapping[str, Any], status: QueueStatus | None
) -> list[str]:
    if status is None:
        return [f"queue {name}: is missing"]
    keys = sorted({*wanted, *status.arguments})
    return [
        f"queue {name}: argument {key} is {status.arguments.get(key, 'missing')}, "
        f"must be {wanted.get(key, 'absent')}"
        for key in keys
        if status.arguments.get(key) != wanted.get(key)
    ]
