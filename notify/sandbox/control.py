"""The control API: scripting the sandbox and reading what it received, from any process."""

import json
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs

from notify.errors import InvalidInput
from notify.sandbox.answers import Answer
from notify.sandbox.records import Log
from notify.sandbox.scripts import Scripts
from notify.sandbox.wire import Head, Refused, encode_json

PREFIX: Final = "/_sandbox/"
MAX_WAIT: Final = 20.0


class Control:
    """Answers requests under ``/_sandbox/``."""

    def __init__(self, scripts: Scripts, log: Log, describe: Callable[[], object]) -> None:
        self._scripts = scripts
        self._log = log
        self._routes: dict[tuple[str, str], Callable[[Head, bytes], object]] = {
            ("PUT", "script"): self._script,
            ("GET", "received"): self._received,
            ("DELETE", "received"): self._clear,
            ("GET", "health"): lambda _head, _body: describe(),
        }

    def answer(self, head: Head, body: bytes) -> bytes:
        """Return the whole response to a request."""
        route = self._routes.get((head.method, head.path.removeprefix(PREFIX)))
        if route is None:
            raise Refused(404, f"no {head.method} {head.path}")
        try:
            return encode_json(route(head, body))
        except InvalidInput as error:
            return encode_json({"error": str(error)}, status=400)

    def _script(self, _head: Head, body: bytes) -> object:
        data = _object(body)
        recipient, answers = data.get("recipient"), data.get("answers", [])
        if unknown := set(data) - {"recipient", "answers", "then"}:
            raise InvalidInput(f"script: unknown key {min(unknown)!r}")
        if not isinstance(recipient, str) or not isinstance(answers, list):
            raise InvalidInput("script: needs a recipient (text) and answers (a list)")
        then = Answer.from_json(data.get("then", {}))
        self._scripts.script(recipient, [Answer.from_json(each) for each in answers], then)
        return {"status": "scripted"}

    def _received(self, head: Head, _body: bytes) -> object:
        query = parse_qs(head.query)
        since, wait = int(_number(query, "since")), _number(query, "wait")
        recipient = query.get("recipient", [None])[0]
        items, following = self._log.page(since, recipient, min(wait, MAX_WAIT))
        return {"items": [vars(item) for item in items], "next": following}

    def _clear(self, _head: Head, _body: bytes) -> object:
        self._log.clear()
        return {"status": "cleared"}


def _object(body: bytes) -> dict[str, object]:
    try:
        data = json.loads(body)
    except ValueError as error:
        raise InvalidInput(f"malformed JSON: {error}") from error
    if not isinstance(data, dict):
        raise InvalidInput("the body must be an object")
    return data


def _number(query: dict[str, list[str]], name: str) -> float:
    try:
        value = float(query.get(name, ["0"])[0])
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InvalidInput(f"{name}: must be a number from 0 up")
    return value
