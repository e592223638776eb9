"""The sandbox as a whole: both servers, one script, one record."""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from notify.sandbox.answers import ACCEPT, Answer
from notify.sandbox.gateway import Gateway
from notify.sandbox.listener import HOST
from notify.sandbox.mailserver import MailServer
from notify.sandbox.records import Log, Received
from notify.sandbox.scripts import Scripts


class Sandbox:
    """A local SMS, webhook and mail gateway with scripted answers; runs while entered."""

    def __init__(
        self,
        record: Path | None = None,
        http_port: int = 0,
        smtp_port: int = 0,
        sync: bool = False,
    ) -> None:
        self._record = record
        self._ports = http_port, smtp_port
        self._sync = sync
        self._scripts = Scripts()
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            self._start(starting)
            self._running = starting.pop_all()
        return self

    def _start(self, starting: ExitStack) -> None:
        http_port, smtp_port = self._ports
        self._log = Log(self._record, sync=self._sync)
        starting.callback(self._log.close)
        mail = MailServer(smtp_port, self._scripts, self._log)
        mail.start()
        starting.callback(mail.close)
        self.smtp_port = mail.port
        self._gateway = gateway = Gateway(http_port, self._scripts, self._log, self._describe)
        gateway.start()
        starting.callback(gateway.close)
        starting.callback(self._log.release)
        self.http_url = f"http://{HOST}:{gateway.port}"

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def drain(self) -> None:
        """Take no further HTTP request; return when all that had come are answered."""
        self._gateway.drain()

    def _describe(self) -> object:
        return {"status": "ok", "smtp_port": self.smtp_port, "received": self._log.end}

    def script(self, recipient: str, *answers: Answer, then: Answer = ACCEPT) -> None:
        """Answer a recipient's requests with these, one after the other, ``then`` with the last.

        A recipient is a phone number, a mail address, the path of a webhook, or one of
        ``EVERYONE``, ``HTTP_CONNECTION`` and ``SMTP_CONNECTION``.
        """
        self._scripts.script(recipient, answers, then)

    def received(self, recipient: str | None = None) -> list[Received]:
        """Return what was received, in order of arrival."""
        return self._log.received(recipient)

    def wait_for(
        self, count: int, timeout: float, recipient: str | None = None, accepted_only: bool = True
    ) -> list[Received]:
        """Return what matches once there is enough of it, or raise TimeoutError."""
        return self._log.wait_for(count, timeout, recipient, accepted_only)

    def clear(self) -> None:
        """Forget what was received. Scripts stay, and so does the record file."""
        self._log.clear()
