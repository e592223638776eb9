"""Publishing while the broker is blocked, restarts or dies: nothing confirmed is lost."""

import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from notify.broker import Publisher
from notify.errors import BrokerBlocked, BrokerUnavailable, NotifyError, Unconfirmed
from notify.local import PrivateServers
from tests.broker.node import alarm, restart
from tests.broker.rabbit import Rabbit, message, outgoing
from tests.deployment import sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def test_an_alarm_is_told_in_time_and_loses_nothing(
    rabbit: Rabbit, publisher: Publisher, restartable: PrivateServers
) -> None:
    before = sms()
    publisher.publish("notify", message(before))
    blocked = [sms() for _ in range(3)]
    with alarm(restartable):
        for notification in blocked:
            started = time.monotonic()
            with pytest.raises(BrokerBlocked, match="does not take messages: "):
                publisher.publish("notify", message(notification), timeout=1)
            assert time.monotonic() - started < 2
        started = time.monotonic()
        many = [sms() for _ in range(50)]
        results = list(publisher.publish_many(map(outgoing, many), window=20, timeout=0.5))
        assert time.monotonic() - started < 6
        assert Counter(result.key for result in results) == Counter(n.id for n in many)
        assert {type(result.error) for result in results} == {BrokerBlocked}
    for notification in blocked:
        publisher.publish("notify", message(notification))
    # The first copies may have been read when the alarm was over: the same ids again.
    found = set(rabbit.ids(4))
    assert found >= {n.id for n in (before, *blocked)}
    assert found <= {n.id for n in (before, *blocked, *many)}


def test_a_publish_outlasts_a_short_alarm(
    rabbit: Rabbit, publisher: Publisher, restartable: PrivateServers
) -> None:
    notification = sms()
    with alarm(restartable):
        publish = threading.Thread(
            target=publisher.publish, args=("notify", message(notification)), kwargs={"timeout": 30}
        )
        publish.start()
        publish.join(0.5)
        assert publish.is_alive()
    publish.join(20)
    assert not publish.is_alive()
    assert rabbit.ids(1) == [notification.id]


def test_a_restart_is_survived_by_idle_connections_and_by_what_is_under_way(
    rabbit: Rabbit, publisher: Publisher, restartable: PrivateServers
) -> None:
    idle = sms()
    publisher.publish("notify", message(idle))
    confirmed, failed, stop = {idle.id}, set[type](), threading.Event()

    def publish_on(own: Publisher) -> None:
        while not stop.is_set():
            notification = sms()
            try:
                own.publish("notify", message(notification), timeout=1)
                confirmed.add(notification.id)
            except NotifyError as error:
                failed.add(type(error))
        own.close()

    threads = [
        threading.Thread(target=publish_on, args=(Publisher([rabbit.url]),), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    eventually(lambda: len(confirmed) > 50, "some publishes before the restart")
    restart(restartable)
    count = len(confirmed)
    eventually(lambda: len(confirmed) > count + 50, "some publishes after the restart")
    stop.set()
    for thread in threads:
        thread.join()
    assert failed
    assert failed <= {BrokerUnavailable, Unconfirmed}
    publisher.publish("notify", message(), timeout=5)
    assert confirmed <= set(rabbit.ids(len(confirmed)))


@pytest.mark.parametrize("patience", [120.0, 1.0])
def test_a_broker_killed_in_the_middle_of_many_keeps_all_it_confirmed(
    patience: float,
    rabbit: Rabbit,
    restartable: PrivateServers,
    publishing: Callable[..., Publisher],
) -> None:
    """With patience everything arrives; without it what failed is told."""
    publisher = publishing(rabbit.url, connect_timeout=1)
    notifications = [sms() for _ in range(3000)]
    restarting = threading.Thread(target=restart, args=(restartable,), daemon=True)
    results = []
    for result in publisher.publish_many(map(outgoing, notifications), timeout=patience):
        results.append(result)
        if len(results) == 500:
            restarting.start()
            eventually(lambda: not reachable(rabbit), "a dead broker")
    restarting.join()
    assert Counter(r.key for r in results) == Counter(n.id for n in notifications)
    confirmed = {result.key for result in results if result.error is None}
    errors = {type(result.error) for result in results if result.error}
    if patience > 20:
        assert not errors
    assert errors <= {BrokerUnavailable, Unconfirmed}
    assert confirmed <= set(rabbit.ids(len(confirmed)))


def reachable(rabbit: Rabbit) -> bool:
    try:
        rabbit.depth()
    except Exception:
        return False
    return True
