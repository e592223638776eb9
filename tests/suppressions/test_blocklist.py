"""What the pipeline asks and tells: who is blocked, what is learnt, and who is to be told."""

from collections.abc import Callable
from typing import Any

import pytest

from notify.blocklist import Block, Blocklist, report
from notify.config import EndpointSettings
from notify.errors import LedgerUnavailable
from notify.notification import Notification
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    Receipt,
    TemporaryFailure,
    UnknownOutcome,
)
from notify.suppressions import Suppressions
from tests.suppressions.values import DAY, HOOK, MAIL, PHONE, Clock

OPS = "ops@example.com"
OK = Receipt(provider="hooks")
SETTINGS = EndpointSettings(minimum_failures=2, report_channel="email", report_recipient=OPS)
DOWN = TemporaryFailure(Reason.CONNECTION_FAILED, "no connection")
GONE = PermanentFailure(Reason.ENDPOINT_GONE, "HTTP 410", code="410", suppress=True)
OPTED_OUT = PermanentFailure(
    Reason.RECIPIENT_REFUSED, "HTTP 400, rule 3", code="400", suppress=True
)


def sms(**values: Any) -> Notification:
    return Notification(channel="sms", recipient=PHONE, body="Hello", **values)


def hook(url: str = HOOK) -> Notification:
    return Notification(channel="webhook", recipient=url, data={})


@pytest.fixture
def blocklist(suppressions: Suppressions) -> Blocklist:
    return Blocklist(suppressions, SETTINGS)


@pytest.mark.redis
def test_who_opted_out_gets_nothing_more_by_that_channel(
    blocklist: Blocklist, suppressions: Suppressions
) -> None:
    assert blocklist.blocked(sms()) is None
    assert blocklist.learn(sms(), OPTED_OUT, "texts") is None
    assert blocklist.blocked(sms()) == Block(
        reason=Reason.SUPPRESSED, detail="since 2027-01-15: recipient_refused (texts)"
    )
    mail = Notification(channel="email", recipient=MAIL, subject="s", body="b")
    assert blocklist.blocked(mail) is None
    found = suppressions.get("sms", PHONE)
    assert found is not None
    assert found.by == "HTTP 400, rule 3"


@pytest.mark.redis
@pytest.mark.parametrize("outcome", [OK, DOWN, PermanentFailure(Reason.RECIPIENT_REFUSED)])
def test_whatever_else_comes_of_a_text_says_nothing(
    blocklist: Blocklist, suppressions: Suppressions, outcome: Any
) -> None:
    for _ in range(3):
        assert blocklist.learn(sms(), outcome) is None
    assert blocklist.blocked(sms()) is None
    assert suppressions.failing("sms") == []


@pytest.mark.redis
def test_an_endpoint_that_is_gone_is_disabled_and_reported(blocklist: Blocklist) -> None:
    told = blocklist.learn(hook(), GONE, "hooks")
    assert told is not None
    assert (told.channel, told.recipient) == ("email", OPS)
    assert told.subject == "Webhook endpoint disabled: https://example.com/***"
    blocked = blocklist.blocked(hook())
    assert blocked is not None
    assert blocked.reason is Reason.ENDPOINT_DISABLED
    assert blocked.detail == "since 2027-01-15: endpoint_gone (hooks)"
    # Whoever disabled it may have died before it could report that; the report is the same.
    assert blocked.report is not None
    assert (blocked.report.id, blocked.report.digest) == (told.id, told.digest)
    blocklist.reported(hook())
    blocked = blocklist.blocked(hook())
    assert blocked is not None
    assert blocked.report is None
    assert blocklist.learn(hook(), GONE, "hooks") is None


@pytest.mark.redis
def test_an_endpoint_that_only_fails_is_given_up(blocklist: Blocklist, clock: Clock) -> None:
    late = UnknownOutcome(Reason.DEADLINE_PASSED)
    refused = PermanentFailure(Reason.REFUSED, "HTTP 404")
    for outcome in (DOWN, OK, late, refused):
        assert blocklist.learn(hook(), outcome) is None
    clock.pass_(5 * DAY)
    told = blocklist.learn(hook(), DOWN, "hooks")
    assert told is not None
    assert "endpoint_failing" in (told.body or "")
    blocked = blocklist.blocked(hook())
    assert blocked is not None
    assert blocked.detail == "since 2027-01-20: endpoint_failing (notify)"


@pytest.mark.redis
@pytest.mark.parametrize("reason", [Reason.INTERNAL_ERROR, Reason.ADDRESS_FORBIDDEN])
def test_what_is_our_own_fault_does_not_count(
    blocklist: Blocklist, suppressions: Suppressions, reason: Reason
) -> None:
    assert blocklist.learn(hook(), PermanentFailure(reason)) is None
    assert suppressions.failing("webhook") == []


@pytest.mark.redis
def test_without_anybody_to_tell_nothing_is_reported(suppressions: Suppressions) -> None:
    blocklist = Blocklist(suppressions, EndpointSettings())
    assert blocklist.learn(hook(), GONE) is None
    blocked = blocklist.blocked(hook())
    assert blocked is not None
    assert blocked.report is None


@pytest.mark.redis
def test_a_report_is_one_a_day_and_tells_no_secret(
    blocklist: Blocklist, suppressions: Suppressions, clock: Clock
) -> None:
    reports = []
    for hours in (0, 1, 23):
        clock.pass_(hours * 3600)
        reports.append(blocklist.learn(hook(), GONE, "hooks"))
        suppressions.remove("webhook", HOOK)
    first, again, next_day = reports
    assert first is not None and again is not None and next_day is not None
    assert (first.id, first.digest) == (again.id, again.digest)
    assert first.id != next_day.id
    assert first.id.startswith("endpoint-disabled:")
    assert "token-271828" not in f"{first.subject}{first.body}{first.id}"


@pytest.mark.redis
def test_a_report_by_text_is_short(suppressions: Suppressions) -> None:
    settings = EndpointSettings(report_channel="sms", report_recipient=PHONE)
    added = suppressions.add("webhook", HOOK, reason="endpoint_gone", source="a", unreported=True)
    assert added is not None
    told = report(settings, added)
    assert told is not None
    assert told.body == (
        "Webhook endpoint disabled: https://example.com/*** (endpoint_gone, 2027-01-15)"
    )
    assert report(EndpointSettings(), added) is None


@pytest.mark.redis
@pytest.mark.parametrize("detail", ["", "x" * 500, "a\nb\x1b[31m", "é" * 70])
def test_whatever_a_failure_says_can_be_stored(
    blocklist: Blocklist, suppressions: Suppressions, detail: str
) -> None:
    failure = PermanentFailure(Reason.RECIPIENT_UNAVAILABLE, detail, suppress=True)
    blocklist.learn(sms(), failure, "p" * 32)
    assert suppressions.get("sms", PHONE)


@pytest.mark.parametrize("outcome", [OK, DOWN, GONE])
def test_without_redis_it_raises_that_alone(outcome: Receipt | DeliveryFailure) -> None:
    nowhere = Blocklist(Suppressions("redis://127.0.0.1:1/0", timeout=0.5), SETTINGS)
    calls: list[Callable[[], object]] = [
        lambda: nowhere.blocked(hook()),
        lambda: nowhere.learn(hook(), outcome),
        lambda: nowhere.reported(hook()),
    ]
    for call in calls:
        with pytest.raises(LedgerUnavailable):
            call()
    nowhere.close()
