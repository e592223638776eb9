"""The ledger over a Redis connection."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, cast

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
    read_record,
    sent_text,
)
from notify.message import Envelope
from notify.outcomes import Receipt
from notify.redisclient import open_redis, translated

_PROGRESS_KEPT = 7 * 86400


class Ledger:
    """What happened to each notification. Thread-safe. Methods raise ``LedgerUnavailable``."""

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
        # Half of the time, so that the answer still comes within the timeout of the socket.
        self._replication = Replication(self._redis, replicas, timeout=timeout / 2)
        self._many = Many(self._redis, self._key)
        register = self._redis.register_script
        self._claim = register(scripts.CLAIM)
        self._settle = register(scripts.SETTLE)
        self._clear = register(scripts.CLEAR)
        self._read = register(scripts.READ)
        self._mark = register(scripts.MARK)
        self._probe = register(scripts.PROBE)
        self._offer = register(scripts.OFFER)
        self._release = register(scripts.RELEASE)
        self._erase = register(ERASE)

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
    ) -> Claim:
        """Takes the right to send, for ``lease`` seconds, or says why not.

        Repeating a claim with the same ``owner`` after a lost answer is safe.
        ``redelivered`` is the broker's word that the message was handed out before;
        ``provider`` is who shall get it, and ``rung`` how many seconds to wait before an
        attempt is repeated whose worker died.
        """
        id = envelope.notification.id
        arguments = [
            owner,
            envelope.generation,
            envelope.attempt,
            envelope.notification.digest,
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
        ]
        with translated():
            keys = [self._key(id), self._marker]
            answer, lacking = self._replication.run(self._claim, keys, arguments)
        claim = read_claim(owner, self._counted(answer))
        if lacking and isinstance(claim, Claimed):
            self.release(id, claim)
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
    ) -> bool:
        """Goes on to another provider within the claim; False when it was no longer ours."""
        arguments = (claim.owner, claim.generation, claim.attempt, failed.to_json(), provider)
        values = (*arguments, _ms(lease), _ms(retention), self._seen)
        return bool(self._step(self._offer, id, *values)[0] == "ok")

    def release(self, id: str, claim: Claimed) -> None:
        """Gives a claim back under which nothing was sent: whoever comes next may send."""
        self._run(self._release, id, claim.owner, claim.generation, claim.attempt)

    def settle_sent(
        self, id: str, claim: Claimed, *, digest: str, receipt: Receipt, retention: float
    ) -> bool:
        """Writes a delivery; False when the claim was no longer ours."""
        text = sent_text(
            claim.generation, claim.attempt, digest, receipt.provider, receipt.provider_id
        )
        return self._settled(id, claim, "sent", "", "", retention, text)

    def settle_step(
        self,
        id: str,
        claim: Claimed,
        *,
        state: str,
        attempt: AttemptRecord,
        step: NextStep,
        retention: float,
    ) -> bool:
        """Writes an outcome and its next step, which counts as unpublished until ``clear``."""
        return self._settled(id, claim, state, attempt.to_json(), step.to_json(), retention, "")

    def _settled(
        self,
        id: str,
        claim: Claimed,
        state: str,
        attempt: str,
        step: str,
        retention: float,
        text: str,
    ) -> bool:
        arguments = (claim.owner, claim.generation, claim.attempt, state, attempt, step)
        values = (*arguments, _ms(retention), text, self._seen)
        return bool(self._step(self._settle, id, *values)[0] == "ok")

    def clear(self, id: str, generation: int, attempt: int) -> None:
        """The next step of this attempt has been confirmed by the broker."""
        self._run(self._clear, id, generation, attempt)

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
        kind, *values = self._run(self._read, id)
        if kind == "none":
            return None
        fields = dict(zip(values[::2], values[1::2], strict=True)) if kind == "hash" else values[0]
        return read_record(id, fields)

    def attempts(self, id: str) -> tuple[dict[str, Any], ...]:
        record = self.record(id)
        return record.attempts if record else ()

    def erase(self, id: str) -> bool:
        """Forgets what providers said about it; False where nothing is known of it."""
        return bool(self._run(self._erase, id))

    def mark(self) -> None:
        """Begins to watch for lost keys; a later call changes nothing.

        Done when the topology is declared: no notification can be older than that.
        """
        self._step(self._mark, "", self._seen)

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
        with translated():
            _, lacking = self._replication.run(self._probe, [f"{self._prefix}:probe"], [])
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
        self._redis.close()

    def _key(self, id: str) -> str:
        return f"{self._prefix}:n:{id}"

    def _run(self, script: Callable[..., Any], id: str, *arguments: Any) -> Any:
        with translated():
            return script(keys=[self._key(id), self._marker], args=list(arguments))

    def _step(self, script: Callable[..., Any], id: str, *arguments: Any) -> list[Any]:
        """Runs a script that counts the ledger's steps; its answer without the count."""
        return self._counted(self._run(script, id, *arguments))

    def _counted(self, counted: Any) -> list[Any]:
        steps, *answer = cast("list[Any]", counted)
        # Threads may pass each other here: a lower value is only remembered a moment longer.
        self._seen = max(self._seen, steps)
        return answer


def _too_few(lacking: int) -> LedgerUnavailable:
    return LedgerUnavailable(f"Redis: a claim did not reach {lacking} more replicas in time")


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
