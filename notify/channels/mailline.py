"""A conversation with a mail server that obeys a deadline and knows how far it got."""

import re
import smtplib
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Final, cast

from notify.channels.connecting import connect
from notify.channels.deadlines import Deadline, Duplicate
from notify.channels.excerpts import Private, excerpt
from notify.channels.letters import Letter
from notify.channels.mailwire import Wire
from notify.channels.replies import Stage, refusal, still_in_step
from notify.config.providers import SmtpProvider
from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, TemporaryFailure

MAX_IDLE: Final = 60.0
_CLOSING: Final = 421
_RESET: Final = b"rset\r\n"
_INTRODUCTION: Final = ((Stage.MAIL, 2), (Stage.RCPT, 2), (Stage.DATA, 3))
Reply = tuple[int, str]


class Stale(Exception):
    """The connection was no longer good; nothing of the mail itself was sent on it."""


class MailLine(smtplib.SMTP):
    """One connection. ``stage`` says what was being done when something is raised.

    ``private`` is what replies must not be quoted with; it is asked for when there is something
    to quote.
    """

    # Another thread shuts the connection down by it.
    _duplicate: Duplicate | None = None

    def __init__(self, settings: SmtpProvider, tls: ssl.SSLContext, hello: str) -> None:
        super().__init__(local_hostname=hello)
        self.stage = Stage.CONNECT
        self.private: Callable[[], Private] = Private
        self._host = settings.host
        self._settings = settings
        self._tls = tls
        self._clean = False
        self._used = 0.0
        self._used_before = False
        self._size_limit = 0
        self._takes_groups = False

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        super().close()
        self._duplicate = None

    @property
    def usable(self) -> bool:
        """Whether the connection may still be good for another mail."""
        return self._clean and self.sock is not None and monotonic() - self._used <= MAX_IDLE

    @property
    def takes_eight_bits(self) -> bool:
        return "8bitmime" in self.esmtp_features

    def reopen(self, deadline: Deadline) -> None:
        """Connect, secure and log in."""
        self.close()
        self._clean = False
        self.stage = Stage.CONNECT
        self._deadline = deadline
        self._expect(self.connect(self._host, self._settings.port), 2)
        self._greet()
        if self._settings.security == "starttls":
            self._start_tls()
            self._greet()
        if self._settings.username is not None:
            self._log_in(self._settings.username)
        self._wire.begin(deadline)
        self._used_before = False
        self._clean = True

    def resume(self, deadline: Deadline) -> bool:
        """Whether the connection seems good for another mail.

        Where the server takes commands in groups (PIPELINING), ``deliver`` finds out.
        """
        self.stage = Stage.CONNECT
        if self.sock is None or not self.usable or self._wire.unasked:
            return False
        with suppress(OSError):
            self._watch(self.sock, deadline)
            self._wire.begin(deadline)
            self._used_before = True
            if self._takes_groups:
                return True
            self._wire.send(_RESET)
            return self._was_reset()
        return False

    def _watch(self, connection: socket.socket, deadline: Deadline) -> None:
        if self._duplicate is None:
            self._duplicate = deadline.guard(connection)
        else:
            deadline.watch(self._duplicate)

    def deliver(self, letter: Letter) -> Reply:
        """Hand one mail over and return the last reply.

        Raises ``DeliveryFailure``, or ``Stale`` on a connection that was resumed.
        """
        self._check(letter)
        self._clean = False
        if self._takes_groups:
            self._introduce_at_once(letter)
        else:
            self._introduce(letter)
        if self._wire.unasked:
            # It would be taken for the reply to the mail.
            raise smtplib.SMTPServerDisconnected("more replies than commands")
        self.stage = Stage.CONTENT
        # Nobody can have taken the mail before the last byte, which ends the final dot, has left.
        self._wire.send(letter.content.replace(b"\n.", b"\n..") + b".\r\n")
        self.stage = Stage.DOT
        reply = self._expect(self.getreply(), 2)
        self._clean = True
        return reply

    def _introduce(self, letter: Letter) -> None:
        for (stage, expected), command in zip(_INTRODUCTION, self._commands(letter), strict=True):
            self.stage = stage
            self._wire.send(command)
            self._expect(self.getreply(), expected)

    def _introduce_at_once(self, letter: Letter) -> None:
        """All commands before the mail in one group (RFC 2920), and then their replies."""
        commands = self._commands(letter)
        if self._used_before:
            # A connection that died silently must leave time for a new one.
            self._ask_again(b"".join((_RESET, *commands)))
        else:
            self.stage = Stage.MAIL
            self._wire.send(b"".join(commands))
        for after, (stage, expected) in enumerate(_INTRODUCTION, 1):
            self.stage = stage
            try:
                self._expect(self.getreply(), expected)
            except DeliveryFailure:
                self._clean = self._clean and self._skip(len(_INTRODUCTION) - after)
                raise

    def _ask_again(self, commands: bytes) -> None:
        try:
            self._wire.send(commands)
            good = self._was_reset()
        except OSError:
            good = False
        if not good:
            raise Stale

    def _was_reset(self) -> bool:
        return self._wire.reply(patient=False)[0] == 250

    def _skip(self, replies: int) -> bool:
        """Whether the connection is good for another mail after the commands that followed one
        which was refused.

        It is not if the server now waits for the content (RFC 2920, section 3.1): what it gets
        then is nothing at all.
        """
        code = 500
        with suppress(OSError):
            for _ in range(replies):
                code, _ = self.getreply()
            return still_in_step(Stage.DATA, code)
        return False

    def _commands(self, letter: Letter) -> tuple[bytes, bytes, bytes]:
        sender = f"MAIL FROM:<{letter.sender}>{self._options(letter)}\r\n"
        recipient = f"RCPT TO:<{letter.recipient}>\r\n"
        return sender.encode("ascii"), recipient.encode(), b"DATA\r\n"

    def _check(self, letter: Letter) -> None:
        """What the server has said that it does not take is not offered to it."""
        # RFC 6531 has servers with SMTPUTF8 offer 8BITMIME too.
        if letter.utf8 and not {"smtputf8", "8bitmime"} <= self.esmtp_features.keys():
            raise PermanentFailure(
                Reason.RECIPIENT_REFUSED, "the server takes no addresses outside ASCII"
            )
        limit = self._size_limit
        if limit and len(letter.content) > limit:
            raise PermanentFailure(
                Reason.REFUSED,
                f"the mail has {len(letter.content)} bytes, the server takes {limit}",
            )

    def _options(self, letter: Letter) -> str:
        options = f" SIZE={len(letter.content)}" if "size" in self.esmtp_features else ""
        if letter.eight_bit:
            options += " BODY=8BITMIME"
        return f"{options} SMTPUTF8" if letter.utf8 else options

    def _expect(self, reply: tuple[int, bytes], expected: int) -> Reply:
        code = reply[0]
        self._used = monotonic()
        if code // 100 == expected:
            return code, reply[1].decode("latin-1")
        self._clean = still_in_step(self.stage, code)
        raise self._refusal(reply)

    def _require(self, reply: tuple[int, bytes], code: int) -> None:
        """Only this code will do: with any other the connection is still in the clear."""
        if reply[0] != code:
            raise self._refusal(reply)

    def _refusal(self, reply: tuple[int, bytes]) -> DeliveryFailure:
        failure = refusal(self.stage, reply[0], reply[1].decode("latin-1"))
        failure.answer = excerpt(reply[1], self.private())
        return failure

    def _greet(self) -> None:
        self.stage = Stage.HELLO
        reply = self.ehlo()
        if reply[0] == _CLOSING:
            raise self._refusal(reply)
        if reply[0] != 250:
            self._expect(self.helo(), 2)
        # RFC 1870: 0 for no limit.
        size = self.esmtp_features.get("size", "")
        self._size_limit = int(size) if re.fullmatch("[0-9]{1,20}", size) else 0
        self._takes_groups = "pipelining" in self.esmtp_features

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

    @property
    def _wire(self) -> Wire:
        if self.file is None:
            if self.sock is None:
                raise smtplib.SMTPServerDisconnected("not connected")
            self.file = Wire(self.sock)
        return cast(Wire, self.file)

    def getreply(self) -> tuple[int, bytes]:
        """Like the inherited one, which reads on for ever if the server does not stop."""
        return self._wire.reply()


def _reply_of(call: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
    try:
        return call()
    except smtplib.SMTPResponseException as error:
        text = error.smtp_error
        return error.smtp_code, text if isinstance(text, bytes) else text.encode()
