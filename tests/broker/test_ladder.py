"""The delay ladder: messages come back when they should, to where they belong."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from notify.broker import Outgoing, Publisher
from notify.local import Servers
from notify.management import Management
from notify.notification import Notification
from notify.topology import DEAD, rung, work_queue
from tests.broker.rabbit import Rabbit, outgoing
from tests.conftest import Vhost
from tests.deployment import sms
from tests.waiting import eventually

pytestmark = pytest.mark.broker
RUNG = rung("normal", 1)


def mail() -> Notification:
    return Notification(channel="email", recipient="ada@example.com", subject="s", body="b")


def test_two_hundred_come_back_to_their_queues_and_none_early(
    rabbit: Rabbit, publisher: Publisher
) -> None:
    published: dict[str, float] = {}

    def items() -> Iterator[Outgoing]:
        for make in (sms, mail) * 100:
            item = outgoing(make(), RUNG)
            published[item.key] = time.time()
            yield item

    assert not any(result.error for result in publisher.publish_many(items(), window=20))
    arrived: dict[str, tuple[str, float]] = {}
    with rabbit.channel() as channel:
        for queue in (work_queue("sms", "normal"), work_queue("email", "normal")):
            channel.basic_consume(queue, no_ack=True, callback=noting(arrived, queue))
        while len(arrived) < 200:
            channel.connection.drain_events(timeout=10)
    assert arrived.keys() == published.keys()
    waits = [at - published[id] for id, (_, at) in arrived.items()]
    # RabbitMQ counts in whole milliseconds.
    assert min(waits) > 0.998
    assert max(waits) < 4
    assert Counter(queue for queue, _ in arrived.values()) == {
        "notify.sms.normal sms.normal": 100,
        "notify.email.normal email.normal": 100,
    }
    assert rabbit.depth(RUNG) == 0


def noting(arrived: dict[str, tuple[str, float]], queue: str) -> Callable[..., None]:
    def note(message: object) -> None:
        info = message.delivery_info  # type: ignore[attr-defined]
        id = message.properties["message_id"]  # type: ignore[attr-defined]
        arrived[id] = (f"{queue} {info['routing_key']}", time.time())

    return note


def test_what_the_archive_cannot_take_is_kept_and_not_dropped(
    rabbit: Rabbit, publisher: Publisher, servers: Servers, vhost: Vhost
) -> None:
    """At-least-once is really in force: with less, RabbitMQ drops what it cannot dead-letter."""
    api = Management.from_urls(servers.management_url, vhost.url)
    with rabbit.channel() as channel:
        channel.queue_unbind(DEAD, DEAD, "#")
        channel.queue_delete(work_queue("sms", "normal"))
    for result in publisher.publish_many([outgoing(sms(), RUNG) for _ in range(5)]):
        assert result.error is None
    eventually(lambda: api.queues()[RUNG].held_back == 5, "five messages held back")
    assert rabbit.depth(RUNG) == 0
    api.close()


def test_what_comes_back_to_no_queue_is_archived(rabbit: Rabbit, publisher: Publisher) -> None:
    lost = sms(priority="urgent")
    publisher.publish(RUNG, outgoing(lost).message)
    (found,) = rabbit.take(1, DEAD)
    assert found.properties["message_id"] == lost.id
    assert found.delivery_info["routing_key"] == "sms.urgent"
