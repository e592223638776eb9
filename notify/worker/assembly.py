"""Puts the pipeline of one channel together."""

from collections.abc import Callable

from notify.broker import Publisher
from notify.channels import build_provider
from notify.config import Settings
from notify.deliver import Pipeline, Tools
from notify.provision import ledger


def make_pipeline(settings: Settings, channel: str, pause: Callable[[float], bool]) -> Pipeline:
    """``pause`` waits that many seconds and answers whether the worker is stopping."""
    broker, own = settings.broker, settings.channel(channel)
    tools = Tools(
        ledger=ledger(settings),
        publisher=Publisher(
            broker.urls,
            connect_timeout=broker.connect_timeout,
            confirm_timeout=broker.confirm_timeout,
        ),
        providers=[build_provider(provider) for provider in own.providers],
        rungs=broker.rungs,
        pause=pause,
    )
    return Pipeline(channel, own, tools)
