"""Talking to the sandbox over real sockets, the way a provider's client does."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from http.client import HTTPConnection
from smtplib import SMTP
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

TIMEOUT = 10.0


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: str

    def json(self) -> dict[str, object]:
        data = json.loads(self.body)
        assert isinstance(data, dict)
        return data


def connect(url: str) -> HTTPConnection:
    return HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)


def ask(
    connection: HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    connection.request(method, path, body, dict(headers or {}))
    response = connection.getresponse()
    fields = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, fields, response.read().decode())


def request(
    url: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    connection = connect(url)
    try:
        return ask(connection, method, path, body, headers)
    finally:
        connection.close()


def sms_body(to: str, text: str = "hello", id: str = "n-1") -> bytes:
    return json.dumps({"to": to, "text": text, "id": id}).encode()


def send_sms(url: str, to: str, text: str = "hello", id: str = "n-1") -> Reply:
    return request(url, "POST", "/sms", sms_body(to, text, id))


def mail(
    *recipients: str, id: str = "n-1", subject: str = "Hi", text: str = "hello"
) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "sender@example.org"
    message["To"] = ", ".join(recipients)
    message["Subject"] = subject
    message["X-Notification-Id"] = id
    message.set_content(text)
    return message


def send_mail(port: int, message: EmailMessage) -> dict[str, tuple[int, bytes]]:
    with SMTP("127.0.0.1", port, timeout=TIMEOUT) as smtp:
        return smtp.send_message(message)


class Line:
    """A raw connection, to see exactly how it is answered and how it ends."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)

    @classmethod
    def to(cls, url: str) -> Self:
        return cls(urlsplit(url).port or 80)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def post(self, path: str, body: bytes) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: sandbox\r\nContent-Length: {len(body)}\r\n\r\n"
        self.send(head.encode() + body)

    def until(self, mark: bytes) -> bytes:
        data = b""
        while not data.endswith(mark):
            data += (received := self.socket.recv(1))
            assert received, f"closed after {data!r}"
        return data

    def say(self, command: str) -> str:
        """Send one SMTP command and return the last line of the reply."""
        self.send(command.encode() + b"\r\n")
        return self.reply()

    def reply(self) -> str:
        while (line := self.until(b"\r\n").decode().rstrip())[3:4] == "-":
            pass
        return line

    def ending(self) -> str:
        """Say how the other side ends the connection, once it does."""
        try:
            while self.socket.recv(4096):
                pass
        except ConnectionResetError:
            return "reset"
        return "closed"


def begin(line: Line) -> None:
    assert line.reply().startswith("220 ")
    assert line.say("EHLO test").startswith("250 ")


def give(line: Line, *recipients: str) -> None:
    """Send a mail up to the moment before its final dot."""
    assert line.say("MAIL FROM:<s@example.org>").startswith("250 ")
    for recipient in recipients:
        assert line.say(f"RCPT TO:<{recipient}>").startswith("250 ")
    assert line.say("DATA").startswith("354 ")
    line.send(b"X-Notification-Id: n-1\r\nSubject: Hi\r\n\r\nhello\r\n")
