"""Celery's request without the ways in which it throws a message away or shows its content."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from celery.exceptions import InvalidTaskError
from celery.worker.request import Request as CeleryRequest

from notify.message import ID

EMBED: Final = {"callbacks", "errbacks", "chain", "chord"}


class TakenBack(logging.Filter):
    """Celery's critical error for each message that it holds when RabbitMQ goes away.

    The broker hands the message out again, and the ledger knows what became of it: one line
    in the log for a person who wonders, and nothing to wake anybody up for.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno == logging.CRITICAL and str(record.msg).startswith("Couldn't "):
            record.levelno, record.levelname = logging.INFO, "INFO"
            record.msg, record.args = "connection lost: a message will come again", ()
            record.exc_info = None
        return True


class Request(CeleryRequest):
    """A message on its way through the worker.

    Celery acknowledges a revoked or expired task without running it, and holds one with an
    ``eta`` in memory. Here a notification's own ``expires_at`` decides, through the ledger.
    """

    def __init__(self, message: Any, **options: Any) -> None:
        headers = dict(options.pop("headers", None) or message.headers)
        headers |= {"eta": None, "expires": None, "timelimit": None}
        headers |= {"argsrepr": "()", "kwargsrepr": shown(headers.get(ID))}
        try:
            super().__init__(message, headers=headers, **options)
            usable = _usable(*self._payload)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise InvalidTaskError("body is not [args, kwargs, embed]") from error
        if not usable:
            raise InvalidTaskError("body is not [args, kwargs, embed]")

    def revoked(self) -> bool:
        return False

    def info(self, safe: bool = False) -> dict[str, Any]:
        """What ``celery inspect`` shows: never the notification."""
        shown: dict[str, Any] = super().info(safe=True)
        return shown


def _usable(args: Any, keywords: Any, embed: Any) -> bool:
    """Whether Celery can run it; if not, it would keep the message and never answer for it.

    What should follow the task is not ours to start, and could fail after the delivery.
    """
    follows = embed or {}
    return (
        isinstance(args, list | tuple)
        and isinstance(keywords, Mapping)
        and isinstance(follows, Mapping)
        and follows.keys() <= EMBED
        and not any(follows.values())
    )


def shown(id: Any) -> str:
    """What stands for the arguments in events and in ``celery inspect``."""
    usable = isinstance(id, str) and id.isascii() and id.isprintable() and len(id) <= 128
    return f"{{'id': {id!r}}}" if usable else "{}"
