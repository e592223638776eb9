"""``Client``: what is refused before it is published, and many with some of them invalid."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from notify.errors import InvalidNotification
from notify.notification import Notification
from notify.publish import Client
from tests.deployment import Deployment, sms

pytestmark = pytest.mark.broker


def expired() -> Notification:
    return sms(expires_at=datetime.now(UTC) - timedelta(seconds=1))


def oversize() -> Notification:
    return sms("я" * 131_072)


def test_send_returns_the_id_under_which_the_message_is_queued(deployment: Deployment) -> None:
    with Client(deployment.settings) as client:
        assert client.send(sms(id="order-7")) == "order-7"
    assert deployment.ready() == 1


@pytest.mark.parametrize(
    ("make", "field", "problem"),
    [
        (expired, "expires_at", "is in the past"),
        (oversize, "notification", "sms takes at most 262144"),
    ],
)
def test_what_could_not_be_delivered_is_refused(
    make: object, field: str, problem: str, deployment: Deployment
) -> None:
    assert callable(make)
    with Client(deployment.settings) as client, pytest.raises(InvalidNotification) as raised:
        client.send(make())
    assert raised.value.field == field
    assert problem in raised.value.problem
    assert deployment.ready() == 0


def test_a_channel_that_is_not_configured_is_refused(deployment: Deployment) -> None:
    channels = {k: v for k, v in deployment.settings.channels.items() if k != "sms"}
    settings = deployment.settings.model_copy(update={"channels": channels})
    with Client(settings) as client, pytest.raises(InvalidNotification, match="not configured"):
        client.send(sms())


def test_invalid_ones_among_many_are_reported_and_the_others_go_on(
    deployment: Deployment,
) -> None:
    good, bad = [sms() for _ in range(100)], [expired() for _ in range(9)] + [oversize()]
    mixed = [*bad[:4], *good[:50], *bad[4:8], *good[50:], *bad[8:]]
    with Client(deployment.settings) as client:
        results = list(client.send_many(iter(mixed), window=10))
    assert Counter(r.id for r in results) == Counter(n.id for n in mixed)
    assert {r.id for r in results if r.error is None} == {n.id for n in good}
    assert {type(r.error) for r in results if r.error} == {InvalidNotification}
    assert deployment.ready() == 100


def test_many_of_which_none_is_valid(deployment: Deployment) -> None:
    with Client(deployment.settings) as client:
        results = list(client.send_many([expired(), expired()]))
    assert [type(r.error) for r in results] == [InvalidNotification] * 2
