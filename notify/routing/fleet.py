"""The providers of one channel as all workers see them: modes, breakers, permits to try."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import Final

from notify.config import AnyProvider
from notify.errors import LedgerUnavailable
from notify.limits import Account, Limits, Sample, State
from notify.routing.choice import Availability, Standing, why_none
from notify.routing.tally import Tally
from notify.telemetry import event

log = logging.getLogger(__name__)

_REPORT_EVERY: Final = 1.0
# So many failures are told at once: with every further second there would be more.
_MANY: Final = 5
# How long a permit that somebody else has is not asked for again.
_ASK_AGAIN: Final = 1.0


# Standings, and what they were made of.
_Known = tuple[Mapping[str, State], Mapping[str, AnyProvider], Sequence[Standing]]


class Opening(Enum):
    """How far the consumer of a channel may be open."""

    CLOSED = auto()
    TRIAL = auto()
    """For one message: a provider's breaker is half open."""
    OPEN = auto()


class Fleet:
    """Thread-safe. ``owner`` names this worker; ``lease`` is longer than any send, in seconds."""

    def __init__(
        self,
        channel: str,
        providers: Sequence[AnyProvider],
        limits: Limits,
        *,
        owner: str,
        lease: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.channel = channel
        self._providers = {provider.name: provider for provider in providers}
        self._limits = limits
        self._owner = owner
        self._lease = lease
        self._clock = clock
        self._states: Mapping[str, State] = {}
        self._exhausted: dict[tuple[str, bool], float] = {}
        self._known: dict[bool, _Known] = {}
        self._ask_again: dict[str, float] = {}
        self._permit_lock = threading.Lock()
        self._tally = Tally()
        self._wake = threading.Event()
        self._reporting = threading.Lock()

    def adopt(self, providers: Sequence[AnyProvider]) -> None:
        """The same ones from now on, with other settings or in another order."""
        self._providers = {provider.name: provider for provider in providers}

    def start(self) -> None:
        """Learns how the providers are, and reports once a second from now on."""
        with suppress(LedgerUnavailable):
            self.report()
        threading.Thread(target=self._run, name="providers", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._wake.wait(_REPORT_EVERY)
            self._wake.clear()
            # Claims need Redis as well: they say it when it is away.
            with suppress(LedgerUnavailable):
                self.report()

    def report(self) -> None:
        """Tells what was seen since the last time, and learns what the other workers saw.

        Raises ``LedgerUnavailable``; what was seen is told the next time then.
        """
        with self._reporting:
            samples = self._tally.take()
            breakers = {name: each.breaker for name, each in self._providers.items()}
            try:
                states = self._limits.report(self.channel, samples, breakers)
            except LedgerUnavailable:
                self._tally.put_back(samples)
                raise
            for name, state in states.items():
                self._log_change(name, self._states.get(name), state)
            self._states = states

    def _log_change(self, name: str, before: State | None, now: State) -> None:
        was = (before.breaker, before.mode) if before else ("closed", "enabled")
        if was != (now.breaker, now.mode):
            fields = {"breaker": now.breaker, "mode": now.mode, "by": now.by}
            log.warning(
                "provider changed", extra=event(channel=self.channel, provider=name, **fields)
            )

    def note(
        self, name: str, *, failed: bool, seconds: float, breaker_turn: int, trial: bool
    ) -> None:
        """One send has ended, which began in that turn of the provider's breaker.

        What came of a trial is told at once.
        """
        late = breaker_turn != self.breaker_turn(name)
        sample = Sample(
            ok=int(not failed and not late),
            failed=int(failed and not late),
            late_ok=int(not failed and late),
            late_failed=int(failed and late),
            seconds=seconds,
            probed=("failed" if failed else "ok") if trial else None,
        )
        if self._tally.add(name, sample) >= _MANY:
            self._wake.set()
        if trial:
            self.return_permit(name)
            with suppress(LedgerUnavailable):
                self.report()

    @property
    def names(self) -> Collection[str]:
        """Of all providers."""
        return self._providers.keys()

    def breaker_open(self, name: str) -> bool:
        """Whether the provider counts as down, half-open included."""
        state = self._states.get(name)
        return state is not None and state.breaker != "closed"

    def breaker_turn(self, name: str) -> int:
        state = self._states.get(name)
        return state.turn if state else 0

    def exhaust(self, name: str, *, urgent: bool, seconds: float) -> None:
        """The provider's daily cap is reached for this priority, for so long."""
        self._exhausted[name, urgent] = self._clock() + seconds

    def slowed(self, name: str) -> bool:
        """Whether the provider has lately asked for less."""
        state = self._states.get(name)
        return state is not None and state.slowed

    def standings(self, urgent: bool) -> Sequence[Standing]:
        """Every provider, in the order of the configuration."""
        states, providers = self._states, self._providers
        now = self._clock()
        if any(now < until for until in list(self._exhausted.values())):
            return self._stand(providers, urgent)
        # They change with a report, and are asked for with each message.
        known = self._known.get(urgent)
        if known is None or known[0] is not states or known[1] is not providers:
            known = self._known[urgent] = states, providers, self._stand(providers, urgent)
        return known[2]

    def _stand(self, providers: Mapping[str, AnyProvider], urgent: bool) -> Sequence[Standing]:
        return [
            Standing(name=name, weight=each.weight, availability=self._availability(name, urgent))
            for name, each in providers.items()
        ]

    def _availability(self, name: str, urgent: bool) -> Availability:
        state = self._states.get(name)
        if state is not None and state.mode == "disabled":
            return Availability.DISABLED
        if state is not None and state.breaker == "open":
            return Availability.BREAKER_OPEN
        if self._clock() < self._exhausted.get((name, urgent), 0.0):
            return Availability.EXHAUSTED
        if state is not None and state.mode == "draining":
            return Availability.DRAINING
        if state is not None and state.breaker == "half_open":
            return Availability.ON_TRIAL
        return Availability.USABLE

    def take_permit(self, name: str) -> bool:
        """Whether a message of this worker may try a half-open provider.

        No other may, here or elsewhere, until ``note`` tells what came of it, or the message
        was not sent after all (``return_permit``). Raises ``LedgerUnavailable``.
        """
        with self._permit_lock:
            if self._clock() < self._ask_again.get(name, 0.0):
                return False
            account = Account(channel=self.channel, provider=name)
            granted = self._limits.try_probe(account, self._owner, self._lease)
            pause = self._lease if granted else _ASK_AGAIN
            self._ask_again[name] = self._clock() + pause
            return granted

    def return_permit(self, name: str) -> None:
        """Another message of this worker may have it."""
        with self._permit_lock:
            self._ask_again.pop(name, None)

    def opening(self, urgent: bool) -> tuple[Opening, str]:
        """How far the consumer may be open, and why not further.

        Raises ``LedgerUnavailable``.
        """
        self.report()
        standings = self.standings(urgent)
        for opening, wanted in (
            (Opening.OPEN, Availability.USABLE),
            (Opening.TRIAL, Availability.ON_TRIAL),
        ):
            if any(each.availability is wanted for each in standings):
                return opening, why_none(standings)
        return Opening.CLOSED, why_none(standings)
