"""RedBeat's keys in Redis, read and written many at once: names and texts, no meaning."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from notify.config import Settings
from notify.redisclient import open_redis, translated
from notify.schedule import scripts

_FIELDS: Final = ("definition", "meta", "v", "w", "o", "x", "r", "a")
# Scores that are never due, as RedBeat has it for all below zero.
PAUSED: Final = -1.0
OVER: Final = -2.0
_REST: Final = "rest "
# Read in one answer: so many entries, or so many bytes.
_MANY: Final = 1000
_MOST_BYTES: Final = 4_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """An entry as it is written: see ``scripts``. ``v`` "0" is RedBeat's own form."""

    name: str
    definition: str
    meta: str = ""
    v: str = "0"
    w: str = ""
    o: str = ""
    x: str = ""
    r: str = ""
    a: str = ""
    score: float | None = None
    """None where it is in quarantine, or was not asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Glance:
    """One look at what is due: names, the score that comes after them, and Redis's clock."""

    names: tuple[str, ...]
    following: float | None
    time: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """An entry goes on to ``watermark``; ``score`` None at its end."""

    name: str
    version: str
    was: str
    watermark: int
    score: float | None
    meta: str
    through: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Delay:
    """An entry that could not be fired is looked at again at ``score``."""

    name: str
    version: str
    score: float
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How many there are: all, and of these how many are paused or in quarantine."""

    stored: int
    paused: int
    quarantined: int


class Shelf:
    """Thread-safe. Methods raise ``LedgerUnavailable``; each is one round trip or two."""

    def __init__(self, settings: Settings) -> None:
        redis = settings.redis
        self.prefix = f"{redis.prefix}:beat:"
        # An entry that is broken must not break reading the others.
        self.redis: Any = open_redis(redis.url, redis.timeout, errors="surrogateescape")
        register = self.redis.register_script
        self._put = register(scripts.PUT)
        self._remove = register(scripts.REMOVE)
        self._advance = register(scripts.ADVANCE)
        self._later = register(scripts.LATER)
        self._quarantine = register(scripts.QUARANTINE)
        self._release = register(scripts.RELEASE)
        self._try = register(scripts.TRY)
        self._read = register(scripts.READ)
        tails = ("schedule", "lock", "names", "versions", "quarantine", "reasons", "stamp")
        self._shared = tuple(f"{self.prefix}:{tail}" for tail in tails)
        self._due, self.lock, self._names, _, self._set_aside, self._reasons, self._stamp = (
            self._shared
        )

    def close(self) -> None:
        self.redis.close()

    def key(self, name: str) -> str:
        return self.prefix + name

    def look(self, now: float, limit: int, *, skip: int = 0) -> Glance:
        """What is due, soonest first, and how soon there is something else."""
        with translated(), self.redis.pipeline(transaction=False) as pipe:
            pipe.zrangebyscore(self._due, 0, now, start=skip, num=limit)
            pipe.zrangebyscore(self._due, f"({now!r}", "+inf", start=0, num=1, withscores=True)
            pipe.time()
            due, following, (seconds, micros) = pipe.execute()
        return Glance(
            names=tuple(self._name(key) for key in due),
            following=following[0][1] if following else None,
            time=seconds + micros / 1e6,
        )

    def read(self, names: Sequence[str], *, scores: bool = False) -> list[Written | None]:
        """All of them; None for each without a definition."""
        found: list[Written | None] = []
        while len(found) < len(names):
            found += self.read_some(names[len(found) :][:_MANY])
        if scores and names:
            with translated():
                at = self.redis.zmscore(self._due, [self.key(name) for name in names])
            found = [
                each and replace(each, score=score) for each, score in zip(found, at, strict=True)
            ]
        return found

    def read_some(self, names: Sequence[str]) -> list[Written | None]:
        """The first of them, as many as are not too large together; one at least."""
        if not names:
            return []
        with translated():
            answer = self._read(keys=[self.key(n) for n in names], args=[_MOST_BYTES, *_FIELDS])
        rows: Any = json.loads(answer)
        return [_written(name, row) for name, row in zip(names, rows, strict=False)]

    def put(self, entry: Written, *, expected: str, score: float) -> str:
        """``expected`` is the version that is replaced, "" for none: ok, exists, changed, gone."""
        return self.put_many([(entry, expected, score)])[0]

    def put_many(self, rows: Sequence[tuple[Written, str, float]]) -> list[str]:
        named = [(entry.name, _put(entry, expected, at)) for entry, expected, at in rows]
        return self._run(self._put, named)

    def remove(self, name: str) -> bool:
        with translated():
            return bool(self._remove(keys=self._keys(name), args=[name]))

    def advance(self, token: str, steps: Sequence[Step]) -> list[str]:
        """What came of each: ok, ended, edited, moved, gone or fenced. ``token`` is the
        leader's; "" for whoever fires by hand."""
        if not steps:
            return []
        rows = json.dumps([_advance(step) for step in steps])
        with translated():
            answers = self._advance(keys=self._keys(""), args=[token, self.prefix, rows])
        return [str(answer) for answer in answers]

    def later(self, token: str, delays: Sequence[Delay]) -> list[str]:
        rows = [(d.name, [d.name, token, d.version, repr(d.score), d.why]) for d in delays]
        return self._run(self._later, rows)

    def quarantine(self, token: str, name: str, version: str, now: float, why: str) -> str:
        """ok; edited or gone, where it is another one now; fenced."""
        arguments = [name, token, version, repr(now), why]
        return self._run(self._quarantine, [(name, arguments)])[0]

    def release(self, name: str, version: str, score: float) -> str:
        return self._run(self._release, [(name, [name, version, repr(score)])])[0]

    def first_tries(self, token: str, rows: Sequence[tuple[str, str]], now: int) -> list[str]:
        """When those names with versions were first tried since they last went on: now, unless
        it was before; "edited" or "fenced" where that is no longer ours to say."""
        named = [(name, [name, token, version, now]) for name, version in rows]
        return self._run(self._try, named)

    def counts(self) -> Counts:
        with translated(), self.redis.pipeline(transaction=False) as pipe:
            pipe.zcard(self._due)
            pipe.zcount(self._due, "-inf", "(0")
            pipe.zcard(self._set_aside)
            scheduled, paused, aside = pipe.execute()
        return Counts(stored=scheduled + aside, paused=paused, quarantined=aside)

    def by_name(self, after: str, limit: int) -> list[str]:
        """The names behind one, in the order of their characters."""
        low = f"({after}" if after else "-"
        with translated():
            return list(self.redis.zrangebylex(self._names, low, "+", start=0, num=limit))

    def by_time(self, after: str, limit: int) -> tuple[list[str], str]:
        """The soonest behind a place, then those at rest; and the place of the last one, "" at
        the end."""
        names: list[str] = []
        place = after
        with translated():
            if not after.startswith(_REST):
                start = self._rank(after)
                found = self.redis.zrange(self._due, start, start + limit - 1, withscores=True)
                names = [self._name(key) for key, _ in found]
                place = f"{found[-1][1]!r} {names[-1]}" if len(names) == limit else f"{_REST}0"
            if len(names) < limit:
                skip = int(place.removeprefix(_REST))
                resting = self._resting(skip, limit - len(names))
                names += resting
                place = f"{_REST}{skip + len(resting)}" if len(names) == limit else ""
        return names, place

    def _resting(self, skip: int, limit: int) -> list[str]:
        found = self.redis.zrevrangebyscore(self._due, "(0", "-inf", start=skip, num=limit)
        return [self._name(key) for key in found]

    def _rank(self, after: str) -> int:
        """Where to go on, although what was there last may have moved."""
        score, _, name = after.partition(" ")
        if not name:
            return int(self.redis.zcount(self._due, "-inf", "(0"))
        if self.redis.zscore(self._due, self.key(name)) == float(score):
            return int(self.redis.zrank(self._due, self.key(name)) or 0) + 1
        return int(self.redis.zcount(self._due, "-inf", f"({score}"))

    def set_aside(self, skip: int, limit: int) -> list[tuple[str, float, str]]:
        """Names in quarantine, since when, and why; those first that are there longest."""
        with translated():
            found = self.redis.zrange(self._set_aside, skip, skip + limit - 1, withscores=True)
            names = [name for name, _ in found]
            reasons = self.redis.hmget(self._reasons, names) if names else []
        return [(name, at, why or "") for (name, at), why in zip(found, reasons, strict=True)]

    def reasons(self, names: Sequence[str]) -> list[str | None]:
        with translated():
            return list(self.redis.hmget(self._reasons, list(names))) if names else []

    def scan(self, cursor: int, count: int) -> tuple[int, list[str]]:
        """Some of all entries that have a due time; over when the cursor is 0 again."""
        with translated():
            following, found = self.redis.zscan(self._due, cursor, count=count)
        return int(following), [self._name(key) for key, _ in found]

    def note_form(self) -> None:
        """All entries are in our form by now."""
        with translated():
            self.redis.set(f"{self.prefix}:form", 2)

    def has_form(self) -> bool:
        with translated():
            return bool(self.redis.exists(f"{self.prefix}:form"))

    def stamp(self) -> str:
        """ "" where no schedule was ever stored here, or all was lost."""
        with translated():
            return str(self.redis.get(self._stamp) or "")

    def _run(self, script: Any, rows: Sequence[tuple[str, list[Any]]]) -> list[str]:
        if not rows:
            return []
        with translated(), self.redis.pipeline(transaction=False) as pipe:
            # One that a restart of Redis has forgotten is loaded again by redis-py.
            for name, arguments in rows:
                script(keys=self._keys(name), args=arguments, client=pipe)
            return [str(answer) for answer in pipe.execute()]

    def _keys(self, name: str) -> list[str]:
        return [self.key(name), *self._shared]

    def _name(self, key: str) -> str:
        return str(key).removeprefix(self.prefix)


def _put(entry: Written, expected: str, score: float) -> list[Any]:
    values = (entry.name, expected, entry.definition, entry.meta, entry.w, repr(score))
    return [*values, entry.o, entry.r, uuid.uuid4().hex]


def _advance(step: Step) -> list[str]:
    score = "" if step.score is None else repr(step.score)
    head = [step.name, step.version, step.was, str(step.watermark)]
    return [*head, score, step.meta, str(step.through)]


def _written(name: str, row: Any) -> Written | None:
    if not row:
        return None
    values: dict[str, Any] = {f: value or "" for f, value in zip(_FIELDS, row, strict=True)}
    values["v"] = values["v"] or "0"
    return Written(name=name, **values)
