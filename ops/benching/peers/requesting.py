"""The request that everybody makes: the same bytes as ours."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import requests

from benching.peers import settings

_HEADERS = settings.headers()
_URL = settings.told(settings.URL)


def headers(id: str) -> dict[str, Any]:
    """Without ``Connection``, which requests would add and ours does not have."""
    return {"Connection": None, **_HEADERS, "Idempotency-Key": id}


def body(notification: Mapping[str, Any]) -> bytes:
    content = {
        "to": notification["recipient"],
        "text": notification["body"],
        "id": notification["id"],
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def post(
    notification: Mapping[str, Any], by: Callable[..., requests.Response] = requests.post
) -> None:
    """Makes it. Raises what requests raises, for an answer that is no success, too."""
    answer = by(
        _URL,
        data=body(notification),
        headers=headers(notification["id"]),
        timeout=settings.TIMEOUT,
    )
    answer.raise_for_status()
