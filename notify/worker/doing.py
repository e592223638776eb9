"""What a worker is doing, in the words that ``systemctl status`` shows."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from notify.systemd import since


@dataclass(frozen=True, kw_only=True)
class Doing:
    """What is known at one moment."""

    sending: int = 0
    """Sends under way."""
    held: int = 0
    """Outcomes that can be neither written nor published."""
    paused: str = ""
    """Why nothing is consumed on purpose."""
    trouble: str = ""
    """What is wrong with RabbitMQ."""
    stopping: bool = False
    note: str = ""
    """What a person should know besides."""


class Teller:
    """Turns that into one line, with the time since which it waits."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._waits = ""
        self._began = now()

    def line(self, doing: Doing) -> str:
        kind, why = _waiting(doing)
        if kind != self._waits:
            self._waits, self._began = kind, self._now()
        sends = f"{doing.sending} under way" if doing.sending else ""
        if doing.stopping:
            return _joined("draining", sends or "nothing under way")
        if kind:
            return _joined(f"{kind} {since(self._began)}", why, sends, doing.note)
        return _joined("consuming", sends, doing.note)


def _waiting(doing: Doing) -> tuple[str, str]:
    """What it waits for, and why; nothing of either while it consumes."""
    if doing.paused:
        return "paused", doing.paused
    if doing.trouble:
        return "waiting for RabbitMQ", doing.trouble
    if doing.held:
        held = f"{doing.held} outcomes can be neither written nor published"
        return "waiting for Redis or RabbitMQ", held
    return "", ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
