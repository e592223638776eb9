"""Declaring the topology, and finding out what is wrong with one."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import requests

from notify.broker import declare
from notify.errors import BrokerUnavailable, ManagementUnavailable, TopologyMismatch
from notify.local import PrivateServers, Servers
from notify.management import Management
from notify.topology import DEAD
from tests.broker.node import alarm
from tests.broker.proxy import Proxy
from tests.broker.rabbit import QUEUE, Rabbit
from tests.conftest import Vhost
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture
def api(servers: Servers, vhost: Vhost) -> Iterator[Management]:
    api = Management.from_urls(servers.management_url, vhost.url)
    yield api
    api.close()


@pytest.fixture
def complete(rabbit: Rabbit, api: Management) -> Rabbit:
    """The topology with its policies, as the management API sees it."""
    for policy in rabbit.topology.policies(api.version()):
        api.set_policy(policy)
    eventually(lambda: api.differences(rabbit.topology) == [], "no difference")
    return rabbit


@pytest.fixture
def put(servers: Servers, vhost: Vhost) -> Callable[..., None]:
    def put_policy(name: str, **policy: Any) -> None:
        url = f"{servers.management_url}/api/policies/{quote(vhost.name)}/{name}"
        requests.put(url, json=policy, timeout=10).raise_for_status()

    return put_policy


def test_declaring_again_changes_nothing(rabbit: Rabbit) -> None:
    rabbit.declare()
    rabbit.declare()
    assert rabbit.depth() == 0


def test_a_queue_declared_otherwise_is_named(rabbit: Rabbit) -> None:
    with rabbit.channel() as channel:
        channel.queue_delete(QUEUE)
        channel.queue_declare(QUEUE, durable=True, auto_delete=False)
    with pytest.raises(TopologyMismatch, match=rf"^queue {QUEUE}: .*inequivalent arg") as raised:
        rabbit.declare()
    assert len(raised.value.differences) == 1


def test_an_exchange_declared_otherwise_is_named(vhost: Vhost) -> None:
    rabbit = Rabbit(vhost.url)
    with rabbit.channel() as channel:
        channel.exchange_declare("notify.return", "direct", durable=True, auto_delete=False)
    with pytest.raises(TopologyMismatch, match=r"^exchange notify\.return: .*inequivalent arg"):
        rabbit.declare()


def test_a_broker_that_stops_answering_is_no_mismatch(rabbit: Rabbit, proxy: Proxy) -> None:
    proxy.pause_after(b"\x00\x0a\x00\x29")  # connection.open-ok
    started = time.monotonic()
    with pytest.raises(BrokerUnavailable):
        declare(rabbit.topology, [proxy.url], timeout=1)
    assert time.monotonic() - started < 3


def test_a_connection_lost_while_declaring_is_no_mismatch(rabbit: Rabbit, proxy: Proxy) -> None:
    proxy.cut_after(b"\x00\x28\x00\x0b")  # exchange.declare-ok
    with pytest.raises(BrokerUnavailable):
        declare(rabbit.topology, [proxy.url], timeout=1)


def test_a_missing_virtual_host_is_named(servers: Servers, rabbit: Rabbit) -> None:
    api = Management(servers.management_url, "nowhere")
    assert not api.virtual_host_exists()
    with pytest.raises(ManagementUnavailable, match="'nowhere' is missing; run: notify topology"):
        api.differences(rabbit.topology)
    api.close()
    elsewhere = urlsplit(rabbit.url)._replace(path="/nowhere").geturl()
    with pytest.raises(BrokerUnavailable):
        declare(rabbit.topology, [elsewhere])


def test_a_missing_queue_is_named_with_its_bindings(complete: Rabbit, api: Management) -> None:
    with complete.channel() as channel:
        channel.queue_delete(QUEUE)
    eventually(lambda: QUEUE not in api.queues(), "a deleted queue")
    assert api.differences(complete.topology) == [
        f"queue {QUEUE}: is missing",
        f"binding notify -> {QUEUE} (sms.normal): is missing",
        f"binding notify.return -> {QUEUE} (sms.normal): is missing",
    ]
    with pytest.raises(TopologyMismatch, match="run: notify topology declare"):
        api.require(complete.topology)


def test_other_arguments_are_named(complete: Rabbit, api: Management) -> None:
    right = next(q.arguments for q in complete.topology.queues if q.name == QUEUE)
    wrong = {k: v for k, v in right.items() if k != "x-dead-letter-strategy"} | {"x-expires": 9**9}
    with complete.channel() as channel:
        channel.queue_delete(QUEUE)
        channel.queue_declare(QUEUE, durable=True, auto_delete=False, arguments=wrong)
        for exchange in ("notify", "notify.return"):
            channel.queue_bind(QUEUE, exchange, "sms.normal")
    eventually(lambda: "x-expires" in api.queues()[QUEUE].arguments, "the new queue")
    assert api.differences(complete.topology) == [
        f"queue {QUEUE}: argument x-dead-letter-strategy is missing, must be at-least-once",
        f"queue {QUEUE}: argument x-expires is 387420489, must be absent",
    ]


def test_missing_exchanges_and_bindings_are_named(complete: Rabbit, api: Management) -> None:
    with complete.channel() as channel:
        channel.queue_unbind(DEAD, DEAD, "#")
        channel.exchange_delete("notify.delay.urgent.1s")
        channel.exchange_delete("notify.return")
        channel.exchange_declare("notify.return", "topic", durable=True, auto_delete=False)
    lines = api.differences(complete.topology)
    assert "exchange notify.delay.urgent.1s: is missing" in lines
    assert "exchange notify.return: has another type or other arguments" in lines
    assert "binding notify.dead -> notify.dead (#): is missing" in lines
    assert f"binding notify.return -> {QUEUE} (sms.normal): is missing" in lines


def test_a_missing_policy_is_named_for_each_queue(rabbit: Rabbit, api: Management) -> None:
    eventually(lambda: QUEUE in api.queues(), "the queue")
    lines = [line for line in api.differences(rabbit.topology) if "policy" in line]
    assert f"queue {QUEUE}: policy delivery-limit is not set, must be 10" in lines


def test_a_policy_of_higher_priority_is_seen_to_win(
    complete: Rabbit, api: Management, put: Callable[..., None]
) -> None:
    own = {"pattern": "^notify", "definition": {"max-length": 5}, "apply-to": "queues"}
    put("lower", priority=9, **own)
    put("exchanges", priority=99, **(own | {"apply-to": "exchanges"}))
    put("others", priority=99, **(own | {"pattern": "^other"}))
    assert api.differences(complete.topology) == []
    put("higher", priority=11, **own)
    lines = api.differences(complete.topology)
    assert f"queue {QUEUE}: policy delivery-limit is not set, must be 10" in lines


def test_a_pattern_that_only_the_broker_understands_stops_nothing(
    complete: Rabbit, api: Management, put: Callable[..., None]
) -> None:
    """Patterns are Erlang's, which has more than Python's: recursion, for example."""
    put("foreign", priority=1, pattern="^x(?R)?$", definition={"max-length": 5})
    assert api.differences(complete.topology) == []


def test_of_several_nodes_the_first_that_answers_is_asked(servers: Servers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = f"http://a:s3cret@127.0.0.1:{listener.getsockname()[1]}"
    api = Management(f"{dead},{servers.management_url}", "/")
    assert api.version() == api.version()
    api.close()
    nobody = Management(f"{dead}, {dead}", "/")
    with pytest.raises(ManagementUnavailable) as raised:
        nobody.version()
    assert "s3cret" not in str(raised.value)
    nobody.close()


def test_a_wrong_password_is_told_without_it(servers: Servers) -> None:
    parts = urlsplit(servers.management_url)
    address = parts.netloc.rpartition("@")[2]
    api = Management(f"http://{parts.username}:wr0ng@{address}", "/")
    with pytest.raises(ManagementUnavailable, match="user or password is wrong") as raised:
        api.version()
    assert "wr0ng" not in str(raised.value)
    api.close()


def test_an_address_where_no_management_api_is(rabbit: Rabbit, proxy: Proxy) -> None:
    api = Management(f"http://a:s3cret@127.0.0.1:{urlsplit(proxy.url).port}", "/", timeout=2)
    with pytest.raises(ManagementUnavailable) as raised:
        api.version()
    assert "s3cret" not in str(raised.value)
    api.close()


def test_an_answer_that_is_no_json(rabbit: Rabbit) -> None:
    with HTTPServer(("127.0.0.1", 0), Greeter) as server:
        threading.Thread(target=server.handle_request).start()
        api = Management(f"http://127.0.0.1:{server.server_port}", "/", timeout=5)
        with pytest.raises(ManagementUnavailable, match="is not JSON"):
            api.version()
        api.close()


class Greeter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>It works!</html>")

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.mark.slow
def test_alarms_are_listed(api: Management, restartable: PrivateServers) -> None:
    def ringing() -> list[str]:
        return sorted(line.rpartition(": ")[2] for line in api.alarms())

    with alarm(restartable, "memory"), alarm(restartable, "disk"):
        eventually(lambda: ringing() == ["disk alarm", "memory alarm"], "both alarms")
