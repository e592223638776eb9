import json
from typing import Any

import pytest

from notify.channels import build_provider
from notify.channels.webhook import Webhook
from notify.outcomes import Receipt

from .peers import OK, Peer, read_request
from .values import TEXTS, hook, hook_settings


def _request(**changes: Any) -> tuple[dict[str, str], bytes, str]:
    """What a webhook receives: headers, body and request line."""
    seen: list[bytes] = []

    def serve(connection: Any) -> None:
        seen.append(read_request(connection))
        connection.sendall(OK)

    with Peer(serve) as peer:
        url = peer.url + changes.pop("path", "")
        receipt = Webhook(hook_settings(), clock=lambda: 1_700_000_000.9).send(
            hook(url, **changes), deadline=2
        )
    assert receipt == Receipt(provider="hooks", code="200")
    head, _, body = seen[0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return {name.lower(): value for name, value in headers.items()}, body, first


@pytest.mark.parametrize("text", TEXTS)
def test_data_arrives_byte_for_byte(text: str) -> None:
    _, body, _ = _request(data={"text": text})
    assert body == f'{{"text":"{text}"}}'.encode()


@pytest.mark.parametrize("data", [0, False, "", [], {}, [1, None, "x"]])
def test_any_json_value_is_posted_as_it_is(data: Any) -> None:
    _, body, _ = _request(data=data)
    assert json.loads(body) == data


def test_without_data_the_texts_are_posted() -> None:
    assert json.loads(_request(data=None, body="b")[1]) == {"body": "b"}
    both = _request(data=None, subject="s", body="b")[1]
    assert json.loads(both) == {"subject": "s", "body": "b"}


def test_headers() -> None:
    headers, _, first = _request(id="order:1", path="?a=b%20c")
    assert first == "POST /hook?a=b%20c HTTP/1.1"
    assert headers["content-type"] == "application/json"
    assert headers["webhook-id"] == headers["idempotency-key"] == "order:1"
    assert headers["webhook-timestamp"] == "1700000000"
    assert "authorization" not in headers


def test_is_built_from_its_settings() -> None:
    assert build_provider(hook_settings(name="other")).name == "other"
