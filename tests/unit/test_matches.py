"""Which recipients belong to which provider."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from notify.config.matches import Match, accepts, candidates
from notify.config.providers import WebhookProvider
from notify.errors import InvalidNotification
from notify.notification import Notification
from tests.channels.contracts import described

ROBOT = "https://oapi.dingtalk.com/robot/send?access_token=1f3a55&x="


def hook(url: str) -> Notification:
    return Notification(channel="webhook", recipient=url, body="B")


@dataclass(frozen=True)
class Settings:
    name: str
    matches: Sequence[Match] = ()


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        ({"host": "oapi.dingtalk.com"}, True),
        ({"host": "*.dingtalk.com"}, True),
        ({"host": "dingtalk.com"}, False),
        ({"host": "*.talk.com"}, False),
        ({"host": "*.oapi.dingtalk.com"}, False),
        ({"host": "oapi.dingtalk.com", "path": "/robot/send"}, True),
        ({"host": "oapi.dingtalk.com", "path": "/robot/sendx"}, False),
        ({"host": "oapi.dingtalk.com", "query": {"access_token": "1f3a"}}, True),
        ({"host": "oapi.dingtalk.com", "query": {"access_token": "1f3b"}}, False),
        ({"host": "oapi.dingtalk.com", "query": {"x": ""}}, True),
        ({"host": "oapi.dingtalk.com", "query": {"y": ""}}, False),
    ],
)
def test_a_match(match: dict[str, Any], holds: bool) -> None:
    assert Match(**match).holds(ROBOT) is holds


@pytest.mark.parametrize(
    "url",
    [
        "https://oapi.dingtalk.com.attacker.example/robot/send",
        "https://attacker.example/oapi.dingtalk.com/robot/send",
        "https://attacker.example/?https://oapi.dingtalk.com/robot/send",
        "https://oapi.dingtalk.com/other/../robot/send",
        "https://xoapi.dingtalk.com/robot/send",
        "https://oapi.dingtalk.com/robot/send/../../topapi/send",
        "https://oapi.dingtalk.com/robot/send/%2e%2E/send",
        "https://oapi.dingtalk.com/robot/send/./x",
    ],
)
def test_what_only_looks_like_it(url: str) -> None:
    assert not Match(host="oapi.dingtalk.com", path="/robot/send").holds(url)


def test_a_host_ends_at_a_backslash() -> None:
    """The request would go to attacker.example, with what is meant for the robot."""
    url = "https://attacker.example\\.dingtalk.com/robot/send"
    assert not Match(host="*.dingtalk.com").holds(url)
    with pytest.raises(InvalidNotification, match="without spaces and backslashes"):
        hook(url)


def test_no_second_value_slips_in() -> None:
    ours = Match(host="oapi.dingtalk.com", query={"access_token": "1f3a"})
    assert not ours.holds("https://oapi.dingtalk.com/robot/send?access_token=x&access_token=1f3a55")
    assert not ours.holds("https://oapi.dingtalk.com/robot/send?access_token=1f3a55&access_token=x")


@pytest.mark.parametrize("fragment", ["#", "#x", "?a=b#"])
def test_no_fragment_can_hide_what_is_added_to_a_url(fragment: str) -> None:
    with pytest.raises(InvalidNotification, match="fragment"):
        hook(f"https://ntfy.sh/topic{fragment}")


@pytest.mark.parametrize(
    "url", ["HTTPS://OAPI.dingtalk.COM/robot/send", "http://oapi.dingtalk.com.:8/"]
)
def test_a_host_is_a_host(url: str) -> None:
    assert Match(host="oapi.dingtalk.com").holds(url)


def test_those_with_a_match_come_first_and_alone() -> None:
    dingtalk = Settings("dingtalk", (Match(host="oapi.dingtalk.com"),))
    spare = Settings("spare", (Match(host="*.dingtalk.com"),))
    plain, second = Settings("plain"), Settings("second")
    every = [plain, dingtalk, second, spare]
    assert candidates(every, hook(ROBOT)) == [dingtalk, spare]
    assert candidates(every, hook("https://example.com/")) == [plain, second]
    assert candidates([dingtalk], hook("https://example.com/")) == []
    assert accepts(plain, hook(ROBOT))
    assert not accepts(dingtalk, hook("https://example.com/"))


def test_the_settings_say_it() -> None:
    webhook = WebhookProvider(type="webhook", name="w")
    robot = described("dingtalk")
    other = described("dingtalk", match=[{"host": "a.b"}])
    assert candidates([webhook, robot, other], hook(ROBOT)) == [robot]
    assert candidates([webhook, robot, other], hook("https://a.b/")) == [other]
    assert candidates([webhook, robot, other], hook("https://example.com/")) == [webhook]


def test_many_recipients_have_no_breaker_unless_one_is_wanted() -> None:
    assert described("dingtalk").breaker.enabled
    assert not described("plain").breaker.enabled
    wanted = described("plain", breaker={"enabled": True})
    assert wanted.breaker.enabled
