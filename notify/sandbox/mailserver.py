"""The SMTP server, answering as scripted at every stage."""

import asyncio
import struct
from collections import defaultdict
from itertools import count
from socket import SO_LINGER, SOL_SOCKET
from threading import Event, Thread
from typing import AnyStr, Final, NoReturn

from aiosmtpd.smtp import SMTP, Envelope, Session

from notify.sandbox.answers import MAIL_ACCEPTED, Answer, Stage
from notify.sandbox.arrivals import mail_received
from notify.sandbox.listener import BACKLOG, open_port
from notify.sandbox.records import Log
from notify.sandbox.scripts import SMTP_CONNECTION, Scripts

MAX_MAIL: Final = 30 * 1024 * 1024
EXTENSIONS: Final = ("250-PIPELINING",)


class ScriptedEnvelope(Envelope):
    """A mail on its way, with the answer scripted for each accepted recipient."""

    def __init__(self) -> None:
        super().__init__()
        self.scripted: list[tuple[str, Answer]] = []

    def at(self, stage: Stage) -> Answer | None:
        """Return the answer that decides a stage for all: SMTP has one reply for everyone."""
        answers = [answer for _, answer in self.scripted if answer.stage == stage]
        return min(answers, key=lambda each: each.smtp_outcome.startswith("2"), default=None)


class Hooks:
    """What happens to recipients and mails; called by the protocol."""

    def __init__(self, scripts: Scripts, log: Log) -> None:
        self.scripts = scripts
        self._log = log
        self._numbers = count(1)

    def record(self, recipients: list[str], content: bytes, answered: str) -> None:
        """Record a mail once for each recipient."""
        for recipient in recipients:
            self._log.add(mail_received(recipient, content, answered))

    async def handle_EHLO(
        self,
        server: "ScriptedSMTP",
        session: Session,
        envelope: Envelope,
        hostname: str,
        responses: list[str],
    ) -> list[str]:
        """Say that commands may come in groups; they are read one after the other anyway."""
        session.host_name = hostname
        return [*responses[:-1], *EXTENSIONS, responses[-1]]

    async def handle_RCPT(
        self,
        server: "ScriptedSMTP",
        session: Session,
        envelope: ScriptedEnvelope,
        address: str,
        options: list[str],
    ) -> str:
        """Accept a recipient unless the script refuses it."""
        answer = self.scripts.take(address)
        if answer.stage == "rcpt":
            return await server.refuse(answer, [address])
        envelope.rcpt_tos.append(address)
        envelope.scripted.append((address, answer))
        return "250 2.1.5 OK"

    async def handle_DATA(
        self, server: "ScriptedSMTP", session: Session, envelope: ScriptedEnvelope
    ) -> str:
        """Record a whole mail, then answer its final dot."""
        answer = envelope.at("dot") or Answer()
        reply = answer.smtp_outcome
        if reply == MAIL_ACCEPTED:
            reply = f"{MAIL_ACCEPTED} email-{next(self._numbers):06}"
        self.record(envelope.rcpt_tos, envelope.original_content or b"", reply)
        return await server.perform(answer, reply)


class ScriptedSMTP(SMTP):
    """The protocol on one connection, asking the script before each stage."""

    def __init__(self, hooks: Hooks, live: set["ScriptedSMTP"]) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(
            hooks,
            data_size_limit=MAX_MAIL,
            enable_SMTPUTF8=True,
            hostname="localhost",
            ident="notify sandbox",
            loop=loop,
        )
        self.command_size_limits = defaultdict(lambda: self.command_size_limit)
        self._hooks = hooks
        self._live = live
        self._drip = 0.0

    def _create_envelope(self) -> ScriptedEnvelope:
        return ScriptedEnvelope()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._live.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._live.discard(self)
        super().connection_lost(error)

    async def _handle_client(self) -> None:
        if await self._refused_at("connect"):
            self._writer.close()
        else:
            await super()._handle_client()

    async def smtp_EHLO(self, hostname: str) -> None:
        if not await self._refused_at("ehlo"):
            await super().smtp_EHLO(hostname)

    async def smtp_HELO(self, hostname: str) -> None:
        if not await self._refused_at("ehlo"):
            await super().smtp_HELO(hostname)

    async def smtp_MAIL(self, arg: str | None) -> None:
        if not await self._refused_at("mail"):
            await super().smtp_MAIL(arg)

    async def smtp_DATA(self, arg: str) -> None:
        envelope = self.envelope
        answer = envelope.at("data") if isinstance(envelope, ScriptedEnvelope) else None
        if envelope is None or answer is None:
            await super().smtp_DATA(arg)
            return
        await self.push(await self.refuse(answer, envelope.rcpt_tos))
        self.envelope = self._create_envelope()

    async def _refused_at(self, stage: Stage) -> bool:
        answer = self._hooks.scripts.take_at(stage)
        if answer is None:
            return False
        if not answer.smtp_stage and not answer.reset:
            await self.perform(answer, "")
            return False
        await self.push(await self.refuse(answer, [SMTP_CONNECTION]))
        return True

    async def refuse(self, answer: Answer, recipients: list[str]) -> str:
        """Record a refusal that comes before the mail's content, and return the reply."""
        if answer.reset != "before":
            self._hooks.record(recipients, b"", answer.smtp_outcome)
        return await self.perform(answer, answer.smtp_outcome)

    async def perform(self, answer: Answer, reply: str) -> str:
        """Wait, hang up or return the reply, as the answer says."""
        await asyncio.sleep(answer.delay)
        if answer.reset or answer.smtp_drop:
            self._hang_up(reset=bool(answer.reset))
        self._drip = answer.drip
        return reply

    def _hang_up(self, *, reset: bool) -> NoReturn:
        if reset:
            linger = struct.pack("ii", 1, 0)
            self._writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, linger)
            self._writer.transport.abort()
        self._writer.close()
        raise asyncio.CancelledError  # ends this connection's task, as a lost connection does

    async def push(self, status: AnyStr) -> None:
        """Send a reply, slowly if the script wants it."""
        drip, self._drip = self._drip, 0.0
        if not drip:
            await super().push(status)
            return
        line = status.encode() if isinstance(status, str) else status
        for byte in line + b"\r\n":
            self._writer.write(bytes([byte]))
            await asyncio.sleep(drip)

    def abort(self) -> None:
        """Cut the connection."""
        self._writer.transport.abort()


class MailServer:
    """Runs the protocol on a port, in an event loop with a thread of its own."""

    def __init__(self, port: int, scripts: Scripts, log: Log) -> None:
        self._hooks = Hooks(scripts, log)
        self._socket = open_port(port)
        self.port: int = self._socket.getsockname()[1]
        self._live: set[ScriptedSMTP] = set()
        self._ready = Event()
        self._thread = Thread(target=self._run, name="sandbox-smtp", daemon=True)

    def start(self) -> None:
        """Start answering."""
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Stop answering and hang up."""
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        server = await self._loop.create_server(self._protocol, sock=self._socket, backlog=BACKLOG)
        self._ready.set()
        await self._closing.wait()
        server.close()
        while self._live:
            self._hang_up_on_all()
            await asyncio.sleep(0)

    def _protocol(self) -> ScriptedSMTP:
        return ScriptedSMTP(self._hooks, self._live)

    def _hang_up_on_all(self) -> None:
        for connection in self._live:
            connection.abort()
