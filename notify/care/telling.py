"""Sends the digest once a day: written down first, so that whoever repeats it repeats it."""

import logging
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from notify.care import digest
from notify.config import Settings
from notify.notification import Notification
from notify.store.care import CareBook
from notify.store.digests import (
    Digest,
    last_before,
    last_digest,
    news,
    note_published,
    write_digest,
)
from notify.telemetry import event

log = logging.getLogger(__name__)

_DAY: Final = timedelta(days=1)


class Sender(Protocol):
    """What of ``notify.publish.Client`` is used."""

    def send(self, notification: Notification) -> str: ...


class Teller:
    """Tells what is new. Raises ``Unavailable`` and ``PublishError``; then it is told later."""

    def __init__(self, settings: Settings, book: CareBook, sender: Sender | None) -> None:
        self._settings = settings
        self._book = book
        self._sender = sender

    def tell(self, now: datetime, settled: timedelta) -> bool:
        """Whether a digest was sent. ``settled`` after its time all letters of before are there."""
        settings = self._settings.care.digest
        if settings is None:
            return False
        last = last_digest(self._book.database, now)
        if last is not None and last.published_at is None:
            return self._publish(last)
        day, until = digest.planned(now, settings)
        if now < until + settled or (last is not None and until <= last.until):
            return False
        since = until - _DAY if last is None else last.until
        told, last_seq = self._facts(since, until, last)
        silent = not (settings.always or digest.is_news(told))
        written = write_digest(
            self._book.database,
            Digest(
                name=f"{day:%Y-%m-%d}",
                since=since,
                until=until,
                last_seq=last_seq,
                content=told,
                published_at=now if silent else None,
            ),
        )
        return written.published_at is None and self._publish(written)

    def preview(self, now: datetime) -> dict[str, Any]:
        """What is new since the last digest, or of the last day."""
        last = last_digest(self._book.database, now)
        return self._facts(now - _DAY if last is None else last.until, now, last)[0]

    def _facts(
        self, since: datetime, until: datetime, last: Digest | None
    ) -> tuple[dict[str, Any], int]:
        database = self._book.database
        after = last_before(database, since) if last is None else last.last_seq
        found = news(database, after, until)
        told = digest.facts(
            self._settings,
            since=since,
            until=until,
            news=found,
            done=self._book.done(since, until),
            held=self._book.held(),
        )
        return told, found.last_seq

    def _publish(self, written: Digest) -> bool:
        settings = self._settings.care.digest
        assert settings is not None and self._sender is not None
        self._sender.send(digest.notification(settings, written.name, written.content))
        note_published(self._book.database, written.name)
        log.info("digest sent", extra=event(day=written.name, new=written.content["new"]))
        return True
