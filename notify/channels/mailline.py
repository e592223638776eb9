"""A conversation with a mail server that obeys a deadline and knows how far it got."""

import re
import smtplib
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Final

from notify.channels.connecting import connect
from notify.channels.deadlines import Deadline
from notify.channels.excerpts import Private, excerpt
from notify.channels.letters import Letter
from notify.channels.replies import Stage, refusal, still_in_step
from notify.config.providers import SmtpProvider
from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, TemporaryFailure

MAX_IDLE: Final = 60.0
_MAX_LINE: Final = 8192
_MAX_LINES: Final = 100
_CLOSING: Final = 421
_LINE_START: Final = re.compile(rb"(?m)^\.")
Reply = tuple[int, str]


class MailLine(smtplib.SMTP):
    """One connection. ``stage`` says what was being done when something is raised.

    ``private`` is what replies must not be quoted with.
    """

    def __init__(self, settings: SmtpProvider, tls: ssl.SSLContext, hello: str) -> None:
        super().__init__(local_hostname=hello)
        self.stage = Stage.CONNECT
        self.clean = False
        self.private = Private()
        self._host = settings.host
        self._settings = settings
        self._tls = tls
        self._used = 0.0

    def __del__(self) -> None:
        self.close()

    def open(self, deadline: Deadline) -> None:
        """Connect, secure and log in."""
        self._deadline = deadline
        self._expect(self.connect(self._host, self._settings.port), 2)
        self._greet()
        if self._settings.security == "starttls":
            self._start_tls()
            self._greet()
        if self._settings.username is not None:
            self._log_in(self._settings.username)
        self.clean = True

    def resume(self, deadline: Deadline) -> bool:
        """Whether the connection is good for another mail."""
        self.stage = Stage.CONNECT
        if self.sock is None or not self.clean or monotonic() - self._used > MAX_IDLE:
            return False
        self._deadline = deadline
        deadline.guard(self.sock)
        # A connection that died silently must leave time for a new one.
        self.sock.settimeout(deadline.remaining() / 2)
        with suppress(OSError):
            if self.rset()[0] == 250:
                self.sock.settimeout(deadline.remaining())
                return True
        return False

    def deliver(self, letter: Letter) -> Reply:
        """Hand one mail over and return the last reply. Raises ``DeliveryFailure``."""
        self._check(letter)
        self.clean = False
        self._command(Stage.MAIL, f"MAIL FROM:<{letter.sender}>{self._options(letter)}")
        self._command(Stage.RCPT, f"RCPT TO:<{letter.recipient}>")
        self._command(Stage.DATA, "DATA", expected=3)
        self.stage = Stage.CONTENT
        self.send(_LINE_START.sub(b"..", letter.content))
        self.stage = Stage.DOT
        self.send(b".\r\n")
        reply = self._expect(self.getreply(), 2)
        self.clean = True
        return reply

    def _check(self, letter: Letter) -> None:
        """What the server has said that it does not take is not offered to it."""
        # RFC 6531 has servers with SMTPUTF8 offer 8BITMIME too.
        if letter.utf8 and not (self.has_extn("smtputf8") and self.has_extn("8bitmime")):
            raise PermanentFailure(
                Reason.RECIPIENT_REFUSED, "the server takes no addresses outside ASCII"
            )
        limit = self._size_limit()
        if limit and len(letter.content) > limit:
            raise PermanentFailure(
                Reason.REFUSED,
                f"the mail has {len(letter.content)} bytes, the server takes {limit}",
            )

    def _size_limit(self) -> int:
        """The most bytes that the server says it takes (RFC 1870); 0 if it does not say."""
        announced = self.esmtp_features.get("size", "")
        return int(announced) if re.fullmatch("[0-9]{1,20}", announced) else 0

    def _options(self, letter: Letter) -> str:
        self.command_encoding = "utf-8" if letter.utf8 else "ascii"
        options = {
            f" SIZE={len(letter.content)}": self.has_extn("size"),
            " BODY=8BITMIME": letter.eight_bit,
            " SMTPUTF8": letter.utf8,
        }
        return "".join(option for option, needed in options.items() if needed)

    def _command(self, stage: Stage, command: str, expected: int = 2) -> None:
        self.stage = stage
        self._expect(self.docmd(command), expected)

    def _expect(self, reply: tuple[int, bytes], expected: int) -> Reply:
        code = reply[0]
        self._used = monotonic()
        if code // 100 == expected:
            return code, reply[1].decode("latin-1")
        self.clean = still_in_step(self.stage, code)
        raise self._refusal(reply)

    def _require(self, reply: tuple[int, bytes], code: int) -> None:
        """Only this code will do: with any other the connection is still in the clear."""
        if reply[0] != code:
            raise self._refusal(reply)

    def _refusal(self, reply: tuple[int, bytes]) -> DeliveryFailure:
        failure = refusal(self.stage, reply[0], reply[1].decode("latin-1"))
        failure.answer = excerpt(reply[1], self.private)
        return failure

    def _greet(self) -> None:
        self.stage = Stage.HELLO
        reply = self.ehlo()
        if reply[0] == _CLOSING:
            raise self._refusal(reply)
        if reply[0] != 250:
            self._expect(self.helo(), 2)

    def _start_tls(self) -> None:
        self.stage = Stage.TLS
        try:
            reply = _reply_of(partial(self.starttls, context=self._tls))
        except smtplib.SMTPNotSupportedError:
            raise TemporaryFailure(Reason.TLS_FAILED, "STARTTLS not offered") from None
        self._require(reply, 220)

    def _log_in(self, username: str) -> None:
        secret = self._settings.password_file
        password = secret.get_secret_value() if secret else ""
        self.stage = Stage.LOGIN
        try:
            reply = _reply_of(partial(self.login, username, password))
        except smtplib.SMTPServerDisconnected:
            raise
        except (smtplib.SMTPException, ValueError):
            raise TemporaryFailure(
                Reason.PROVIDER_DENIED, "no way to log in that both sides know"
            ) from None
        self._require(reply, 235)

    def _get_socket(self, host: str, port: int, timeout: float | None) -> socket.socket:
        opened = connect(host, port, self._deadline)
        if self._settings.security != "tls":
            return opened
        self.stage = Stage.TLS
        secured = self._tls.wrap_socket(opened, server_hostname=host)
        self.stage = Stage.CONNECT
        return secured

    def getreply(self) -> tuple[int, bytes]:
        """Like the inherited one, which reads on for ever if the server does not stop."""
        if self.file is None and self.sock is not None:
            self.file = self.sock.makefile("rb")
        texts = []
        for _ in range(_MAX_LINES):
            line = self._read_line()
            texts.append(line[4:].strip())
            if not re.match(rb"[0-9]{3}-", line):
                code = int(line[:3]) if re.match(rb"[0-9]{3}", line) else -1
                return code, b"\n".join(texts)
        self.close()
        raise smtplib.SMTPServerDisconnected("the reply does not end")

    def _read_line(self) -> bytes:
        try:
            line = self.file.readline(_MAX_LINE + 1) if self.file else b""
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            self.close()
            raise smtplib.SMTPServerDisconnected("the connection was lost")
        return line


def _reply_of(call: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
    try:
        return call()
    except smtplib.SMTPResponseException as error:
        text = error.smtp_error
        return error.smtp_code, text if isinstance(text, bytes) else text.encode()
