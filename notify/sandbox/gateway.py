"""The HTTP gateway: SMS and webhooks, answered as scripted."""

import json
from collections.abc import Callable
from itertools import count
from socket import socket

from notify.errors import InvalidInput
from notify.sandbox.answers import Answer
from notify.sandbox.arrivals import hook_received, parse_sms, sms_received
from notify.sandbox.control import PREFIX, Control
from notify.sandbox.listener import Listener
from notify.sandbox.records import Log, Received
from notify.sandbox.scripts import Scripts
from notify.sandbox.wire import (
    Head,
    Reader,
    Refused,
    encode_json,
    encode_response,
    read_body,
    read_head,
    refuse,
    reset,
)


class Gateway:
    """Serves ``POST /sms``, ``POST /hook/…`` and the control API."""

    def __init__(
        self, port: int, scripts: Scripts, log: Log, describe: Callable[[], object]
    ) -> None:
        self._scripts = scripts
        self._log = log
        self._control = Control(scripts, log, describe)
        self._numbers = count(1)
        self._listener = Listener(port, self._serve)
        self.port = self._listener.port

    def start(self) -> None:
        """Start answering."""
        self._listener.start()

    def drain(self) -> None:
        """Answer what was asked already, and hang up then."""
        self._listener.drain()

    def close(self) -> None:
        """Stop answering and hang up."""
        self._listener.close()

    def _serve(self, connection: socket) -> None:
        if self._scripts.take_for_connection().reset == "before":
            reset(connection)
            return
        reader = Reader(connection)
        try:
            while self._serve_one(reader, connection):
                pass
        except Refused as refusal:
            refuse(connection, refusal)

    def _serve_one(self, reader: Reader, connection: socket) -> bool:
        """Answer one request; say whether the connection goes on."""
        head = read_head(reader)
        if head is None:
            return False
        if head.path == "/sms":
            goes_on = self._sms(reader, connection, head)
        elif head.path.startswith("/hook/"):
            goes_on = self._hook(reader, connection, head)
        else:
            goes_on = self._other(reader, connection, head)
        return goes_on and head.keep_alive

    def _sms(self, reader: Reader, connection: socket, head: Head) -> bool:
        body = read_body(reader, connection, _posted(head))
        try:
            sms = parse_sms(head.headers, body)
        except InvalidInput as error:
            connection.sendall(encode_json({"error": str(error)}, status=400))
            return True
        answer = self._scripts.take(sms.to)
        return self._perform(connection, answer, sms_received(sms, head.headers, body, answer))

    def _hook(self, reader: Reader, connection: socket, head: Head) -> bool:
        answer = self._scripts.take(_posted(head).path)
        if answer.reset == "before":
            reset(connection)
            return False
        body = read_body(reader, connection, head)
        item = hook_received(head.path, head.headers, body, answer)
        return self._perform(connection, answer, item)

    def _other(self, reader: Reader, connection: socket, head: Head) -> bool:
        body = read_body(reader, connection, head)
        if head.path.startswith(PREFIX):
            connection.sendall(self._control.answer(head, body))
        else:
            connection.sendall(encode_json({"error": f"no {head.path}"}, status=404))
        return True

    def _perform(self, connection: socket, answer: Answer, item: Received) -> bool:
        """Record a request, then do with it what the script says."""
        if answer.reset != "before":
            self._log.add(item)
        if answer.delay and self._listener.closing.wait(answer.delay):
            return False
        if answer.reset:
            reset(connection)
            return False
        return self._send(connection, answer, self._response(answer, item))

    def _response(self, answer: Answer, item: Received) -> bytes:
        headers = dict(answer.headers)
        if answer.retry_after is not None:
            headers["retry-after"] = answer.retry_after
        body = self._default_body(item) if answer.body is None else answer.body
        return encode_response(answer.status, body.encode(), headers)

    def _default_body(self, item: Received) -> str:
        number = f"{item.channel}-{next(self._numbers):06}"
        return json.dumps({"id": number, "status": "accepted" if item.accepted else "refused"})

    def _send(self, connection: socket, answer: Answer, response: bytes) -> bool:
        if not answer.drip:
            connection.sendall(response)
            return True
        for position in range(len(response)):
            connection.sendall(response[position : position + 1])
            if self._listener.closing.wait(answer.drip):
                return False
        return True


def _posted(head: Head) -> Head:
    if head.method != "POST":
        raise Refused(405, f"{head.path} takes POST only")
    return head
