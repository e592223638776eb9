"""One publisher in many threads and over a fork."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from notify.broker import Publisher
from notify.errors import BrokerBlocked, NotifyError, QueueFull, Unconfirmed, Unroutable
from notify.local import PrivateServers
from notify.notification import Notification
from tests.broker.node import alarm
from tests.broker.proxy import Proxy
from tests.broker.rabbit import Rabbit, message
from tests.deployment import ROOT, sms
from tests.waiting import eventually

pytestmark = pytest.mark.broker

Publishing = Callable[..., Publisher]


def outcome(
    publisher: Publisher, exchange: str, notification: Notification, timeout: float = 20
) -> NotifyError | None:
    try:
        publisher.publish(exchange, message(notification), timeout=timeout)
    except NotifyError as error:
        return error
    return None


def at_once(
    publisher: Publisher, exchanges: Sequence[str], *, timeout: float = 20
) -> list[NotifyError | None]:
    """One thread for each exchange publishes to it; what came of each."""
    with ThreadPoolExecutor(len(exchanges)) as pool:
        started = [pool.submit(outcome, publisher, e, sms(), timeout) for e in exchanges]
        return [each.result() for each in started]


def test_eight_threads_share_a_publisher(
    rabbit: Rabbit, proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    publisher = publishing(proxy.url)
    notifications = [[sms() for _ in range(200)] for _ in range(8)]
    errors: list[Exception] = []

    def publish(own: list) -> None:  # type: ignore[type-arg]
        try:
            for notification in own:
                publisher.publish("notify", message(notification))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=publish, args=(own,)) for own in notifications]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(rabbit.ids(1600)) == sorted(n.id for own in notifications for n in own)
    assert proxy.accepted == 1


def test_sixty_four_threads_share_a_connection(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url)
    assert at_once(publisher, ["notify"] * 64) == [None] * 64
    assert proxy.accepted == 1
    assert rabbit.depth() == 64


def test_who_publishes_leaves_no_thread(publisher: Publisher) -> None:
    before = threading.active_count()
    assert at_once(publisher, ["notify"] * 8) == [None] * 8
    assert threading.active_count() == before


def test_each_thread_gets_its_own_answer(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    small = rabbit.small_queue(length=1)
    publisher = publishing(proxy.url)
    at_once(publisher, [small] * 5)
    with ThreadPoolExecutor(24) as pool:
        good = [pool.submit(outcome, publisher, "notify", sms()) for _ in range(40)]
        full = [pool.submit(outcome, publisher, small, sms()) for _ in range(40)]
        unbound = [
            pool.submit(outcome, publisher, "notify", sms(priority="urgent")) for _ in range(40)
        ]
    assert {type(each.result()) for each in good} == {type(None)}
    assert {type(each.result()) for each in full} == {QueueFull}
    assert {type(each.result()) for each in unbound} == {Unroutable}
    assert rabbit.depth() == 40


def test_a_missing_exchange_is_told_to_who_named_it(rabbit: Rabbit, publisher: Publisher) -> None:
    """It closes the channel for all; the others' publishes are repeated."""
    answers = at_once(publisher, ["notify", "absent", "notify", "notify"] * 8)
    assert {type(each) for each in answers[1::4]} == {Unroutable}
    assert answers[0::4] + answers[2::4] + answers[3::4] == [None] * 24
    assert rabbit.depth() >= 24


def test_a_missing_exchange_is_not_told_to_others_where_its_publisher_has_left(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url)
    publisher.publish("notify", message())
    proxy.pause(requests=False)
    shared = publisher._mine().shared
    assert shared is not None
    with ThreadPoolExecutor(9) as pool:
        hasty = pool.submit(outcome, publisher, "absent", sms(), 1)
        eventually(lambda: len(shared._waiting) == 1, "the hasty one's publish")
        patient = [pool.submit(outcome, publisher, "notify", sms()) for _ in range(8)]
        assert isinstance(hasty.result(), Unconfirmed)
        proxy.flow()
        assert [each.result() for each in patient] == [None] * 8
    assert rabbit.depth() == 9


def test_who_is_out_of_time_takes_nothing_from_the_others(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url)
    publisher.publish("notify", message())
    proxy.pause(requests=False)
    with ThreadPoolExecutor(17) as pool:
        # The first one reads for all; when it gives up, another must.
        hasty = pool.submit(outcome, publisher, "notify", sms(), 0.3)
        eventually(lambda: rabbit.depth() == 2, "the first one's message")
        patient = [pool.submit(outcome, publisher, "notify", sms()) for _ in range(16)]
        assert isinstance(hasty.result(), Unconfirmed)
        eventually(lambda: rabbit.depth() == 18, "all messages")
        proxy.flow()
        assert [each.result() for each in patient] == [None] * 16
    assert rabbit.depth() == 18
    # On that connection a confirm was late: it is not used again, nor left open.
    assert outcome(publisher, "notify", sms()) is None
    assert proxy.accepted == 2
    eventually(lambda: proxy.open == 1, "one connection")


def test_all_are_out_of_time_when_they_said(proxy: Proxy, publishing: Publishing) -> None:
    publisher = publishing(proxy.url)
    publisher.publish("notify", message())
    proxy.pause()
    started = time.monotonic()
    answers = at_once(publisher, ["notify"] * 16, timeout=1)
    assert {type(each) for each in answers} == {Unconfirmed}
    assert time.monotonic() - started < 4


def test_a_cut_connection_is_replaced_by_one_for_all(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url)
    publisher.publish("notify", message())
    proxy.pause(requests=False)
    with ThreadPoolExecutor(16) as pool:
        under_way = [pool.submit(outcome, publisher, "notify", sms()) for _ in range(16)]
        eventually(lambda: rabbit.depth() == 17, "all messages")
        proxy.cut()
        proxy.flow()
        assert [each.result() for each in under_way] == [None] * 16
    assert proxy.accepted == 2
    # What was under way was published again: nobody knew that the broker has it.
    assert len(set(rabbit.ids(33))) == 17


def test_a_large_message_and_small_ones_beside_it(rabbit: Rabbit, publisher: Publisher) -> None:
    """The socket takes it in parts, between which the others wait."""
    publisher.publish("notify", message())
    large = sms("x" * 8_000_000)
    with ThreadPoolExecutor(9) as pool:
        answers = [pool.submit(outcome, publisher, "notify", large)]
        answers += [pool.submit(outcome, publisher, "notify", sms()) for _ in range(32)]
        assert [each.result() for each in answers] == [None] * 33
    assert rabbit.depth() == 34


@pytest.mark.slow
def test_a_blocked_broker_is_told_to_all_in_time(
    rabbit: Rabbit, publisher: Publisher, restartable: PrivateServers
) -> None:
    publisher.publish("notify", message())
    with alarm(restartable):
        started = time.monotonic()
        answers = at_once(publisher, ["notify"] * 16, timeout=1)
        assert {type(each) for each in answers} == {BrokerBlocked}
        assert time.monotonic() - started < 4
    assert at_once(publisher, ["notify"] * 16) == [None] * 16


@pytest.mark.slow
def test_all_outlast_a_short_alarm(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing, restartable: PrivateServers
) -> None:
    publisher = publishing(proxy.url)
    publisher.publish("notify", message())
    with ThreadPoolExecutor(16) as pool, alarm(restartable):
        under_way = [pool.submit(outcome, publisher, "notify", sms(), 60) for _ in range(64)]
        for each in under_way:
            with pytest.raises(TimeoutError):
                each.result(timeout=0.05)
    assert [each.result() for each in under_way] == [None] * 64
    assert proxy.accepted == 1


FORKING = """
import os, sys
from notify.broker import Publisher
from tests.broker.rabbit import message
from tests.deployment import sms

publisher = Publisher([sys.argv[1]])
publisher.publish("notify", message(sms(id="before")))
child = os.fork()
who = "parent" if child else "child"
for n in range(200):
    publisher.publish("notify", message(sms(id=f"{who}-{n}")))
publisher.close()
if child:
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
os._exit(0)
"""


def test_parent_and_child_of_a_fork_share_no_connection(rabbit: Rabbit, proxy: Proxy) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, proxy.url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = {f"{who}-{n}" for who in ("parent", "child") for n in range(200)} | {"before"}
    ids = rabbit.ids(401)
    assert len(ids) == 401
    assert set(ids) == wanted
    assert proxy.accepted == 2


def test_nothing_confirmed_is_lost_with_one_connection_after_another(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher, confirmed = publishing(proxy.url), list[str]()

    def publish_all(name: str) -> None:
        for number in range(100):
            notification = sms(id=f"{name}-{number}")
            publisher.publish("notify", message(notification), timeout=30)
            confirmed.append(notification.id)

    def reached(count: int) -> bool:
        return len(confirmed) >= count

    with ThreadPoolExecutor(16) as pool:
        running = [pool.submit(publish_all, f"thread-{number}") for number in range(16)]
        for count in range(200, 1600, 200):
            eventually(partial(reached, count), "more confirms")
            proxy.cut()
        for each in running:
            each.result()
    assert len(confirmed) == len(set(confirmed)) == 1600
    assert set(rabbit.ids(1600)) == set(confirmed)
    assert proxy.accepted <= 9
