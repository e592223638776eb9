"""The request that everybody makes: the same bytes as ours."""

import json
from collections.abc import Mapping
from typing import Any

from benching.peers import settings

_HEADERS = settings.headers()


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
