"""The gateways of a drill, from outside: busy, cutting connections, closed, open again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from notify.drill.gateways import Gateways
from notify.drill.traffic import Fate, Item
from notify.sandbox import read_record


def item(number: int, fate: Fate = "accepted", channel: str = "webhook") -> Item:
    return Item(id=f"d:{number}", number=number, channel=channel, priority="normal", fate=fate)


ITEMS = (item(0), item(1, "refused"), item(2, "fails first"), item(3, "refused", "sms"))
SPARE_RECORD = "received-spare.jsonl"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "received.jsonl"


@pytest.fixture
def gateways(record: Path) -> Iterator[Gateways]:
    with Gateways(record, ITEMS, seed=1) as running:
        yield running


@pytest.fixture
def spared(record: Path) -> Iterator[Gateways]:
    with Gateways(record, ITEMS, seed=1, spare=record.with_name(SPARE_RECORD)) as running:
        yield running


def post(gateways: Gateways, item: Item, *, spare: bool = False) -> int:
    sandbox = gateways.spare if spare else gateways.sandbox
    assert sandbox is not None
    url, headers = sandbox.http_url, {"webhook-id": item.id, "connection": "close"}
    if item.channel == "sms":
        content = {"to": item.address, "text": "x", "id": item.id}
        return requests.post(f"{url}/sms", json=content, headers=headers, timeout=5).status_code
    return requests.post(url + item.address, json={}, headers=headers, timeout=5).status_code


def test_everyone_meets_their_fate(gateways: Gateways) -> None:
    assert [post(gateways, each) for each in ITEMS] == [200, 410, 503, 400]
    assert [post(gateways, each) for each in ITEMS] == [200, 410, 200, 400]


def test_busy_gateways_take_nothing_until_they_recover(gateways: Gateways) -> None:
    gateways.be_busy()
    assert post(gateways, ITEMS[0]) == 503
    gateways.recover()
    assert post(gateways, ITEMS[0]) == 200


def test_a_request_that_is_cut_is_recorded(gateways: Gateways) -> None:
    gateways.cut_connections()
    with pytest.raises(requests.ConnectionError):
        post(gateways, ITEMS[0])
    assert [(each.answered, each.accepted) for each in gateways.received()] == [("reset", False)]


def test_closed_gateways_open_again_on_their_ports_and_forget_nothing(
    gateways: Gateways, record: Path
) -> None:
    ports = gateways.sandbox.http_url, gateways.sandbox.smtp_port
    post(gateways, ITEMS[0])
    assert post(gateways, ITEMS[2]) == 503
    gateways.close()
    with pytest.raises(requests.ConnectionError):
        post(gateways, ITEMS[0])
    gateways.reopen()
    assert (gateways.sandbox.http_url, gateways.sandbox.smtp_port) == ports
    assert [post(gateways, each) for each in ITEMS] == [200, 410, 200, 400]
    assert len(gateways.received()) == len(read_record(record)) == 6


def test_at_the_spare_the_same_are_refused_and_nobody_fails_first(spared: Gateways) -> None:
    assert [post(spared, each, spare=True) for each in ITEMS] == [200, 410, 200, 400]
    assert [post(spared, each) for each in ITEMS] == [200, 410, 503, 400]


@pytest.mark.parametrize(
    "disturb", ["be_busy", "cut_connections", "take_nothing", "close", "leave"]
)
def test_nothing_disturbs_the_spare(spared: Gateways, disturb: str) -> None:
    getattr(spared, disturb)()
    assert [post(spared, each, spare=True) for each in ITEMS] == [200, 410, 200, 400]


def test_what_both_received_is_known_and_recorded_apart(spared: Gateways, record: Path) -> None:
    post(spared, ITEMS[0])
    spared.close()
    post(spared, ITEMS[2], spare=True)
    spared.reopen()
    post(spared, ITEMS[2])
    assert [each.id for each in spared.received()] == ["d:0", "d:2", "d:2"]
    assert [each.id for each in read_record(record)] == ["d:0", "d:2"]
    assert [each.id for each in read_record(record.with_name(SPARE_RECORD))] == ["d:2"]


def test_a_gateway_that_will_go_takes_nothing_from_anybody(gateways: Gateways) -> None:
    gateways.take_nothing()
    assert [post(gateways, each) for each in ITEMS] == [503] * 4
    gateways.leave()
    gateways.reopen()
    assert [post(gateways, each) for each in ITEMS] == [200, 410, 200, 400]


def test_without_a_spare_there_is_one_record(gateways: Gateways, record: Path) -> None:
    assert gateways.spare is None
    post(gateways, ITEMS[0])
    assert [path.name for path in record.parent.glob("*.jsonl")] == [record.name]
