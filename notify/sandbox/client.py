"""The sandbox seen from another process; the same methods as ``Sandbox``."""

import json
import time
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from notify.errors import InvalidInput, Unavailable
from notify.sandbox.answers import ACCEPT, Answer
from notify.sandbox.records import Received, Waiting

_TIMEOUT: Final = 30.0
_LONGEST_WAIT: Final = 10.0


class SandboxClient:
    """Scripts a running sandbox and reads what it received."""

    def __init__(self, http_url: str) -> None:
        self.http_url = http_url.rstrip("/")
        address = urlsplit(self.http_url)
        if address.scheme != "http" or not address.hostname:
            raise InvalidInput(f"sandbox: {http_url!r} is not an http:// address")
        self._address = address.hostname, address.port or 80

    @property
    def smtp_port(self) -> int:
        """The port mail goes to."""
        return int(self._call("GET", "health")["smtp_port"])

    def script(self, recipient: str, *answers: Answer, then: Answer = ACCEPT) -> None:
        """Answer a recipient's requests with these, one after the other, ``then`` with the last."""
        steps = [answer.to_json() for answer in answers]
        self._call("PUT", "script", {"recipient": recipient, "answers": steps, "then": vars(then)})

    def received(self, recipient: str | None = None) -> list[Received]:
        """Return what was received, in order of arrival."""
        found: list[Received] = []
        position, following = -1, 0
        while following != position:
            position = following
            items, following = self._page(position, recipient, 0.0)
            found += items
        return found

    def wait_for(
        self, count: int, timeout: float, recipient: str | None = None, accepted_only: bool = True
    ) -> list[Received]:
        """Return what matches once there is enough of it, or raise TimeoutError."""
        waiting = Waiting(count=count, recipient=recipient, accepted_only=accepted_only)
        deadline = time.monotonic() + timeout
        items, position = self._page(0, recipient, 0.0)
        while not waiting.add(items):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise waiting.too_late(timeout)
            items, position = self._page(position, recipient, min(remaining, _LONGEST_WAIT))
        return waiting.found

    def clear(self) -> None:
        """Forget what was received. Scripts stay, and so does the record file."""
        self._call("DELETE", "received")

    def _page(self, since: int, recipient: str | None, wait: float) -> tuple[list[Received], int]:
        query = {"since": str(since), "wait": f"{wait:.3f}"}
        if recipient is not None:
            query["recipient"] = recipient
        answer = self._call("GET", f"received?{urlencode(query)}")
        return [Received.from_json(item) for item in answer["items"]], int(answer["next"])

    def _call(self, method: str, what: str, data: object = None) -> Any:
        connection = HTTPConnection(*self._address, timeout=_TIMEOUT)
        try:
            body = None if data is None else json.dumps(data)
            connection.request(method, f"/_sandbox/{what}", body, {"Connection": "close"})
            response = connection.getresponse()
            return _checked(response.status, response.read())
        except (OSError, HTTPException) as error:
            raise Unavailable(f"sandbox: {self.http_url} does not answer: {error}") from error
        finally:
            connection.close()


def _checked(status: int, body: bytes) -> Any:
    answer = json.loads(body)
    if status != 200:
        raise InvalidInput(f"sandbox: {answer['error']}")
    return answer
