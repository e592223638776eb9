"""Which servers to use, as the environment says it."""

import pytest

from notify.local import Servers, servers_from_environment
from notify.local.offer import guess_management_url

GIVEN = {
    "NOTIFY_BROKER_URLS": "amqp://a:b@one:5672/, amqp://a:b@two:5672/",
    "NOTIFY_REDIS_URL": "redis://three:6379/0",
}


def test_both_given() -> None:
    servers = servers_from_environment(GIVEN)
    assert servers == Servers(
        broker_urls=("amqp://a:b@one:5672/", "amqp://a:b@two:5672/"),
        management_url="http://a:b@one:15672",
        redis_url="redis://three:6379/0",
    )
    assert servers_from_environment(servers.environment()) == servers


def test_a_given_management_url_is_kept() -> None:
    servers = servers_from_environment(GIVEN | {"NOTIFY_MANAGEMENT_URL": "https://m"})
    assert servers is not None
    assert servers.management_url == "https://m"


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_one_alone_is_not_enough(name: str) -> None:
    assert servers_from_environment({name: GIVEN[name]}) is None
    assert servers_from_environment(GIVEN | {name: " "}) is None


@pytest.mark.parametrize(
    ("broker", "management"),
    [
        ("amqp://u:p@host:5672/", "http://u:p@host:15672"),
        ("amqp://u:p%40@host/vhost", "http://u:p%40@host:15672"),
        ("amqp://host", "http://guest:guest@host:15672"),
        ("amqp://u:p@[::1]:5672/", "http://u:p@[::1]:15672"),
        ("amqp://u:p@[::1]/", "http://u:p@[::1]:15672"),
    ],
)
def test_guessing_the_management_url(broker: str, management: str) -> None:
    assert guess_management_url(broker) == management
