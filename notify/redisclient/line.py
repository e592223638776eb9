"""One connection that all threads share: what several ask meanwhile goes out together.

A thread that finds the line free carries its own questions out at once. Others that come
before it has its answers wait; the first of them then carries out what all of them ask, in one
write, and hands the answers out. So the busier the process is, the less each question costs.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import redis
from redis.exceptions import NoScriptError

from notify.redisclient.opening import unavailable
from notify.redisclient.questions import Question, pack
from notify.redisclient.wire import Wire

_T = TypeVar("_T")
# So many share a write: the first of them waits until Redis has done what all of them ask.
_AT_ONCE: Final = 64
# Idle for longer, a connection may have been ended by a server that was started anew.
_IDLE: Final = 0.05
# How many times the timeout nobody waits for longer than: to connect, to greet, to send and to
# receive may take one each, and then the next ones have their turn.
_PATIENCE: Final = 5
# Whoever led was interrupted.
_GIVEN_UP: Final = redis.ConnectionError("given up")


class _Call:
    """What one thread asks. ``gate`` opens when it is answered, or ``leads`` the others."""

    __slots__ = ("answers", "count", "error", "gate", "leads", "packed", "reached", "replicas")

    def __init__(self, packed: bytes, count: int, replicas: int) -> None:
        self.packed = packed
        self.count = count
        self.replicas = replicas
        self.reached: Any = 0
        self.answers: list[Any] = []
        self.error: Exception | None = None
        self.leads = False
        self.gate: threading.Lock | None = None

    def let_go(self) -> None:
        if self.gate is not None:
            self.gate.release()


class _Crew:
    """The threads of one process on a line. ``lock`` guards all but the wire, which belongs
    to whoever made it ``busy``."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.busy = False
        self.waiting: deque[_Call] = deque()
        self.wire: Wire | None = None
        self.used = 0.0


def _demoted(answer: Any) -> bool:
    """Whether a replica says so, itself or out of a script, where Redis 6 quotes it."""
    return isinstance(answer, redis.ResponseError) and (
        isinstance(answer, redis.ReadOnlyError) or "-READONLY" in str(answer)
    )


class Line:
    """Thread-safe, and safe to have open over a fork.

    Nothing is repeated by itself. After ``timeout`` seconds without an answer the connection
    is given up, and with it whatever was under way: then Redis may have carried out what was
    asked, or may still. Methods raise ``LedgerUnavailable``.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        # Half of the time, so that the answer still comes in time.
        self._replication = int(timeout * 500)
        self._crew = _Crew()

    def ask(self, *questions: Question[Any], replicas: int = 0) -> int:
        """Gives them their answers, in one round trip; how many replicas have what they wrote.

        It waits for so many. ``WAIT`` counts what its own connection wrote, and is asked once
        for all that goes out together.
        """
        if not questions:
            return 0
        call = self._carried_out([each.packed() for each in questions], replicas)
        answers, have = call.answers, call.reached
        unknown = [n for n, each in enumerate(answers) if isinstance(each, NoScriptError)]
        if unknown:
            # What reads was answered before them, and was to be answered after.
            later = range(unknown[0] + 1, len(questions))
            unknown = sorted({*unknown, *(n for n in later if questions[n].reads)})
            whole = [questions[n].packed_whole() for n in unknown]
            again = self._carried_out(whole, replicas)
            have = again.reached
            for n, answer in zip(unknown, again.answers, strict=True):
                answers[n] = answer
        for question, answer in zip(questions, answers, strict=True):
            question.answered(answer)
        if isinstance(have, redis.RedisError):
            raise unavailable(have) from have
        return int(have)

    def get(self, question: Question[_T]) -> _T:
        """The answer to one question."""
        self.ask(question)
        return question.answer

    def _carried_out(self, packed: Sequence[bytes], replicas: int) -> _Call:
        call = _Call(b"".join(packed), len(packed), replicas)
        crew = self._crew
        if crew.process != os.getpid():
            # Whoever held the parent's locks is not here.
            crew = self._crew = _Crew()
        with crew.lock:
            leads = not crew.busy
            if leads:
                crew.busy = True
            else:
                call.gate = threading.Lock()
                call.gate.acquire()
                crew.waiting.append(call)
        if leads or self._waited(crew, call):
            self._lead(crew, call)
        if call.error is not None:
            raise unavailable(call.error) from call.error
        return call

    def _waited(self, crew: _Crew, call: _Call) -> bool:
        """Whether it is this call's turn to carry out what waits."""
        assert call.gate is not None
        try:
            opened = call.gate.acquire(timeout=_PATIENCE * self._timeout)
        except BaseException:
            self._leave(crew, call)
            raise
        if not opened and self._crew is crew:
            # Whoever leads has not come to an end: that thread is no more. The others go on
            # without it.
            self._crew = _Crew()
        if not opened:
            self._leave(crew, call)
            raise unavailable(redis.TimeoutError("no answer in time"))
        return call.leads

    def _leave(self, crew: _Crew, call: _Call) -> None:
        """The call is waited for no longer. What is not under way will never be asked."""
        with crew.lock:
            if call in crew.waiting:
                crew.waiting.remove(call)
            leads = call.leads
        if leads:
            self._hand_over(crew, [], None)

    def _lead(self, crew: _Crew, call: _Call) -> None:
        """Carries out what waits, this call's among it, and lets the next one lead."""
        with crew.lock:
            batch = [call]
            while crew.waiting and len(batch) < _AT_ONCE:
                batch.append(crew.waiting.popleft())
        error: Exception | None = _GIVEN_UP
        try:
            self._exchange(crew, batch)
            error = None
        except redis.RedisError as raised:
            error = raised
        finally:
            self._hand_over(crew, batch, error)

    def _exchange(self, crew: _Crew, batch: Sequence[_Call]) -> None:
        """One write, and the answers of all."""
        packed = [call.packed for call in batch]
        count = sum([call.count for call in batch])
        replicas = max([call.replicas for call in batch])
        if replicas:
            packed.append(pack("WAIT", replicas, self._replication))
        wire = self._connected(crew)
        answers = wire.exchange(b"".join(packed), count + bool(replicas))
        crew.used = time.monotonic()
        start = 0
        for call in batch:
            call.reached = answers[-1] if replicas else 0
            call.answers = answers[start : start + call.count]
            start += call.count
        if any(_demoted(answer) for answer in answers):
            # Where the name leads to another server now, the next ones find it.
            wire.close()
            crew.wire = None

    def _connected(self, crew: _Crew) -> Wire:
        wire = crew.wire
        if wire is not None and time.monotonic() - crew.used > _IDLE and wire.is_over():
            wire.close()
            wire = None
        if wire is None:
            wire = crew.wire = Wire(self._url, self._timeout)
        return wire

    def _hand_over(self, crew: _Crew, batch: list[_Call], error: Exception | None) -> None:
        """Lets the next one lead, and the others of the batch go on with answers or error."""
        if error is not None and crew.wire is not None:
            crew.wire.close()
            crew.wire = None
        with crew.lock:
            if isinstance(error, redis.TimeoutError):
                # They have waited with it, and would be no better off.
                batch += crew.waiting
                crew.waiting.clear()
            following = crew.waiting.popleft() if crew.waiting else None
            if following is not None:
                following.leads = True
            else:
                crew.busy = False
        if following is not None:
            following.let_go()
        for call in batch:
            call.error = error
            call.let_go()

    def close(self) -> None:
        """What is under way comes to its end; a later question opens the line again."""
        crew, self._crew = self._crew, _Crew()
        if crew.process != os.getpid():
            return
        with crew.lock:
            if not crew.busy and crew.wire is not None:
                crew.wire.close()
