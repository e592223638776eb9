"""The limits over a Redis connection."""

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

from notify.config.limits import BreakerSettings, LimitSettings, ThrottleSettings
from notify.errors import InvalidInput
from notify.limits import breaking, pacing, throttling
from notify.limits.connection import Connection, micros
from notify.limits.days import day_starts
from notify.limits.values import Account, Denied, Granted, Mode, Sample, State, read_state
from notify.redisclient import Question, Script

LONGEST_HOLD = 300.0
_SHORTEST_HOLD = 0.05
_NOTHING = Sample()


class Limits:
    """What may be sent now, and through whom, for all processes that share the Redis server.

    Thread-safe. Every method is one atomic step, by the Redis server's clock, and raises
    ``LedgerUnavailable``. Times are seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "notify",
        timeout: float = 2.0,
        clock: Callable[[], float] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """``clock`` takes the place of the Redis server's; ``chance`` is within 0 and 1."""
        self._prefix = prefix
        self._clock = clock or time.time
        self._chance = chance
        self._connection = Connection(url, timeout=timeout, clock=clock)
        self._reserve = Script(pacing.RESERVE)
        self._release = Script(pacing.RELEASE)
        self._slow_down = Script(pacing.SLOW_DOWN)
        self._throttle = Script(throttling.THROTTLE)
        self._report = Script(breaking.REPORT)
        self._states = Script(breaking.STATES)
        self._probe = Script(breaking.PROBE)
        self._set_mode = Script(breaking.SET_MODE)

    def reserve(
        self,
        account: Account,
        limits: LimitSettings,
        *,
        cost: float,
        urgent: bool,
        lease: float,
        unless: str | None = None,
    ) -> Granted | Denied:
        """Takes a turn to send, from all limits or from none.

        Slots are given out a little ahead, so that threads that wake up late do not lower
        the rate: 0.25 s for normal notifications and 5 s for urgent ones, which therefore
        wait for what normal ones took within that quarter second (and for the message that
        took the last of it, where one costs more). ``cost`` is in units of the rate and of
        the daily cap. The token in flight ends by itself ``lease`` seconds after the slot.
        Where there is a key ``unless`` in Redis, nothing is given out.
        """
        token = f"{random.getrandbits(96):024x}"
        keys = self._keys(account, "pace", "normal", "urgent")
        if unless is not None:
            keys.append(unless)
        values = (token, int(urgent), cost, micros(lease), *self._bounds(limits))
        answer = self._connection.run(self._reserve, keys, values)
        what, wait = answer[0], answer[1] / 1e6
        if what == "concurrency":
            return Denied(why=what, wait=0.05 + 0.2 * self._chance())
        if what != "granted":
            return Denied(why=what, wait=max(wait, 0.001))
        day, before, after = answer[2:]
        return Granted(
            wait=wait, token=token, urgent=urgent, cost=cost, day=day, before=before, after=after
        )

    def release(
        self, account: Account, granted: Granted, limits: LimitSettings, *, unused: bool
    ) -> None:
        """The send is over, or (``unused``) was not needed; to be called once.

        What was not used is given back: the daily count, and the slot if it is still the
        last that was given out.
        """
        self._connection.ask(self.asking_release(account, granted, limits, unused=unused))

    def asking_release(
        self,
        account: Account,
        granted: Granted,
        limits: LimitSettings,
        *,
        unused: bool,
        needed: bool = True,
    ) -> list[Question[Any]]:
        """What ``release`` does, if anything, to be done beside something else."""
        taken = granted.day or granted.after
        if limits.concurrency is None and not (unused and taken):
            return []
        priority = "urgent" if granted.urgent else "normal"
        count = "du" if granted.urgent else "dn"
        taken_then = granted.day, granted.before, granted.after
        values = (granted.token, int(unused), granted.cost, count, *taken_then)
        keys = self._keys(account, "pace", priority)
        return [self._connection.asking(self._release, keys, values, needed=needed)]

    def slow_down(
        self, account: Account, limits: LimitSettings, *, retry_after: float | None
    ) -> None:
        """The provider said that it gets too much (HTTP 429, SMTP 421).

        Nothing is granted for ``retry_after`` seconds (1 if not told, 300 at most). The rate
        is halved, at most once a second and once a hold, down to a twentieth; within a
        minute after the hold it grows back. Where no rate is configured, it is the measured
        one, at least 1/s, in sends.
        """
        wanted = retry_after if retry_after and retry_after > 0 else 1.0
        hold = max(_SHORTEST_HOLD, min(wanted, LONGEST_HOLD))
        rate = "" if limits.rate is None else limits.rate
        keys = self._keys(account, "pace", "breaker")
        self._connection.run(self._slow_down, keys, (micros(hold), rate))

    def throttle(
        self,
        channel: str,
        recipient: str,
        digest: str,
        id: str,
        settings: ThrottleSettings,
        *,
        unless: str | None = None,
    ) -> float:
        """Counts a notification for its recipient: 0.0, or the seconds until there is room.

        Where any window is full nothing is counted, and what is counted is not counted
        again: a retry and a duplicate have the ``id`` of the first. Nor is it where there is
        a key ``unless`` in Redis.
        """
        keys: list[str] = []
        values: list[Any] = [id]
        windows = {(): settings.per_recipient, (digest,): settings.same_content}
        for content, wanted in windows.items():
            if wanted:
                keys.append(f"{self._prefix}:t:{_hash(channel, recipient, *content)}")
                values.append(len(wanted))
                values += [n for w in wanted for n in (w.messages, micros(w.per))]
        if not keys:
            return 0.0
        if unless is not None:
            keys.append(unless)
        return float(self._connection.run(self._throttle, keys, values)) / 1e6

    def report(
        self,
        channel: str,
        samples: Mapping[str, Sample],
        settings: Mapping[str, BreakerSettings],
    ) -> dict[str, State]:
        """Adds what a process has seen; the states of all providers in ``settings``.

        A closed breaker opens by its settings. When its time is over it is half open, and
        only the outcome of a probe (``try_probe``) closes it, or opens it again for twice
        as long. Once it has been closed for a window, the next time is the first again.
        """
        values: list[Any] = []
        for name, breaker in settings.items():
            values += _sample(samples.get(name, _NOTHING)) + _rules(breaker)
        return self._read(self._report, channel, settings, values)

    def states(self, channel: str, names: Iterable[str]) -> dict[str, State]:
        """The states of these providers, changing nothing."""
        return self._read(self._states, channel, list(names), [])

    def try_probe(self, account: Account, owner: str, seconds: float) -> bool:
        """Whether ``owner`` may send one notification through a half-open breaker.

        Nobody else may for so many seconds, or until the probe's outcome is reported.
        """
        keys = self._keys(account, "breaker")
        return bool(self._connection.run(self._probe, keys, (owner, micros(seconds))))

    def set_mode(
        self, account: Account, mode: Mode, *, by: str, until_seconds: float | None = None
    ) -> None:
        """Writes the operator's choice down: until it is changed, or for so many seconds.

        ``by`` is who and why, to be shown. Raises ``InvalidInput``.
        """
        if mode not in get_args(Mode):
            raise InvalidInput(f"mode: must be one of {', '.join(get_args(Mode))}")
        if not by.isprintable() or len(by) > 64:
            raise InvalidInput("by: must be printable, and at most 64 characters")
        if until_seconds is not None and until_seconds <= 0:
            raise InvalidInput("until: must be in the future")
        until = "" if until_seconds is None else micros(until_seconds)
        self._connection.run(self._set_mode, self._keys(account, "mode"), (mode, by, until))

    def close(self) -> None:
        self._connection.close()

    def _keys(self, account: Account, *names: str) -> list[str]:
        own = f"{self._prefix}:a:{account.channel}:{account.provider}"
        return [f"{own}:{name}" for name in names]

    def _read(
        self, script: Script, channel: str, names: Iterable[str], values: Sequence[Any]
    ) -> dict[str, State]:
        keys = []
        for name in names:
            account = Account(channel=channel, provider=name)
            keys += self._keys(account, "breaker", "pace", "normal", "urgent", "mode")
        states = map(read_state, self._connection.run(script, keys, values))
        return dict(zip(names, states, strict=True))

    def _bounds(self, limits: LimitSettings) -> list[Any]:
        """The limits as the script wants them: empty where there is none."""
        bounds: list[Any] = ["" if limits.rate is None else limits.rate, limits.burst]
        for most in (limits.concurrency, limits.daily):
            bounds += ("", "") if most is None else (most, limits.for_normal(most))
        if limits.daily is not None:
            bounds += day_starts(limits.daily_zone, self._clock())
        return bounds


def _hash(*parts: str) -> str:
    """A recipient has no place in a key, which is shown, logged and dumped."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _sample(sample: Sample) -> list[Any]:
    counts = [sample.ok, sample.failed, sample.late_ok, sample.late_failed]
    return [*counts, micros(sample.seconds), sample.probed or ""]


def _rules(breaker: BreakerSettings) -> list[Any]:
    times = [micros(breaker.open_for), micros(breaker.longest)]
    rules = [micros(breaker.window), breaker.minimum, breaker.error_rate]
    return [int(breaker.enabled), *rules, *times]
