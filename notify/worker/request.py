"""Celery's request without the ways in which it throws a message away."""

from typing import Any

from celery.exceptions import InvalidTaskError
from celery.worker.request import Request as CeleryRequest


class Request(CeleryRequest):
    """A message on its way through the worker.

    Celery acknowledges a revoked or expired task without running it, and holds one with an
    ``eta`` in memory. Here a notification's own ``expires_at`` decides, through the ledger.
    """

    def __init__(self, message: Any, **options: Any) -> None:
        headers = dict(options.pop("headers", None) or message.headers)
        headers |= {"eta": None, "expires": None, "timelimit": None}
        try:
            super().__init__(message, headers=headers, **options)
        except (TypeError, ValueError, KeyError) as error:
            raise InvalidTaskError("body is not [args, kwargs, embed]") from error

    def revoked(self) -> bool:
        return False
