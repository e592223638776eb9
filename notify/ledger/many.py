"""Many records at once: what is known of each, and replays, few round trips for all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import redis

from notify.ledger import scripts
from notify.message import Envelope

# A script holds the server up for as long as it runs: about a millisecond for so many.
_AT_ONCE: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """The little that decides whether a notification may be sent again.

    ``lease_until`` is in milliseconds of the Redis server's clock. ``digests`` are those of its
    content, and of what it was before replays changed it.
    """

    state: str
    generation: int
    attempt: int = 0
    lease_until: int = 0
    digests: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Replaying:
    """An envelope of the generation to open, and what is archived of the one before: its
    attempt, and the digest of its content."""

    envelope: Envelope
    retention: float
    archived: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """``answer`` is "ok", "sent", "in flight" or "conflict"; ``generation`` and ``state`` are
    what was found where it is not "ok"."""

    answer: str
    generation: int
    state: str = ""

    @property
    def ok(self) -> bool:
        return self.answer == "ok"


class Many:
    """Over the connection of a ledger, whose errors it raises untranslated."""

    def __init__(self, server: redis.Redis, key: Callable[[str], str]) -> None:
        self._server = server
        self._key = key
        self._states = server.register_script(scripts.STATES)
        self._replay = server.register_script(scripts.REPLAY)

    def known(self, ids: Sequence[str]) -> tuple[dict[str, Known], int]:
        """What is known, by id, and the server's time in milliseconds."""
        keys = [self._key(id) for id in ids]
        with self._server.pipeline(transaction=False) as pipe:
            pipe.time()
            for start in range(0, len(keys), _AT_ONCE):
                self._states(keys=keys[start : start + _AT_ONCE], client=pipe)
            (seconds, micros), *parts = pipe.execute()
        answers = [answer for part in parts for answer in part]
        found = {
            id: read_known(answer)
            for id, answer in zip(ids, answers, strict=True)
            if answer[0] != "none"
        }
        return found, seconds * 1000 + micros // 1000

    def replay(self, replays: Sequence[Replaying]) -> list[Replayed]:
        """Opens generations, each in one step; the answers in the same order."""
        with self._server.pipeline(transaction=False) as pipe:
            for each in replays:
                key = self._key(each.envelope.notification.id)
                self._replay(keys=[key], args=arguments(each), client=pipe)
            return [read_replayed(answer) for answer in pipe.execute()]


def arguments(replaying: Replaying) -> list[Any]:
    """As the script takes them."""
    envelope = replaying.envelope
    return [
        envelope.generation,
        envelope.notification.digest,
        int(replaying.retention * 1000),
        envelope.routing_key,
        envelope.first_queued.isoformat(),
        replaying.archived,
        replaying.digest,
    ]


def read_replayed(answer: Sequence[Any]) -> Replayed:
    state = str(answer[2]) if len(answer) > 2 else str(answer[0])
    return Replayed(answer=str(answer[0]), generation=int(answer[1]), state=state)


def read_known(answer: Sequence[Any]) -> Known:
    if answer[0] == "sent":
        _, generation, attempt, *rest = str(answer[1]).split("|")
        return Known(
            state="sent",
            generation=int(generation),
            attempt=int(attempt),
            digests=(rest[0], *_digests(rest[4] if len(rest) > 4 else "")),
        )
    state, generation, attempt, digest, lease, olds = answer
    return Known(
        state=cast(str, state),
        generation=int(generation),
        attempt=int(attempt),
        lease_until=int(lease or 0),
        digests=(cast(str, digest), *_digests(olds)),
    )


def _digests(text: str | None) -> Sequence[str]:
    return [digest for digest in (text or "").split(",") if digest]
