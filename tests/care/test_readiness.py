"""Whether a provider works again, by what all workers have seen of it."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from notify.care.readiness import Readiness, Ready, ready
from notify.config import Settings
from notify.limits import Account, Limits, State
from notify.local import Servers
from tests.unit.configs import load

TWO = """
[[providers]]
name = "one"
type = "http-sms"
url = "http://127.0.0.1:1/sms"
[[providers]]
name = "two"
type = "http-sms"
url = "http://127.0.0.1:1/sms"
"""


@pytest.mark.parametrize(
    ("state", "letters", "why"),
    [
        (State(breaker="open", ok=9), 0, "its provider's breaker is open"),
        (State(breaker="half_open"), 1, "its provider is on trial"),
        (State(breaker="half_open", probing=True), 0, "its provider is on trial"),
        (State(), 1, "its provider has sent nothing lately"),
        (State(failed=1), 0, "its provider fails"),
        (State(ok=2, failed=3), 0, "its provider fails mostly"),
        (State(ok=3, failed=3), sys.maxsize, ""),
    ],
)
def test_how_many_may_go(state: State, letters: int, why: str) -> None:
    assert ready(state) == Ready(letters=letters, why=why)


@pytest.fixture
def limits(servers: Servers) -> Iterator[Limits]:
    with closing(Limits(servers.redis_url, prefix=f"t{uuid4().hex[:8]}")) as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(tmp_path, {"channels/sms.toml": TWO})


def test_of_a_provider_that_is_gone_the_others_count(settings: Settings, limits: Limits) -> None:
    asked = Readiness(settings, limits)
    assert asked.of("sms", "one").letters == 1
    assert asked.of("sms", "gone").letters == 1
    assert asked.of("email", "one") == Ready(letters=0, why="its channel is not configured")
    assert asked.of(None, None).letters == 0


def test_who_is_disabled_is_not_waited_for(settings: Settings, limits: Limits) -> None:
    limits.set_mode(Account(channel="sms", provider="one"), "disabled", by="ann")
    assert Readiness(settings, limits).of("sms", "one").letters == 1
    limits.set_mode(Account(channel="sms", provider="two"), "disabled", by="ann")
    found = Readiness(settings, limits).of("sms", "one")
    assert found == Ready(letters=0, why="no provider of its channel is enabled")
