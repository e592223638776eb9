"""The operator's choice."""

from datetime import UTC, datetime
from typing import Any

import pytest

from notify.errors import InvalidInput
from notify.limits import Limits, Mode, State
from notify.local import PrivateServers, Servers
from tests.limits.desk import SMS, START, Desk

pytestmark = pytest.mark.redis


@pytest.mark.parametrize("mode", ["draining", "disabled"])
def test_it_lasts_until_it_is_changed(mode: Mode, desk: Desk) -> None:
    desk.limits.set_mode(SMS, mode, by="ada: it bills twice")
    state = desk.state
    assert (state.mode, state.by, state.until) == (mode, "ada: it bills twice", None)
    (key,) = desk.dump()
    assert desk.raw.pttl(key) == -1
    desk.limits.set_mode(SMS, "enabled", by="bob")
    assert (desk.state.mode, desk.state.by) == ("enabled", "")
    assert desk.dump() == {}


def test_it_ends_by_itself_where_that_is_wanted(desk: Desk) -> None:
    desk.limits.set_mode(SMS, "disabled", by="ada", until_seconds=3600)
    desk.clock.pass_(3599)
    state = desk.state
    assert (state.mode, state.by) == ("disabled", "ada")
    assert state.until == datetime.fromtimestamp(START + 3600, UTC)
    (key,) = desk.dump()
    assert 3590 < desk.raw.pttl(key) / 1000 <= 3600
    desk.clock.pass_(1)
    assert desk.state == State()


def test_a_later_choice_replaces_all_of_an_earlier_one(desk: Desk) -> None:
    desk.limits.set_mode(SMS, "disabled", by="ada", until_seconds=60)
    desk.limits.set_mode(SMS, "draining", by="bob")
    (key,) = desk.dump()
    assert desk.raw.pttl(key) == -1
    assert (desk.state.mode, desk.state.by, desk.state.until) == ("draining", "bob", None)


@pytest.mark.parametrize(
    "wrong",
    [{"mode": "off"}, {"by": "a\nb"}, {"by": "x" * 65}, {"until_seconds": 0}],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], desk: Desk) -> None:
    choice: dict[str, Any] = {"mode": "disabled", "by": "ada", **wrong}
    with pytest.raises(InvalidInput):
        desk.limits.set_mode(SMS, choice.pop("mode"), **choice)
    assert desk.dump() == {}


def test_it_survives_a_restart(
    restartable: PrivateServers, servers: Servers, limits: Limits
) -> None:
    limits.set_mode(SMS, "disabled", by="ada")
    restartable.restart_redis()
    assert limits.states("sms", ["texts"])["texts"].mode == "disabled"
