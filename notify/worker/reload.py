"""What of a channel's configuration changes in a running worker, and what does not."""

from collections.abc import Callable

from notify.config import AnyProvider, ChannelSettings, Settings
from notify.deliver import Pipeline
from notify.reloading import Reloader, adopt_log

# These are asked for at each send. All else is built into connections, threads or queues.
_OF_A_PROVIDER = ("limits", "breaker", "weight")


def adoptable(old: ChannelSettings, new: ChannelSettings) -> ChannelSettings:
    """``old`` with what of ``new`` can change: retries, throttle, and each provider's limits,
    breaker, weight and place in the order. A provider more or less needs a restart."""
    changes = {"retry": new.retry, "throttle": new.throttle, "providers": _providers(old, new)}
    return old.model_copy(update=changes)


def _providers(old: ChannelSettings, new: ChannelSettings) -> tuple[AnyProvider, ...]:
    known = {provider.name: provider for provider in old.providers}
    if known.keys() != {provider.name for provider in new.providers}:
        return old.providers
    return tuple(
        known[provider.name].model_copy(
            update={name: getattr(provider, name) for name in _OF_A_PROVIDER}
        )
        for provider in new.providers
    )


def make_reloader(settings: Settings, pipeline: Pipeline, then: Callable[[str], None]) -> Reloader:
    """For the worker of one channel."""

    def adopt(old: Settings, new: Settings) -> Settings:
        kept = adopt_log(old, new)
        if pipeline.name not in new.channels:
            return kept
        channel = adoptable(old.channel(pipeline.name), new.channel(pipeline.name))
        pipeline.adopt(channel)
        return kept.model_copy(update={"channels": {**kept.channels, pipeline.name: channel}})

    sections = ("broker", "redis", "log", "metrics", f"channels.{pipeline.name}")
    return Reloader(settings, adopt=adopt, sections=sections, then=then)
