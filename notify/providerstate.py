"""How each provider is, for the command line."""

from typing import Any

from notify.config import AnyProvider, Settings
from notify.limits import Limits, State


def provider_states(settings: Settings, limits: Limits) -> list[dict[str, Any]]:
    """Every provider of every channel, in order of preference. Raises ``LedgerUnavailable``."""
    return [
        _facts(channel, provider, states[provider.name])
        for channel, own in settings.channels.items()
        for states in [limits.states(channel, [each.name for each in own.providers])]
        for provider in own.providers
    ]


def _facts(channel: str, provider: AnyProvider, state: State) -> dict[str, Any]:
    sends = state.ok + state.failed
    return {
        "channel": channel,
        "provider": provider.name,
        "state": standing(state),
        "mode": state.mode,
        "by": state.by,
        "until": state.until.isoformat() if state.until else None,
        "breaker": state.breaker,
        "open_since": state.opened_at.isoformat() if state.opened_at else None,
        "tried_again_in": round(state.retry_in, 1) if state.breaker == "open" else None,
        "per_second": round(state.rate, 2),
        "limit_per_second": provider.limits.rate,
        "limit_unit": provider.limits.unit,
        "slowed_to": round(state.factor, 2) if state.slowed else None,
        "sends": sends,
        "errors": round(state.failed / sends, 3) if sends else None,
        "latency_ms": round(state.latency_ms) if sends else None,
        "in_flight": state.in_flight if provider.limits.concurrency else None,
        "concurrency": provider.limits.concurrency,
        "today": round(state.daily_used) if provider.limits.daily else None,
        "daily": provider.limits.daily,
    }


def standing(state: State) -> str:
    """One or two words for how it is."""
    if state.mode != "enabled":
        return state.mode
    if state.breaker == "open":
        return "breaker open"
    if state.breaker == "half_open":
        return "on trial"
    return "slowed down" if state.slowed else "in use"
