"""Puts the pipeline of one channel together."""

import os
import socket
from collections.abc import Callable

from notify.blocklist import Blocklist
from notify.channels import build_provider
from notify.config import Settings
from notify.deliver import Pipeline
from notify.metrics import Metrics
from notify.provision import blocklist, ledger, limits
from notify.publishcount import open_publisher
from notify.routing import Fleet, Router
from notify.tools import Tools


def make_pipeline(settings: Settings, channel: str, pause: Callable[[float], bool]) -> Pipeline:
    """``pause`` waits that many seconds and answers whether the worker is stopping."""
    own, metrics = settings.channel(channel), Metrics()
    blocked = blocklist(settings)
    tools = Tools(
        ledger=ledger(settings),
        publisher=open_publisher(settings, metrics),
        blocklist=blocked,
        router=_router(settings, channel, pause, blocked),
        rungs=settings.broker.rungs,
        pause=pause,
        metrics=metrics,
    )
    return Pipeline(channel, own, tools)


def _router(
    settings: Settings, channel: str, pause: Callable[[float], bool], blocked: Blocklist
) -> Router:
    own, shared = settings.channel(channel), limits(settings)
    lease = own.send.lease
    owner = f"{socket.gethostname()}/{os.getpid()}"
    return Router(
        Fleet(channel, own.providers, shared, owner=owner, lease=lease),
        {each.name: (build_provider(each, settings.attachments), each) for each in own.providers},
        shared,
        lease=lease,
        throttle=own.throttle,
        pause=pause,
        bar=blocked.key,
    )
