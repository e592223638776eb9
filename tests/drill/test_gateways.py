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


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "received.jsonl"


@pytest.fixture
def gateways(record: Path) -> Iterator[Gateways]:
    with Gateways(record, ITEMS, seed=1) as running:
        yield running


def post(gateways: Gateways, item: Item) -> int:
    url, headers = gateways.sandbox.http_url, {"webhook-id": item.id, "connection": "close"}
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
