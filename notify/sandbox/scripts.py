"""Scripted answers per recipient, shared by all connections."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from notify.errors import InvalidInput
from notify.sandbox.answers import ACCEPT, Answer, Stage

EVERYONE: Final = "*"
"""Whoever has no script of their own."""

HTTP_CONNECTION: Final = "http:*"
"""New HTTP connections: ``reset="before"`` resets one before a byte of it is read."""

SMTP_CONNECTION: Final = "smtp:*"
"""What happens before an SMTP client names a recipient: connect, ehlo, mail."""

_BEFORE_RECIPIENT: Final = ("connect", "ehlo", "mail")


@dataclass(kw_only=True)
class _Script:
    answers: deque[Answer]
    then: Answer

    def peek(self) -> Answer:
        return self.answers[0] if self.answers else self.then

    def take(self) -> Answer:
        return self.answers.popleft() if self.answers else self.then


class Scripts:
    """Hands every scripted answer out exactly once, then the last one forever."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._scripts: dict[str, _Script] = {}

    def script(self, recipient: str, answers: Iterable[Answer], then: Answer) -> None:
        """Replace the recipient's script."""
        script = _Script(answers=deque(answers), then=then)
        for answer in (*script.answers, then):
            _check_stage(recipient, answer)
        with self._lock:
            self._scripts[recipient] = script

    def take(self, recipient: str) -> Answer:
        """Return the next answer for a recipient."""
        with self._lock:
            script = self._scripts.get(recipient) or self._scripts.get(EVERYONE)
            return script.take() if script else ACCEPT

    def take_for_connection(self) -> Answer:
        """Return the next answer for a new HTTP connection."""
        with self._lock:
            script = self._scripts.get(HTTP_CONNECTION)
            return script.take() if script else ACCEPT

    def take_at(self, stage: Stage) -> Answer | None:
        """Return the next answer for SMTP connections if it is meant for this stage."""
        with self._lock:
            script = self._scripts.get(SMTP_CONNECTION)
            if script is None or (script.peek().smtp_stage or "connect") != stage:
                return None
            return script.take()


def _check_stage(recipient: str, answer: Answer) -> None:
    if not recipient:
        raise InvalidInput("script: recipient: must not be empty")
    if not answer.smtp_stage:
        return
    early = answer.smtp_stage in _BEFORE_RECIPIENT
    if early and recipient != SMTP_CONNECTION:
        problem = f"comes before the recipient is known: script {SMTP_CONNECTION!r} instead"
        raise InvalidInput(f"script: {recipient}: smtp_stage {answer.smtp_stage!r} {problem}")
    if not early and recipient == SMTP_CONNECTION:
        problem = f"belongs to a recipient: script an address or {EVERYONE!r} instead"
        raise InvalidInput(f"script: {recipient}: smtp_stage {answer.smtp_stage!r} {problem}")
