"""The suppressions over a Redis connection."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from notify.errors import InvalidInput
from notify.redisclient import Line, Question, Script, open_redis, translated, whatever
from notify.suppressions import scripts
from notify.suppressions.recipients import check, digest
from notify.suppressions.values import (
    ENDPOINT_FAILING,
    Failing,
    Suppression,
    read_failing,
    read_suppression,
)

_T = TypeVar("_T")
_Found = TypeVar("_Found")
_ERASED = "erased"


class Suppressions:
    """Recipients that get nothing through a channel, and those that only fail.

    Thread-safe. Every change is one atomic step, by the Redis server's clock. Methods raise
    ``LedgerUnavailable``. Recipients may be spelled in any way that reaches the same one.
    What is to be asked beside something else goes in the same round trip, by the same server.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "notify",
        timeout: float = 2.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """``clock`` (epoch seconds) takes the place of the Redis server's: for tests."""
        self._prefix = prefix
        self._clock = clock
        self._redis = open_redis(url, timeout)
        self._line = Line(url, timeout)
        self._add = Script(scripts.ADD)
        self._remove = Script(scripts.REMOVE)
        self._note = Script(scripts.NOTE)
        self._succeeded = Script(scripts.SUCCEEDED)
        self._reported = Script(scripts.REPORTED)
        self._erase = Script(scripts.ERASE)

    def add(
        self,
        channel: str,
        recipient: str,
        *,
        reason: str,
        source: str,
        by: str = "",
        unreported: bool = False,
    ) -> Suppression | None:
        """Suppresses a recipient; None where it is already, which changes nothing.

        Raises ``InvalidInput`` for what can be no recipient, and for a ``reason``, ``source``
        or ``by`` that cannot be shown.
        """
        check(channel, recipient)
        for name, text, most in (("reason", reason, 32), ("source", source, 32), ("by", by, 64)):
            if not text.isprintable() or len(text) > most:
                raise InvalidInput(f"{name}: must be printable, and at most {most} characters")
        values = (recipient, reason, source, by, int(unreported))
        return self._changed(self._add, channel, recipient, *values)

    def remove(self, channel: str, recipient: str) -> bool:
        """Sends to it again, and forgets its failures; False where it was not suppressed."""
        return bool(self._line.get(self._about(self._remove, channel, recipient)))

    def get(self, channel: str, recipient: str) -> Suppression | None:
        """Whether, and why, a recipient gets nothing."""
        return self._line.get(self.asking(channel, recipient))

    def get_many(self, recipients: Sequence[tuple[str, str]]) -> list[Suppression | None]:
        """For each pair of a channel and a recipient what ``get`` says, in one round trip."""
        questions: list[Question[Suppression | None]] = [self.asking(*each) for each in recipients]
        self._line.ask(*questions)
        return [each.answer for each in questions]

    def asking(
        self,
        channel: str,
        recipient: str,
        then: Callable[[Suppression | None], _T] = whatever,
    ) -> Question[_T]:
        """What ``get`` says, or what ``then`` makes of it, to be asked beside something else."""
        name = digest(channel, recipient)

        def read(flat: Sequence[str]) -> _T:
            return then(_suppression(channel, name, flat))

        return Question(("HGETALL", self._keys(channel, name)[0]), read, reads=True)

    def key(self, channel: str, recipient: str) -> str:
        """What is in Redis while, and only while, the recipient gets nothing."""
        return self._keys(channel, digest(channel, recipient))[0]

    def note(
        self,
        channel: str,
        recipient: str,
        *,
        ok: bool,
        give_up_after: float,
        minimum: int = 1,
        unreported: bool = False,
    ) -> Suppression | None:
        """Counts a success or a failure; the suppression where that was one failure too many.

        A recipient is suppressed when it has failed at least ``minimum`` times, for at least
        ``give_up_after`` seconds since the first of them, without a success. A streak that is
        not continued within twice that time is forgotten.
        """
        if ok:
            self._line.ask(self.asking_success(channel, recipient))
            return None
        span = int(give_up_after * 1e6)
        values = (recipient, span, minimum, ENDPOINT_FAILING, "notify", int(unreported))
        return self._changed(self._note, channel, recipient, *values)

    def asking_success(self, channel: str, recipient: str) -> Question[Any]:
        """What ``note`` does for a success, to be done beside something else."""
        return self._about(self._succeeded, channel, recipient)

    def reported(self, channel: str, recipient: str) -> None:
        """Whoever had to be told of the suppression has been."""
        self._line.ask(self._about(self._reported, channel, recipient))

    def erase(self, channel: str, recipient: str) -> bool:
        """Keeps a suppression by the digest of the recipient alone, and forgets its failures;
        False where it is not suppressed."""
        return bool(self._line.get(self._about(self._erase, channel, recipient, _ERASED)))

    def page(self, channel: str, *, limit: int = 100, offset: int = 0) -> list[Suppression]:
        """The suppressions of a channel, newest first."""
        return self._listed(channel, 0, read_suppression, limit, offset)

    def count(self, channel: str) -> int:
        """How many recipients of a channel are suppressed."""
        with translated():
            return self._redis.zcard(self._keys(channel, "")[1])

    def failing(self, channel: str, *, limit: int = 100, offset: int = 0) -> list[Failing]:
        """Recipients that only fail and are not suppressed yet, the last to fail first."""
        return self._listed(channel, 2, read_failing, limit, offset)

    def close(self) -> None:
        self._redis.close()
        self._line.close()

    def _keys(self, channel: str, name: str) -> list[str]:
        """Entry, entries, streak and streaks, of a recipient's digest."""
        entries, streaks = f"{self._prefix}:b:{channel}", f"{self._prefix}:f:{channel}"
        return [f"{entries}:{name}", entries, f"{streaks}:{name}", streaks]

    def _about(
        self,
        script: Script,
        channel: str,
        recipient: str,
        *values: Any,
        read: Callable[[Any], _T] = whatever,
    ) -> Question[_T]:
        """One recipient's script."""
        name = digest(channel, recipient)
        now = "" if self._clock is None else int(self._clock() * 1e6)
        return script.question(self._keys(channel, name), (now, name, *values), read)

    def _changed(
        self, script: Script, channel: str, recipient: str, *values: Any
    ) -> Suppression | None:
        """Runs a script that answers with a suppression."""
        read = partial(_suppression, channel, digest(channel, recipient))
        return self._line.get(self._about(script, channel, recipient, *values, read=read))

    def _listed(
        self,
        channel: str,
        kind: int,
        read: Callable[[str, str, Mapping[str, str]], _Found | None],
        limit: int,
        offset: int,
    ) -> list[_Found]:
        """What the index behind the key of that kind names; without what is gone meanwhile."""
        with translated():
            index = self._keys(channel, "")[kind + 1]
            names = cast("list[str]", self._redis.zrevrange(index, offset, offset + limit - 1))
            pipe = self._redis.pipeline(transaction=False)
            for name in names:
                pipe.hgetall(self._keys(channel, name)[kind])
            found = map(read, [channel] * len(names), names, pipe.execute())
            return [each for each in found if each is not None]


def _suppression(channel: str, name: str, flat: Sequence[str]) -> Suppression | None:
    """From the names and values of a hash, in turn."""
    return read_suppression(channel, name, dict(zip(flat[::2], flat[1::2], strict=True)))
