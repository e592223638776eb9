"""Whether a provider works again, as far as the breakers of all workers tell."""

import sys
from dataclasses import dataclass
from typing import Final

from notify.config import Settings
from notify.limits import Limits, State

_MANY: Final = sys.maxsize


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """How many letters may go now, and why not more."""

    letters: int
    why: str = ""


class Readiness:
    """Of all providers, asked once each: make a new one for each look."""

    def __init__(self, settings: Settings, limits: Limits) -> None:
        self._settings = settings
        self._limits = limits
        self._states: dict[str, dict[str, State]] = {}

    def of(self, channel: str | None, provider: str | None) -> Ready:
        """For letters of a channel whose last attempt was with this provider.

        Where it is in use no more, the others of its channel count. Raises
        ``LedgerUnavailable``.
        """
        if channel is None or channel not in self._settings.channels:
            return Ready(letters=0, why="its channel is not configured")
        states = self._of_channel(channel)
        used = {name: state for name, state in states.items() if state.mode == "enabled"}
        if provider in used:
            return ready(used[provider])
        found = [ready(state) for state in used.values()]
        default = Ready(letters=0, why="no provider of its channel is enabled")
        return max(found, key=lambda each: each.letters, default=default)

    def _of_channel(self, channel: str) -> dict[str, State]:
        if channel not in self._states:
            names = [each.name for each in self._settings.channel(channel).providers]
            self._states[channel] = self._limits.states(channel, names)
        return self._states[channel]


def ready(state: State) -> Ready:
    """Many while it works; one at a time where nobody knows, so that one finds out.

    A breaker that waits for its trial and gets none, because nothing else is sent, would wait
    for ever.
    """
    if state.breaker == "open":
        return Ready(letters=0, why="its provider's breaker is open")
    if state.breaker == "half_open":
        return Ready(letters=0 if state.probing else 1, why="its provider is on trial")
    if state.ok == 0:
        failing = state.failed > 0
        why = "its provider fails" if failing else "its provider has sent nothing lately"
        return Ready(letters=0 if failing else 1, why=why)
    if state.failed > state.ok:
        return Ready(letters=0, why="its provider fails mostly")
    return Ready(letters=_MANY)
