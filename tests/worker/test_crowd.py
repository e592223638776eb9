"""A real worker with much under way: looked at, listened to, cut off, and stopped."""

import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery.events.state import State

from notify.app import make_app
from notify.local import PrivateServers
from notify.sandbox import Answer
from notify.topology import work_queue
from tests.broker.node import control
from tests.conftest import Vhost
from tests.deployment import Deployment, sms
from tests.waiting import eventually
from tests.worker.tools import TO_WORKER, celery

pytestmark = [pytest.mark.broker, pytest.mark.redis]
MANY = 100
QUEUE = work_queue("sms", "normal")


@pytest.fixture
def crowded(deploy: Callable[..., Deployment]) -> Deployment:
    """Where a hundred are delivered at once, and each takes some seconds."""
    deployment = deploy(concurrency=MANY, deadline="40s", lease="60s")
    deployment.sandbox.script("*", then=Answer(delay=8))
    return deployment


def test_a_hundred_under_way_are_seen_and_finished_when_it_stops(crowded: Deployment) -> None:
    deployment = crowded
    worker = deployment.worker()
    notifications = [sms(recipient=f"+4917000{n:05}") for n in range(MANY + 20)]
    deployment.send(*notifications)
    deployment.sandbox.wait_for(MANY, 30, accepted_only=False)
    commands = [["inspect", *TO_WORKER, name] for name in ("active", "reserved", "stats")]
    active, reserved, stats = [output for _, output in celery(deployment, *commands)]
    assert active.count("'name': 'notify.deliver'") <= MANY
    assert re.search(r'"notify.deliver": \d+', stats)
    assert "+4917000" not in active + reserved + stats
    assert worker.stop(60) == 0
    begun = Counter(item.id for item in deployment.sandbox.received())
    assert set(begun.values()) == {1}
    left = len(notifications) - len(begun)
    eventually(lambda: deployment.depth(QUEUE) == left, "the rest back in the queue")
    for notification in notifications:
        record = deployment.ledger.record(notification.id)
        assert (record is not None and record.state == "sent") == (notification.id in begun)


def test_all_that_is_under_way_is_listed_as_active(deploy: Callable[..., Deployment]) -> None:
    deployment = deploy(concurrency=20, deadline="90s", lease="120s")
    deployment.sandbox.script("*", then=Answer(delay=80))
    deployment.worker()
    notifications = [sms(recipient=f"+4917000{n:05}") for n in range(25)]
    deployment.send(*notifications)
    deployment.sandbox.wait_for(20, 30, accepted_only=False)
    commands = [["inspect", *TO_WORKER, name] for name in ("active", "reserved")]
    (_, active), (_, reserved) = celery(deployment, *commands)
    shown = {n.id for n in notifications if n.id in active}
    assert len(shown) == active.count("'name': 'notify.deliver'") == 20
    assert {n.id for n in notifications if n.id in reserved} <= shown
    assert deployment.ready() == 5


@contextmanager
def listening(deployment: Deployment) -> Iterator[list[dict[str, Any]]]:
    """All events from now on, as Flower or an exporter hears them."""
    app, ready = make_app(deployment.settings), threading.Event()
    heard: list[dict[str, Any]] = []
    with app.connection_for_read() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": heard.append})
        receiver.on_consume_ready = lambda *_, **__: ready.set()
        options = {"limit": None, "wakeup": False}
        thread = threading.Thread(target=receiver.capture, kwargs=options)
        thread.start()
        try:
            assert ready.wait(20)
            with app.connection_for_write() as writing:
                app.control.enable_events(connection=writing)
            yield heard
        finally:
            receiver.should_stop = True
            thread.join()


def test_events_reach_who_listens(deployment: Deployment) -> None:
    worker = deployment.worker()
    refused = sms(recipient="+491700000009")
    deployment.sandbox.script(refused.recipient, then=Answer(status=400))
    with listening(deployment) as heard:
        deployment.until_logged(worker, "{task} enabled by remote")
        deployment.send(*[sms(recipient=f"+4917000{n:05}") for n in range(5)], refused)

        def kinds() -> Counter[str]:
            return Counter(event["type"] for event in heard if event["type"].startswith("task-"))

        eventually(lambda: kinds()["task-succeeded"] == 6, "six ends")
    assert kinds() == {"task-received": 6, "task-started": 6, "task-succeeded": 6}
    assert {e["name"] for e in heard if e["type"] == "task-received"} == {"notify.deliver"}
    assert "+4917" not in str(heard)
    assert "Hello" not in str(heard)
    state = State()
    for event in heard:
        state.event(event)
    assert {task.state for task in state.tasks.values()} == {"SUCCESS"}


def test_it_acknowledges_while_it_stops_after_it_was_cut_off(
    deployment: Deployment, restartable: PrivateServers, vhost: Vhost
) -> None:
    """The connection that it stops with is not the one that it began with."""
    worker = deployment.worker()
    control(restartable, "close_all_connections", "-p", vhost.name, "for a test")
    before, slow = sms(recipient="+491700000001"), sms(recipient="+491700000002")
    deployment.send(before)
    deployment.until_sent(before.id)
    deployment.sandbox.script(slow.recipient, then=Answer(delay=3))
    deployment.send(slow)
    deployment.sandbox.wait_for(1, 20, slow.recipient, accepted_only=False)
    worker.popen.send_signal(signal.SIGTERM)
    assert worker.popen.wait(30) == 0
    assert deployment.until_sent(slow.id).attempt == 1
    assert deployment.depth(QUEUE) == 0
    assert "connection lost while stopping" not in worker.text()
