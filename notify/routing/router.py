"""Gives each notification its turn with a provider."""

import logging
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from notify.channels import Provider
from notify.config import AnyProvider, ChannelSettings, ThrottleSettings
from notify.errors import LedgerUnavailable
from notify.limits import Account, Denied, Granted, Limits
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, Outcome
from notify.redisclient import Question
from notify.routing.choice import Availability, Barred, NoProvider, Standing, in_order, why_none
from notify.routing.cost import cost
from notify.routing.fleet import Fleet
from notify.routing.lanes import Lane, Lanes
from notify.spelling import canonical
from notify.telemetry import event

log = logging.getLogger(__name__)

# A waiting thread looks up so often whether it shall stop, or go elsewhere.
_LOOK_UP: Final = 1.0
# Below RabbitMQ's consumer timeout of 30 minutes, which would close the channel for all.
_LONGEST_WAIT: Final = 1200.0
# Between two providers the claim's lease runs.
_SHORT_WAIT: Final = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """The right to hand one notification to one provider now."""

    provider: Provider
    granted: Granted | None = None
    breaker_turn: int = 0
    trial: bool = False

    @property
    def name(self) -> str:
        return self.provider.name


class Router:
    """The providers of one channel, for the threads of one worker. Thread-safe.

    ``pause`` waits that many seconds and answers whether the worker is stopping. ``bar`` names
    what is in Redis while a notification must not be sent: then nothing is taken for it.
    """

    def __init__(
        self,
        fleet: Fleet,
        providers: Mapping[str, tuple[Provider, AnyProvider]],
        limits: Limits,
        *,
        lease: float,
        throttle: ThrottleSettings,
        pause: Callable[[float], bool],
        bar: Callable[[Notification], str] | None = None,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.fleet = fleet
        self._lanes = Lanes.of(providers)
        self._limits = limits
        self._lease = lease
        self._throttle = throttle
        self._pause = pause
        self._bar = bar
        self._draw = draw
        self._clock = clock

    def adopt(self, settings: ChannelSettings) -> None:
        """The same providers, perhaps in another order, with other limits."""
        self._lanes = self._lanes.adopt(settings.providers)
        self._throttle = settings.throttle
        self.fleet.adopt(settings.providers)

    def throttled(self, notification: Notification) -> float:
        """Seconds until its recipient may have one more; 0 where it may now, or never.

        Raises ``LedgerUnavailable``.
        """
        settings = self._throttle
        if not (settings.per_recipient or settings.same_content):
            return 0.0
        return self._limits.throttle(
            notification.channel,
            canonical(notification.channel, notification.recipient),
            notification.digest,
            notification.id,
            settings,
            unless=self._barred_by(notification),
        )

    def _barred_by(self, notification: Notification) -> str | None:
        return None if self._bar is None else self._bar(notification)

    def problem(self, notification: Notification) -> str | None:
        """Why no provider will ever send it."""
        return self._lanes.problem(notification)

    def turn(self, notification: Notification, *, pinned: str = "", holding: bool = False) -> Turn:
        """Waits for a turn with the best provider.

        Raises ``NoProvider`` when none may be used (``holding``: only after twenty minutes of
        that, or when others could be) or the worker is stopping, ``Barred`` where that is found
        out on the way, and ``LedgerUnavailable``.
        """
        give_up = self._clock() + _LONGEST_WAIT
        while self._clock() < give_up:
            turn, wait = self._try(notification, pinned, (), _LOOK_UP)
            if turn is not None:
                return self._when_it_comes(turn)
            if wait is None and not (holding and self._its_trial(notification)):
                raise self._none(notification)
            if self._pause(_LOOK_UP if wait is None else wait):
                raise NoProvider("the worker is stopping")
        raise NoProvider("its turn did not come in twenty minutes")

    def _its_trial(self, notification: Notification) -> bool:
        """Whether it keeps no provider waiting that is on trial and not for its recipient."""
        own = self._lanes.candidates(notification)
        standings = self.fleet.standings(notification.priority == "urgent")
        ready = (Availability.USABLE, Availability.ON_TRIAL)
        return not any(s.availability in ready for s in standings if s.name not in own)

    def _none(self, notification: Notification) -> NoProvider:
        standings = self.fleet.standings(notification.priority == "urgent")
        usable = any(each.availability is Availability.USABLE for each in standings)
        everywhere = not usable and self._its_trial(notification)
        return NoProvider(why_none(standings), everywhere=everywhere)

    def next_turn(self, notification: Notification, tried: Collection[str]) -> Turn | None:
        """A turn with another provider, if one can be had at once.

        Raises ``LedgerUnavailable``.
        """
        with suppress(NoProvider, Barred):
            turn, _ = self._try(notification, "", tried, 0.0)
            if turn is None or turn.granted is None or turn.granted.wait <= _SHORT_WAIT:
                return turn and self._when_it_comes(turn)
            self.give_back(turn)
        return None

    def _try(
        self, notification: Notification, pinned: str, tried: Collection[str], patience: float
    ) -> tuple[Turn | None, float | None]:
        """A turn, or how long to wait before the next try; neither where no provider is left."""
        own = self._lanes.candidates(notification)
        everyone = self.fleet.standings(notification.priority == "urgent")
        standings = [each for each in everyone if each.name in own]
        for standing in in_order(standings, pinned=pinned, tried=tried, draw=self._draw()):
            answer = self._ask(standing, notification, patience)
            if isinstance(answer, Turn):
                return answer, 0.0
            if answer is not None and patience:
                return None, answer
        return None, None

    def _ask(
        self, standing: Standing, notification: Notification, patience: float
    ) -> Turn | float | None:
        """A turn, seconds to wait for one, or None where there is none to be had."""
        lane = self._lanes[standing.name]
        if standing.availability is not Availability.ON_TRIAL:
            return self._slot(lane, notification, patience)
        if not self.fleet.take_permit(standing.name):
            return None
        answer = None
        try:
            answer = self._slot(lane, notification, patience)
        finally:
            if not isinstance(answer, Turn):
                self.fleet.return_permit(standing.name)
        return replace(answer, trial=True) if isinstance(answer, Turn) else answer

    def _slot(self, lane: Lane, notification: Notification, patience: float) -> Turn | float | None:
        if not (lane.limited or self.fleet.slowed(lane.settings.name)):
            return self._turn(lane, None)
        if not lane.short:
            return self._next_slot(lane, notification, patience)
        # One thread at a time asks; the others would ask in vain.
        if not lane.lock.acquire(timeout=patience):
            return 0.0
        try:
            return self._next_slot(lane, notification, patience)
        finally:
            lane.lock.release()

    def _next_slot(
        self, lane: Lane, notification: Notification, patience: float
    ) -> Turn | float | None:
        answer = self._reserve(lane, notification)
        lane.short = not isinstance(answer, Granted) or answer.wait > 0
        if isinstance(answer, Granted):
            return self._turn(lane, answer)
        if answer is not None and patience:
            self._pause(min(answer, patience))
            return 0.0
        return answer

    def _turn(self, lane: Lane, granted: Granted | None) -> Turn:
        turn = self.fleet.breaker_turn(lane.settings.name)
        return Turn(provider=lane.provider, granted=granted, breaker_turn=turn)

    def _reserve(self, lane: Lane, notification: Notification) -> Granted | float | None:
        name, limits = lane.settings.name, lane.settings.limits
        urgent = notification.priority == "urgent"
        answer = self._limits.reserve(
            self._account(name),
            limits,
            cost=cost(notification, limits.unit),
            urgent=urgent,
            lease=self._lease,
            unless=self._barred_by(notification),
        )
        if not isinstance(answer, Denied):
            return answer
        if answer.why == "barred":
            raise Barred
        if answer.why == "daily":
            self.fleet.exhaust(name, urgent=urgent, seconds=answer.wait)
            return None
        return answer.wait

    def _when_it_comes(self, turn: Turn) -> Turn:
        if turn.granted and turn.granted.wait > 0 and self._pause(turn.granted.wait):
            self.give_back(turn)
            raise NoProvider("the worker is stopping")
        return turn

    def done(self, turn: Turn, outcome: Outcome, seconds: float) -> Sequence[Question[Any]]:
        """What came of a turn, and how long it took. Never raises.

        Returns what is to be told Redis beside the next step, so that the turn is over there.
        """
        failure = outcome if isinstance(outcome, DeliveryFailure) else None
        faulty = failure is not None and failure.at_provider
        if failure is not None and failure.slow_down:
            with suppress(LedgerUnavailable):
                self._slow_down(turn.name, failure)
        self.fleet.note(
            turn.name,
            failed=faulty,
            seconds=seconds,
            breaker_turn=turn.breaker_turn,
            trial=turn.trial,
        )
        if turn.granted is None:
            return ()
        account, limits = self._account(turn.name), self._lanes[turn.name].settings.limits
        return self._limits.asking_release(
            account, turn.granted, limits, unused=False, needed=False
        )

    def _slow_down(self, name: str, failure: DeliveryFailure) -> None:
        log.warning("provider wants less", extra=event(channel=self.fleet.channel, provider=name))
        account = self._account(name)
        limits = self._lanes[name].settings.limits
        self._limits.slow_down(account, limits, retry_after=failure.retry_after)

    def give_back(self, turn: Turn) -> None:
        """Nothing was sent in this turn. Never raises."""
        if turn.trial:
            self.fleet.return_permit(turn.name)
        if turn.granted is None:
            return
        account, limits = self._account(turn.name), self._lanes[turn.name].settings.limits
        with suppress(LedgerUnavailable):
            self._limits.release(account, turn.granted, limits, unused=True)

    def _account(self, name: str) -> Account:
        return Account(channel=self.fleet.channel, provider=name)

    def close(self) -> None:
        """Tells what is left to tell."""
        with suppress(LedgerUnavailable):
            self.fleet.report()
