"""Leaders move, nodes die, the first URL leads nowhere: what is confirmed arrives, once."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise

import pytest

from notify.errors import BrokerUnavailable, NotifyError, QueueFull, Unconfirmed
from notify.publish import Client
from notify.sandbox import Answer, Received
from notify.topology import work_queue
from tests.cluster.cluster import SIZE, Cluster
from tests.cluster.deployment import ClusterDeployment
from tests.deployment import sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.timeout(300)]

QUEUE = work_queue("sms", "normal")
# A worker that waits for longer than this counts as one that has stopped.
WITHIN = 10.0
# What a publisher may be told while a queue has no leader: refused, or not known.
TYPED = {BrokerUnavailable, QueueFull, Unconfirmed}


class Sender:
    """Publishes one after the other in a thread, and remembers what became of each."""

    def __init__(self, deployment: ClusterDeployment) -> None:
        self._client = Client(deployment.settings)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.confirmed: dict[str, float] = {}
        """When publishing of each began (epoch seconds)."""
        self.errors: dict[str, Exception] = {}

    def __enter__(self) -> "Sender":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
        self._client.close()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            notification, begun = sms(), time.time()
            try:
                self._client.send(notification)
            except Exception as error:
                self.errors[notification.id] = error
            else:
                self.confirmed[notification.id] = begun


def test_a_leader_that_moves_costs_nothing(
    cluster: Cluster, deploy_on: Callable[..., ClusterDeployment]
) -> None:
    """To another node, and then to the third, while the worker delivers a backlog."""
    deployment = deploy_on()
    deployment.sandbox.script("*", then=Answer(delay=0.2))
    assert cluster.members(deployment.vhost, QUEUE) == SIZE
    assert cluster.leader(deployment.vhost, QUEUE) == cluster.nodes[0].identity.node
    notifications = [sms() for _ in range(200)]
    deployment.send(*notifications)
    deployment.worker()
    deployment.sandbox.wait_for(5, 20)
    for node in cluster.nodes[1:]:
        cluster.move_leader(deployment.vhost, QUEUE, node)
        assert deployment.ready() > 0
    deployment.sandbox.wait_for(len(notifications), 60)
    eventually(lambda: deployment.depth(QUEUE) == 0, "an empty queue")
    received = deployment.sandbox.received()
    assert Counter(item.id for item in received) == Counter(n.id for n in notifications)
    assert longest_gap(received) < WITHIN


def test_a_node_that_dies_is_replaced_by_the_others(
    cluster: Cluster, deploy_on: Callable[..., ClusterDeployment]
) -> None:
    """It leads the queue, and worker and publisher are connected to it."""
    deployment = deploy_on()
    worker = deployment.worker()
    dying = cluster.nodes[0]
    with Sender(deployment) as sender:
        deployment.sandbox.wait_for(20, 20)
        assert cluster.leader(deployment.vhost, QUEUE) == dying.identity.node
        cluster.kill(dying)
        killed = time.time()
        first = eventually(lambda: first_sent_after(deployment, sender, killed), "a delivery", 60)
        sender.finish()
    assert first - killed < WITHIN
    assert {type(error) for error in sender.errors.values()} <= TYPED
    for id in sender.confirmed:
        assert deployment.until_sent(id).attempt == 1
    times = Counter(item.id for item in deployment.sandbox.received())
    assert set(times.values()) == {1}
    assert times.keys() <= sender.confirmed.keys() | sender.errors.keys()
    assert worker.popen.poll() is None


def first_sent_after(deployment: ClusterDeployment, sender: Sender, moment: float) -> float | None:
    """When the first arrived whose publishing began after that moment."""
    published = sender.confirmed.copy()
    arrivals = deployment.sandbox.received()
    return min((i.at for i in arrivals if published.get(i.id, 0.0) > moment), default=None)


@contextmanager
def refused() -> Iterator[int]:
    """A port at which nobody listens, and which nobody else gets."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextmanager
def silent() -> Iterator[int]:
    """A port at which a connection is made and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield listener.getsockname()[1]


@contextmanager
def unreachable() -> Iterator[int]:
    """A port that answers nothing at all: its queue of connections is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        full = []
        try:
            for _ in range(3):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
                full.append(filler)
            yield port
        finally:
            for filler in full:
                filler.close()


@pytest.mark.parametrize("dead", [refused, silent, unreachable])
def test_a_first_url_that_leads_nowhere_is_passed_over(
    deploy_on: Callable[..., ClusterDeployment], dead: Callable[[], AbstractContextManager[int]]
) -> None:
    deployment = deploy_on()
    with dead() as port:
        url = deployment.vhost_url
        first = url.rpartition("@")[0] + f"@127.0.0.1:{port}/{deployment.vhost}"
        settings = deployment.lead_with(first)
        begun = time.monotonic()
        with Client(settings) as client:
            id = client.send(sms())
        published = time.monotonic()
        deployment.start("worker", "sms", "normal")
        assert deployment.sandbox.wait_for(1, 60)[0].id == id
        delivered = time.monotonic()
    assert published - begun < 5
    assert delivered - published < WITHIN


def test_without_a_majority_nothing_is_confirmed(
    cluster: Cluster, deploy_on: Callable[..., ClusterDeployment]
) -> None:
    deployment = deploy_on()
    worker = deployment.worker()
    with Client(deployment.settings) as client:
        before, without, after = sms(), sms(), sms()
        client.send(before)
        deployment.until_sent(before.id)
        for node in cluster.nodes[1:]:
            cluster.kill(node)
        begun = time.monotonic()
        with pytest.raises(tuple(TYPED)):
            client.send(without)
        assert time.monotonic() - begun < deployment.settings.broker.confirm_timeout + 3
        assert [item.id for item in deployment.sandbox.received()] == [before.id]
        cluster.start(cluster.nodes[2])
        back = time.monotonic()
        eventually(lambda: confirmed(client, after.id), "a confirm", 60)
        assert time.monotonic() - back < WITHIN
        # The same id again: it may have been queued, and must not be delivered twice.
        client.send(without)
    for notification in (without, after):
        deployment.until_sent(notification.id)
    received = Counter(item.id for item in deployment.sandbox.received())
    assert received == Counter([before.id, without.id, after.id])
    assert worker.popen.poll() is None


def confirmed(client: Client, id: str) -> bool:
    try:
        client.send(sms(id=id))
    except NotifyError:
        return False
    return True


def longest_gap(received: list[Received]) -> float:
    times = sorted(item.at for item in received)
    return max(later - earlier for earlier, later in pairwise(times))
