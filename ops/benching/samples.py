"""Messages with the bytes and headers of ours, made from one that our client published."""

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benching.brokers import Taken
from benching.peers.raw import Raw


def save(taken: Taken, id: str, path: Path) -> None:
    """Keeps a message of ours with this id, for another process."""
    kept = {
        "id": id,
        "body": taken.body.decode(),
        "headers": taken.headers,
        "properties": taken.properties,
    }
    path.write_text(json.dumps(kept), encoding="utf-8")


def load(path: Path, exchange: str = "notify", key: str = "sms.normal") -> tuple[str, Raw]:
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept["id"], Raw(
        exchange=exchange,
        routing_key=key,
        body=kept["body"].encode(),
        headers=kept["headers"],
        properties=kept["properties"],
    )


def copies(sample: Raw, id: str, wanted: Iterable[str]) -> Iterator[Raw]:
    """The sample with each of these ids in the place of its own, and task ids of their own."""
    task, old = str(sample.headers["id"]), id.encode()
    for new in wanted:
        fresh = str(uuid.uuid4())
        names = {id: new, task: fresh}
        yield replace(
            sample,
            body=sample.body.replace(old, new.encode()),
            headers={key: _renamed(value, names) for key, value in sample.headers.items()},
            properties={key: _renamed(value, names) for key, value in sample.properties.items()},
        )


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
    return value
