"""Puts the pipeline of one channel together."""

from collections.abc import Callable

from notify.channels import build_provider
from notify.config import Settings
from notify.deliver import Pipeline, Tools
from notify.provision import ledger
from notify.publish import open_publisher


def make_pipeline(settings: Settings, channel: str, pause: Callable[[float], bool]) -> Pipeline:
    """``pause`` waits that many seconds and answers whether the worker is stopping."""
    own = settings.channel(channel)
    tools = Tools(
        ledger=ledger(settings),
        publisher=open_publisher(settings),
        providers=[build_provider(provider) for provider in own.providers],
        rungs=settings.broker.rungs,
        pause=pause,
    )
    return Pipeline(channel, own, tools)
