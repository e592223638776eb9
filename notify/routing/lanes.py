"""The providers of one channel as their configuration has them, and who may have what."""

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from notify.channels import Provider
from notify.config import AnyProvider
from notify.config.matches import candidates
from notify.notification import Notification
from notify.routing.cost import cost


class Lane:
    """One provider. While its slots are ``short``, whoever asks for the next has the ``lock``."""

    def __init__(self, provider: Provider, settings: AnyProvider) -> None:
        self.provider = provider
        self.settings = settings
        self.limited = settings.limits.any
        self.lock = threading.Lock()
        # Until there is one to be had at once.
        self.short = True

    def adopt(self, settings: AnyProvider) -> Self:
        """The same provider with other settings."""
        other = type(self)(self.provider, settings)
        other.lock = self.lock
        return other


class Lanes:
    """By the providers' names."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = {lane.settings.name: lane for lane in lanes}
        self._settings = [lane.settings for lane in lanes]
        # What does not depend on the notification is not looked for each time.
        choosy = any(each.matches for each in self._settings)
        self._for_all = None if choosy else frozenset(self._lanes)
        self._capped = any(each.limits.daily is not None for each in self._settings)

    @classmethod
    def of(cls, providers: Mapping[str, tuple[Provider, AnyProvider]]) -> Self:
        return cls([Lane(*each) for each in providers.values()])

    def __getitem__(self, name: str) -> Lane:
        return self._lanes[name]

    def adopt(self, settings: Sequence[AnyProvider]) -> Self:
        """The same providers, perhaps in another order, with other limits."""
        return type(self)([self._lanes[each.name].adopt(each) for each in settings])

    def candidates(self, notification: Notification) -> Collection[str]:
        """Who may have it."""
        if self._for_all is not None:
            return self._for_all
        return {each.name for each in candidates(self._settings, notification)}

    def problem(self, notification: Notification) -> str | None:
        """Why no provider will ever send it."""
        if self._for_all and not self._capped:
            return None
        names, urgent = self.candidates(notification), notification.priority == "urgent"
        if not names:
            return "recipient: no provider is configured for it"
        if all(_beyond_a_day(self._lanes[name].settings, notification, urgent) for name in names):
            return "is more than any provider sends in a day"
        return None


def _beyond_a_day(settings: AnyProvider, notification: Notification, urgent: bool) -> bool:
    limits = settings.limits
    if limits.daily is None:
        return False
    most = limits.daily if urgent else limits.for_normal(limits.daily)
    return cost(notification, limits.unit) > most
