"""Over TLS every connection is to the host that its URL names, or is none at all."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import certifi
import pytest
from kombu.connection import Connection as KombuConnection

from notify.app import make_app
from notify.archiver.consumer import connect as archiver_connects
from notify.broker import Depth, Publisher, consumers, declare, reach
from notify.broker.channel import connect, drop
from notify.broker.encrypted import Broker, Untrusted
from notify.config import Settings
from notify.config.models import BrokerSettings
from notify.doctor import asking
from notify.errors import BrokerUnavailable, BrokerUntrusted
from notify.topology import DEAD
from notify.worker.link import Link
from tests.broker.fronts import Fronts
from tests.broker.rabbit import QUEUE, Rabbit, message
from tests.waiting import eventually

pytestmark = pytest.mark.broker
CA = certifi.where()


@pytest.fixture
def front(rabbit: Rabbit, tmp_path: Path) -> Iterator[Fronts]:
    with Fronts(tmp_path, rabbit.url) as front:
        yield front


def publish(url: str, trusted: str | None) -> None:
    with closing(Publisher([url], trusted=trusted)) as publisher:
        # Where it fails, it would try as long.
        publisher.publish("notify", message(), timeout=2)


def hand_over(url: str, trusted: str | None) -> None:
    declare(Rabbit(url).topology, [url], trusted=trusted)


def look_for_consumers(url: str, trusted: str | None) -> None:
    assert consumers([url], [QUEUE], timeout=5, trusted=trusted) == {QUEUE: 0}


def try_it(url: str, trusted: str | None) -> None:
    reach([url], timeout=5, trusted=trusted)


def consume(kind: type[KombuConnection]) -> Callable[[str, str | None], None]:
    def run(url: str, trusted: str | None) -> None:
        with kind(url, transport_options={"trusted": trusted}) as link:
            link.transport.establish_connection().close()

    return run


def archive(url: str, trusted: str | None) -> None:
    broker = BrokerSettings.model_construct(
        urls=(url,), heartbeat=10, connect_timeout=5.0, ca_file=trusted
    )
    archiver_connects(broker, DEAD, 1).close()


WAYS = {
    "publishing": publish,
    "declaring": hand_over,
    "looking": look_for_consumers,
    "trying": try_it,
    "worker": consume(Link),
    "celery": consume(Broker),
    "archiver": archive,
}
EACH = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@EACH
@pytest.mark.parametrize(("host", "names"), [("127.0.0.1", "IP:127.0.0.1"), ("localhost",) * 2])
def test_a_certificate_for_the_host_of_the_url(
    way: Callable[..., None], host: str, names: str, front: Fronts
) -> None:
    """An address among the addresses; a name among the names, though kombu looks it up first."""
    place = front(names if ":" in names else f"DNS:{names}")
    way(place.url(host), front.trusted)
    assert place.heard


@EACH
@pytest.mark.parametrize(
    ("host", "names", "days", "words"),
    [
        ("127.0.0.1", "DNS:other.test", 2, "is for another name"),
        ("127.0.0.1", "IP:127.0.0.2", 2, "is for another name"),
        ("127.0.0.1", "DNS:127.0.0.1", 2, "is for another name"),
        ("localhost", "DNS:other.test,IP:127.0.0.1", 2, "is for another name"),
        ("127.0.0.1", "IP:127.0.0.1", -1, "has expired"),
    ],
)
def test_a_certificate_that_does_not_fit(
    way: Callable[..., None], host: str, names: str, days: int, words: str, front: Fronts
) -> None:
    place = front(names, days)
    said = refusal(way, place.url(host), front.trusted)
    assert f"the certificate of {host}:{place.port} {words}" in said
    assert place.heard == []


@EACH
@pytest.mark.parametrize("own", [False, True])
def test_a_certificate_of_a_stranger(way: Callable[..., None], own: bool, front: Fronts) -> None:
    place = front("IP:127.0.0.1")
    said = refusal(way, place.url("127.0.0.1"), front.stranger() if own else None)
    assert f"nobody whom we trust has signed the certificate of 127.0.0.1:{place.port}" in said
    assert place.heard == []


def refusal(way: Callable[..., None], url: str, trusted: str | None) -> str:
    """What is said, without the login."""
    with pytest.raises((BrokerUnavailable, Untrusted)) as caught:
        way(url, trusted)
    said = str(caught.value)
    assert "@" not in said
    return said


@pytest.mark.parametrize(
    ("way", "query"),
    [
        (try_it, "ssl_check_hostname=false"),
        (try_it, "ssl_cert_reqs=none"),
        (consume(Link), "ssl_cert_reqs=none&ssl_check_hostname=false"),
        (archive, f"ssl_options={{'cafile': {certifi.where()!r}, 'verify_mode': 0}}"),
        (
            archive,
            f"ssl_options={{'cafile': {certifi.where()!r}, 'server_hostname': 'other.test'}}",
        ),
    ],
    ids=["no-name", "nothing", "worker", "archiver", "archiver-name"],
)
@pytest.mark.parametrize("scheme", ["amqps", "amqp"])
def test_a_url_cannot_ask_for_less(
    way: Callable[..., None], query: str, scheme: str, front: Fronts
) -> None:
    place = front("DNS:other.test")
    said = refusal(way, place.url("127.0.0.1", scheme, query), front.trusted)
    assert "is for another name" in said
    assert place.heard == []


@pytest.mark.parametrize("first", ["localhost", "127.0.0.1"])
def test_after_a_failover_the_name_is_that_of_the_other_host(first: str, front: Fronts) -> None:
    """Each front has one of the names only."""
    named, addressed = front("DNS:localhost"), front("IP:127.0.0.1")
    pair = [named.url("localhost"), addressed.url("127.0.0.1")]
    urls = pair if first == "localhost" else pair[::-1]
    options = {"trusted": front.trusted}
    with Link(";".join(urls), transport_options=options) as link:
        for turn in (0, 1, 0, 1):
            link.ensure_connection(max_retries=1, interval_start=0)
            assert link.as_uri(include_password=True).rpartition("/")[0] in urls[turn]
            # The same host again, then the next one.
            link.collect()
            link.ensure_connection(max_retries=1, interval_start=0)
            link.collect()
            link.maybe_switch_next()


def test_a_failover_passes_over_a_host_that_is_another(front: Fronts) -> None:
    """The second has the certificate of the first, the third its own."""
    first = front("DNS:localhost")
    first_gone = first.url("localhost")
    wrong, right = front("DNS:localhost"), front("IP:127.0.0.1")
    told: list[str] = []
    urls = [first_gone, wrong.url("127.0.0.1"), right.url("127.0.0.1")]
    options = {"trusted": front.trusted}
    with Link(";".join(urls), transport_options=options) as link:
        link.ensure_connection(max_retries=1)
        link.collect()
        link.maybe_switch_next()
        link.ensure_connection(telling(told), max_retries=3)
        assert link.port == right.port
    assert told == [f"the certificate of 127.0.0.1:{wrong.port} is for another name"]
    assert wrong.heard == []


def test_plain_and_encrypted_ones_in_a_list(rabbit: Rabbit, front: Fronts) -> None:
    place = front("IP:127.0.0.1")
    urls, options = [place.url("127.0.0.1"), rabbit.url], {"trusted": front.trusted}
    with Link(";".join(urls), transport_options=options) as link:
        for expected in ("TlsTransport", "TCPTransport", "TlsTransport"):
            link.ensure_connection(max_retries=1)
            assert type(link.connection.transport).__name__ == expected
            link.maybe_switch_next()


def test_celery_connects_so_wherever_it_does(front: Fronts) -> None:
    """``celery inspect`` and Flower, and a worker by what it puts in this one's place."""
    wrong, right = front("DNS:other.test"), front("IP:127.0.0.1")
    urls = (wrong.url("127.0.0.1"), right.url("127.0.0.1"))
    broker = BrokerSettings(urls=urls).model_copy(update={"ca_file": front.trusted})
    app = make_app(Settings(broker=broker))
    for kind in (Broker, Link):
        app.amqp.Connection = kind
        for opened in (app.connection_for_read(), app.connection_for_write()):
            told: list[str] = []
            with opened as link:
                assert type(link) is kind
                link.ensure_connection(telling(told), max_retries=3)
                assert link.port == right.port
            assert told == [f"the certificate of 127.0.0.1:{wrong.port} is for another name"]
    assert type(make_app(Settings()).connection_for_read()) is Broker
    assert wrong.heard == []


def telling(told: list[str]) -> Callable[[Exception, float], None]:
    return lambda error, _: told.append(str(error))


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """By us: pika has much to say about it, too."""
    ours = [each for each in caplog.records if each.name.startswith("notify.")]
    return [vars(each)["notify_event"]["problem"] for each in ours]


def test_one_that_is_passed_over_is_told_of(
    front: Fronts, caplog: pytest.LogCaptureFixture
) -> None:
    wrong, right = front("DNS:other.test"), front("IP:127.0.0.1")
    urls = (wrong.url("127.0.0.1"), right.url("127.0.0.1"))
    words = f"the certificate of 127.0.0.1:{wrong.port} is for another name"
    with caplog.at_level(logging.WARNING, "notify"):
        with closing(Publisher(urls, trusted=front.trusted)) as publisher:
            publisher.publish("notify", message())
            publisher.publish("notify", message())
        assert warned(caplog) == [f"RabbitMQ: cannot connect: {words}"]
        assert reach(urls, timeout=5, trusted=front.trusted) == tuple(reversed(urls))
        assert consumers(urls, [QUEUE], timeout=5, trusted=front.trusted) == {QUEUE: 0}
        assert len(warned(caplog)) == 3
        broker = BrokerSettings(urls=urls).model_copy(update={"ca_file": front.trusted})
        archiver_connects(broker, DEAD, 1).close()
        assert warned(caplog)[3:] == [words]
    assert wrong.heard == []


def test_where_all_fail_each_is_named(front: Fronts, caplog: pytest.LogCaptureFixture) -> None:
    """A publish goes on trying, as with any that is away, and says why at once."""
    one, two = front("DNS:one.test"), front("IP:127.0.0.1", -1)
    urls = [one.url("127.0.0.1"), two.url("127.0.0.1"), "amqp://127.0.0.1:1/x"]
    words = [
        f"the certificate of 127.0.0.1:{one.port} is for another name",
        f"the certificate of 127.0.0.1:{two.port} has expired",
        "ConnectionRefusedError",
    ]
    with pytest.raises(BrokerUntrusted) as tried:
        reach(urls, timeout=5, trusted=front.trusted)
    with (
        caplog.at_level(logging.WARNING, "notify"),
        closing(Publisher(urls, trusted=front.trusted)) as publisher,
        pytest.raises(BrokerUntrusted) as published,
    ):
        publisher.publish("notify", message(), timeout=2)
    assert all(word in str(tried.value) and word in str(published.value) for word in words)
    assert all(word in warned(caplog)[0] for word in words)


def test_a_depth_that_cannot_be_asked(front: Fronts) -> None:
    wrong, right = front("DNS:other.test"), front("IP:127.0.0.1")
    for place, expected in ((wrong, None), (right, 0)):
        with closing(
            Depth([place.url("127.0.0.1")], QUEUE, timeout=5, trusted=front.trusted)
        ) as depth:
            assert depth.ready() == expected


def test_the_doctor_looks_at_every_one(rabbit: Rabbit, front: Fronts) -> None:
    wrong, right = front("DNS:other.test"), front("IP:127.0.0.1")
    urls = (right.url("127.0.0.1"), wrong.url("127.0.0.1"), rabbit.url)
    broker = BrokerSettings(urls=urls)
    broker = broker.model_copy(update={"ca_file": front.trusted})
    assert list(asking._untrusted(broker)) == [
        f"RabbitMQ: cannot connect: the certificate of 127.0.0.1:{wrong.port} is for another name"
    ]


def test_a_server_is_not_told_anything_before_it_is_trusted(front: Fronts) -> None:
    """Not even the login."""
    place = front("IP:127.0.0.1")
    opened = connect(
        place.url("127.0.0.1"), connect_timeout=5, read_timeout=5, trusted=front.trusted
    )
    drop(opened)
    eventually(lambda: bool(place.heard), "the login")
    heard = len(place.heard)
    with pytest.raises(BrokerUntrusted):
        connect(place.url("127.0.0.1"), connect_timeout=5, read_timeout=5)
    assert len(place.heard) == heard
