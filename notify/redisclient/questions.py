"""What is asked of Redis, as a value: several of them can share one round trip."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

import hiredis
import redis

from notify.redisclient.opening import unavailable

_T = TypeVar("_T")


def whatever(answer: Any) -> Any:
    """Reads an answer as it is."""
    return answer


def pack(*words: Any) -> bytes:
    """A command as it goes over the wire."""
    return cast(bytes, hiredis.pack_command(cast(Any, words)))


class Question(Generic[_T]):
    """One command; has the ``answer`` once it was asked, as ``read`` makes it of Redis's.

    ``script`` is the text of what the command names by its digest. What is not ``needed``
    may be refused: then there is no answer, and what was asked with it stands. What only
    ``reads`` may be asked twice.
    """

    __slots__ = ("answer", "needed", "read", "reads", "script", "words")

    answer: _T

    def __init__(
        self,
        words: Sequence[Any],
        read: Callable[[Any], _T] = whatever,
        script: str = "",
        needed: bool = True,
        reads: bool = False,
    ) -> None:
        self.words = words
        self.read = read
        self.script = script
        self.needed = needed
        self.reads = reads

    def packed(self) -> bytes:
        """As it goes over the wire."""
        return pack(*self.words)

    def packed_whole(self) -> bytes:
        """For a server that does not know the script yet."""
        if not self.script:
            return self.packed()
        return pack("EVAL", self.script, *self.words[2:])

    def answered(self, raw: Any) -> None:
        """Raises ``LedgerUnavailable`` for a refusal."""
        if not isinstance(raw, redis.RedisError):
            self.answer = self.read(raw)
        elif self.needed:
            raise unavailable(raw) from raw


class Script:
    """A Lua script, which the server remembers by its digest."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()

    def question(
        self,
        keys: Sequence[str],
        arguments: Sequence[Any],
        read: Callable[[Any], _T] = whatever,
        *,
        needed: bool = True,
        reads: bool = False,
    ) -> Question[_T]:
        words = ("EVALSHA", self._sha, len(keys), *keys, *arguments)
        return Question(words, read, self._text, needed, reads)
