"""Redis away, frozen or full: one error, in time, without values."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator

import pytest
import redis

from notify.config import BreakerSettings, ThrottleSettings, Window
from notify.errors import LedgerUnavailable
from notify.limits import Granted, Limits, Sample
from notify.local import PrivateServers, Servers
from tests.limits.desk import SMS, limited

pytestmark = pytest.mark.redis

RECIPIENT = "+491701234567"
SETTINGS = limited(rate="10/s", concurrency=10, daily=100)
THROTTLE = ThrottleSettings(per_recipient=(Window(messages=1, per=60.0),))
GRANTED = Granted(wait=0, token="t0ken", urgent=False, cost=1, day="1", before="1", after="2")
ALL: dict[str, Callable[[Limits], object]] = {
    "reserve": lambda it: it.reserve(SMS, SETTINGS, cost=1, urgent=False, lease=1),
    "slow_down": lambda it: it.slow_down(SMS, SETTINGS, retry_after=1),
    "throttle": lambda it: it.throttle("sms", RECIPIENT, "d1gest", "order-7", THROTTLE),
    "report": lambda it: it.report("sms", {"texts": Sample(ok=1)}, {"texts": BreakerSettings()}),
    "set_mode": lambda it: it.set_mode(SMS, "disabled", by="ada"),
    "release": lambda it: it.release(SMS, GRANTED, SETTINGS, unused=True),
    "states": lambda it: it.states("sms", ["texts"]),
    "try_probe": lambda it: it.try_probe(SMS, "me", 1),
}


def refusal(limits: Limits, act: Callable[[Limits], object]) -> str:
    """The error's text, which tells nothing of the notification."""
    started = time.monotonic()
    with pytest.raises(LedgerUnavailable) as raised:
        act(limits)
    assert time.monotonic() - started < 1
    text = str(raised.value)
    assert text.startswith("Redis: ")
    for value in (RECIPIENT, "d1gest", "order-7", "t0ken", "ada"):
        assert value not in text
    return text


@pytest.mark.parametrize("act", ALL.values(), ids=list(ALL))
def test_a_refused_connection(act: Callable[[Limits], object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    limits = Limits(f"redis://127.0.0.1:{port}", timeout=1)
    refusal(limits, act)
    limits.close()


@pytest.fixture
def impatient(servers: Servers, prefix: str) -> Iterator[Limits]:
    limits = Limits(servers.redis_url, prefix=prefix, timeout=0.3)
    yield limits
    limits.close()


@pytest.mark.parametrize("act", ALL.values(), ids=list(ALL))
def test_a_frozen_server(
    act: Callable[[Limits], object], impatient: Limits, restartable: PrivateServers
) -> None:
    """Over a connection that is open, and over one that is not yet."""
    act(impatient)
    os.kill(restartable.redis_pid, signal.SIGSTOP)
    try:
        assert "Timeout" in refusal(impatient, act)
        assert "Timeout" in refusal(impatient, act)
    finally:
        os.kill(restartable.redis_pid, signal.SIGCONT)
    act(impatient)


@pytest.mark.parametrize("name", ["release", "states", "try_probe", "set_mode"])
def test_a_full_server_answers_and_can_be_steered(
    name: str, limits: Limits, raw: redis.Redis, restartable: PrivateServers
) -> None:
    raw.config_set("maxmemory", "1")
    try:
        ALL[name](limits)
        assert "OutOfMemory" in refusal(limits, ALL["report"])
    finally:
        raw.config_set("maxmemory", "0")
    ALL["report"](limits)


@pytest.mark.parametrize("act", ALL.values(), ids=list(ALL))
def test_a_server_that_forgot_the_scripts(
    act: Callable[[Limits], object], limits: Limits, raw: redis.Redis
) -> None:
    act(limits)
    raw.script_flush()
    act(limits)
