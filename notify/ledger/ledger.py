"""The ledger over a Redis connection."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast

from notify.errors import LedgerUnavailable
from notify.ledger import scripts
from notify.ledger.erasing import ERASE
from notify.ledger.many import Known, Many, Replayed, Replaying
from notify.ledger.replication import Replication
from notify.ledger.values import (
    AttemptRecord,
    Claim,
    Claimed,
    Health,
    NextStep,
    Record,
    read_claim,
    read_health,
    read_stored,
    sent_text,
)
from notify.message import Envelope
from notify.outcomes import Receipt
from notify.redisclient import Line, Question, Script, open_redis, translated, whatever

_T = TypeVar("_T")
_PROGRESS_KEPT = 7 * 86400


class Ledger:
    """What happened to each notification. Thread-safe. Methods raise ``LedgerUnavailable``.

    What is asked or told ``beside`` something goes in the same round trip, by the same server.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "notify",
        timeout: float = 2.0,
        replicas: int | None = None,
    ) -> None:
        """``replicas`` must have a claim before it counts; None: one, where there are any."""
        self._prefix = prefix
        self._marker = f"{prefix}:marker"
        self._seen = 0
        self._redis = open_redis(url, timeout)
        self._replication = Replication(self._redis, replicas)
        self._line = Line(url, timeout)
        # What waits for replicas keeps nothing else up.
        self._slow_line = Line(url, timeout)
        self._many = Many(self._redis, self._key)
        self._claim = Script(scripts.CLAIM)
        self._settle = Script(scripts.SETTLE)
        self._clear = Script(scripts.CLEAR)
        self._read = Script(scripts.READ)
        self._mark = Script(scripts.MARK)
        self._probe = Script(scripts.PROBE)
        self._offer = Script(scripts.OFFER)
        self._release = Script(scripts.RELEASE)
        self._erase = Script(ERASE)

    def claim(
        self,
        envelope: Envelope,
        owner: str,
        *,
        lease: float,
        resend_unknown: bool,
        retention: float,
        redelivered: bool = False,
        provider: str = "",
        rung: int = 5,
        beside: Sequence[Question[Any]] = (),
    ) -> Claim:
        """Takes the right to send, for ``lease`` seconds, or says why not.

        Repeating a claim with the same ``owner`` after a lost answer is safe.
        ``redelivered`` is the broker's word that the message was handed out before;
        ``provider`` is who shall get it, and ``rung`` how many seconds to wait before an
        attempt is repeated whose worker died.
        """
        notification = envelope.notification
        values = (
            owner,
            envelope.generation,
            envelope.attempt,
            notification.digest,
            _ms(lease),
            "resend" if resend_unknown else "archive",
            _ms(retention),
            envelope.routing_key,
            envelope.first_queued.isoformat(),
            self._seen,
            int(redelivered),
            _ms(envelope.first_queued.timestamp()),
            provider,
            rung,
        )
        claiming: Question[list[Any]] = self._about(self._claim, notification.id, *values)
        lacking = self._replicated(claiming, *beside)
        claim = read_claim(owner, self._counted(claiming.answer))
        if lacking and isinstance(claim, Claimed):
            self.release(notification.id, claim)
            raise _too_few(lacking)
        return claim

    def offer(
        self,
        id: str,
        claim: Claimed,
        *,
        failed: AttemptRecord,
        provider: str,
        lease: float,
        retention: float,
        beside: Sequence[Question[Any]] = (),
    ) -> bool:
        """Goes on to another provider within the claim; False when it was no longer ours."""
        arguments = (claim.owner, claim.generation, claim.attempt, failed.to_json(), provider)
        values = (*arguments, _ms(lease), _ms(retention), self._seen)
        return self._done(self._about(self._offer, id, *values), beside)

    def release(self, id: str, claim: Claimed) -> None:
        """Gives a claim back under which nothing was sent: whoever comes next may send."""
        values = claim.owner, claim.generation, claim.attempt
        self._line.ask(self._about(self._release, id, *values))

    def settle_sent(
        self,
        id: str,
        claim: Claimed,
        *,
        digest: str,
        receipt: Receipt,
        retention: float,
        beside: Sequence[Question[Any]] = (),
    ) -> bool:
        """Writes a delivery; False when the claim was no longer ours."""
        text = sent_text(
            claim.generation, claim.attempt, digest, receipt.provider, receipt.provider_id
        )
        told = ("sent", "", "", _ms(retention), text)
        return self._done(self._settling(id, claim, *told), beside)

    def settle_step(
        self,
        id: str,
        claim: Claimed,
        *,
        state: str,
        attempt: AttemptRecord,
        step: NextStep,
        retention: float,
        beside: Sequence[Question[Any]] = (),
    ) -> bool:
        """Writes an outcome and its next step, which counts as unpublished until ``clear``."""
        told = (state, attempt.to_json(), step.to_json(), _ms(retention), "")
        return self._done(self._settling(id, claim, *told), beside)

    def clear(self, id: str, generation: int, attempt: int) -> None:
        """The next step of this attempt has been confirmed by the broker."""
        self._line.ask(self._about(self._clear, id, generation, attempt))

    def replay(self, replays: Sequence[Replaying]) -> list[Replayed]:
        """Opens the envelopes' generations, each in one step; one answer for each."""
        with translated():
            return self._many.replay(replays)

    def known(self, ids: Sequence[str]) -> tuple[dict[str, Known], int]:
        """What decides whether these may be sent again, by id where anything is known; and
        the time of the Redis server in milliseconds."""
        with translated():
            return self._many.known(ids)

    def record(self, id: str) -> Record | None:
        """All that is known of one notification."""
        return self._line.get(self._about(self._read, id, read=partial(read_stored, id)))

    def attempts(self, id: str) -> tuple[dict[str, Any], ...]:
        return self._line.get(self.asking_attempts(id))

    def asking_attempts(self, id: str) -> Question[tuple[dict[str, Any], ...]]:
        """For the attempts, to be asked ``beside`` something."""

        def attempts(answer: Any) -> tuple[dict[str, Any], ...]:
            record = read_stored(id, answer)
            return record.attempts if record else ()

        return self._read.question((self._key(id), self._marker), (), attempts, reads=True)

    def erase(self, id: str) -> bool:
        """Forgets what providers said about it; False where nothing is known of it."""
        return bool(self._line.get(self._about(self._erase, id)))

    def mark(self) -> None:
        """Begins to watch for lost keys; a later call changes nothing.

        Done when the topology is declared: no notification can be older than that.
        """
        self._counted(self._line.get(self._about(self._mark, "", self._seen)))

    def health(self) -> Health:
        """Whether keys were lost, and how full the server is."""
        with translated():
            marker = cast("dict[str, str]", self._redis.hgetall(self._marker))
            info, keys = self._redis.info(), self._redis.dbsize()
        return read_health(marker, info, int(keys))

    def note_progress(self, queue: str, published: int) -> None:
        """A message published at ``published`` (epoch seconds) has just left ``queue``."""
        with translated():
            self._redis.set(f"{self._prefix}:q:{queue}", published, ex=_PROGRESS_KEPT)

    def progress(self, queues: Sequence[str]) -> dict[str, int]:
        """When the message was published that left each queue last, in epoch seconds."""
        with translated():
            values = self._redis.mget([f"{self._prefix}:q:{queue}" for queue in queues])
        return {q: int(v) for q, v in zip(queues, values, strict=True) if v is not None}

    def probe(self) -> None:
        """Writes something as a claim: a server that is full or read-only still answers
        reads, and one whose replicas lag still takes writes."""
        probing: Question[Any] = self._probe.question([f"{self._prefix}:probe"], ())
        lacking = self._replicated(probing)
        if lacking:
            raise _too_few(lacking)

    def now(self) -> datetime:
        """The Redis server's clock."""
        with translated():
            seconds, micros = self._redis.time()
        return datetime.fromtimestamp(seconds + micros / 1e6).astimezone()

    def check(self) -> list[str]:
        """What is wrong with the server's settings: it must not evict and must persist."""
        with translated():
            memory = cast("dict[str, str]", self._redis.config_get("maxmemory-policy"))
            append = cast("dict[str, str]", self._redis.config_get("appendonly"))
            problems = self._lacking_replicas()
        if memory.get("maxmemory-policy") != "noeviction":
            problems.append("Redis: maxmemory-policy must be noeviction, or the ledger is evicted")
        if append.get("appendonly") != "yes":
            problems.append("Redis: appendonly must be yes, or a restart forgets the ledger")
        return problems

    def _lacking_replicas(self) -> list[str]:
        wanted, have = self._replication.awaited(), self._replication.connected()
        if have >= wanted:
            return []
        return [f"Redis: {have} replicas are connected, redis.replicas asks for {wanted}"]

    def close(self) -> None:
        for opened in (self._redis, self._line, self._slow_line):
            opened.close()

    def _key(self, id: str) -> str:
        return f"{self._prefix}:n:{id}"

    def _about(
        self, script: Script, id: str, *values: Any, read: Callable[[Any], _T] = whatever
    ) -> Question[_T]:
        """One notification's script."""
        return script.question((self._key(id), self._marker), values, read)

    def _settling(self, id: str, claim: Claimed, *told: Any) -> Question[list[Any]]:
        values = (claim.owner, claim.generation, claim.attempt, *told, self._seen)
        return self._about(self._settle, id, *values)

    def _done(self, step: Question[list[Any]], beside: Sequence[Question[Any]]) -> bool:
        """Whether a step was done, which it is where the claim is still ours."""
        self._line.ask(step, *beside)
        return bool(self._counted(step.answer)[0] == "ok")

    def _replicated(self, *questions: Question[Any]) -> int:
        """Asks, and says how many replicas lack what that wrote."""
        with translated():
            wanted = self._replication.awaited()
        if not wanted:
            return self._line.ask(*questions)
        return max(0, wanted - self._slow_line.ask(*questions, replicas=wanted))

    def _counted(self, counted: list[Any]) -> list[Any]:
        """The answer of a script that counts the ledger's steps, without the count."""
        steps, *answer = counted
        # Threads may pass each other here: a lower value is only remembered a moment longer.
        self._seen = max(self._seen, steps)
        return answer


def _too_few(lacking: int) -> LedgerUnavailable:
    return LedgerUnavailable(f"Redis: a claim did not reach {lacking} more replicas in time")


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
