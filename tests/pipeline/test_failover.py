"""Several providers: who gets what, when one fails, is full, asks for less or is switched off."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notify.message import Envelope
from notify.notification import Notification
from notify.outcomes import Reason
from notify.sandbox import EVERYONE, Answer, Sandbox
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

BUSY = Answer(status=503)
RESET = Answer(reset="after")
BREAKER = '[providers.breaker]\nminimum = 5\nwindow = "10s"\nopen_for = "2s"\nlongest = "3s"\n'


def provider(name: str, gateway: Sandbox, limits: str = "") -> str:
    return (
        f'[[providers]]\nname = "{name}"\ntype = "http-sms"\nurl = "{gateway.http_url}/sms"\n'
        f"takes_idempotency_key = true\n{BREAKER}[providers.limits]\n{limits}\n"
    )


@pytest.fixture
def second() -> Iterator[Sandbox]:
    with Sandbox() as running:
        yield running


@pytest.fixture
def two(deploy: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox) -> Any:
    """A deployment whose texts go to ``first`` (the sandbox), then to ``second``."""

    def make(limits: str = "", **options: Any) -> Deployment:
        both = provider("first", sandbox, limits) + provider("second", second)
        return deploy(providers={"sms": both}, **options)

    return make


def texts(count: int, **values: Any) -> list[Notification]:
    return [sms(recipient=f"+4917000000{number:02}", **values) for number in range(count)]


def state(deployment: Deployment, name: str) -> dict[str, Any]:
    done = deployment.cli("providers", "--json")
    assert done.returncode == 0, done.stderr
    return next(each for each in json.loads(done.stdout) if each["provider"] == name)


def accepted(*gateways: Sandbox) -> Counter[str]:
    """How often each id was delivered."""
    return Counter(r.id for gateway in gateways for r in gateway.received() if r.accepted)


def test_what_one_provider_fails_to_send_the_next_sends_at_once(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two()
    sandbox.script(EVERYONE, then=BUSY)
    worker = deployment.worker()
    notification = sms()
    deployment.send(notification)
    record = deployment.until_sent(notification.id)
    assert (record.provider, record.attempt) == ("second", 1)
    assert [r.answered for r in sandbox.received()] == ["503"]
    assert accepted(second) == {notification.id: 1}
    assert worker.text().count('"event":"next provider"') == 1
    assert worker.text().count('"event":"delivered"') == 1


def test_a_recipient_that_is_refused_is_refused_for_all(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two()
    sandbox.script(EVERYONE, then=Answer(status=400))
    deployment.worker()
    notification = sms()
    deployment.send(notification)
    record = deployment.until_settled(notification.id)
    assert (record.state, [a["reason"] for a in record.attempts]) == ("dead", [Reason.REFUSED])
    assert second.received() == []


def test_both_fail_and_both_are_in_the_history_and_the_retry_begins_with_the_first(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two()
    sandbox.script(EVERYONE, BUSY, then=Answer())
    second.script(EVERYONE, then=Answer(status=500))
    deployment.worker()
    notification = sms()
    deployment.send(notification)
    eventually(lambda: len(deployment.ledger.attempts(notification.id)) == 2, "both")
    waiting = deployment.ledger.attempts(notification.id)
    assert [(a["attempt"], a["provider"], a["code"]) for a in waiting] == [
        (1, "first", "503"),
        (1, "second", "500"),
    ]
    record = deployment.until_sent(notification.id)
    assert (record.provider, record.attempt) == ("first", 2)


@pytest.mark.parametrize("unknown", ["archive", "resend"])
def test_what_one_provider_may_have_had_is_offered_to_no_other(
    unknown: str, two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two(unknown=unknown)
    sandbox.script(EVERYONE, RESET, then=Answer())
    deployment.worker()
    notification = sms()
    deployment.send(notification)
    if unknown == "resend":
        record = deployment.until_sent(notification.id)
        assert (record.provider, record.attempt) == ("first", 2)
    else:
        assert deployment.until_settled(notification.id).state == "unknown"
    assert second.received() == []


def test_what_a_killed_worker_was_sending_goes_to_the_same_provider_again(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two(unknown="resend", deadline="3s", lease="8s")
    sandbox.script(EVERYONE, Answer(delay=30), then=Answer())
    worker = deployment.worker()
    notification = sms()
    deployment.send(notification)
    sandbox.wait_for(1, 20)
    worker.kill()
    deployment.worker()
    record = deployment.until_sent(notification.id)
    assert (record.provider, record.attempt) == ("first", 2)
    assert second.received() == []


def test_an_outage_of_the_first_of_two_is_noticed_by_nobody(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    """Its breaker opens, all goes to the second; when it is back, so is its traffic."""
    deployment = two()
    sandbox.script(EVERYONE, then=BUSY)
    deployment.worker()
    notifications = texts(30)
    deployment.send(*notifications[:20])
    for notification in notifications[:20]:
        assert deployment.until_sent(notification.id).attempt == 1
    eventually(lambda: state(deployment, "first")["breaker"] != "closed", "an open breaker")
    attempts = len(sandbox.received())
    assert attempts < 20
    sandbox.script(EVERYONE, then=Answer())

    def comes_back() -> bool:
        deployment.send(sms())
        return bool(state(deployment, "first")["breaker"] == "closed")

    eventually(comes_back, "a closed breaker", 30)
    deployment.send(*notifications[20:])
    for notification in notifications[20:]:
        assert deployment.until_sent(notification.id).provider == "first"
    assert set(accepted(sandbox, second).values()) == {1}


def test_while_all_providers_are_down_the_messages_stay_in_the_queue(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    """One message at a time is tried; more than ten trials bring nothing near its limit."""
    deployment = two(concurrency=3, delivery_limit=3)
    for gateway in (sandbox, second):
        gateway.script(EVERYONE, then=BUSY)
    worker = deployment.worker()
    notifications = texts(40)
    deployment.send(*notifications)
    deployment.until_logged(worker, '"event":"paused"')
    handed_back = worker.text().count("handed back")
    assert handed_back <= 3
    # Trials go on, each with one message, and none is handed back by them.
    before = len(sandbox.received()) + len(second.received())
    eventually(lambda: len(sandbox.received()) + len(second.received()) >= before + 4, "trials", 40)
    assert worker.text().count("handed back") <= 6
    assert deployment.ready() >= 10
    for gateway in (sandbox, second):
        gateway.script(EVERYONE, then=Answer())
    for notification in notifications:
        deployment.until_sent(notification.id)
    assert '"event":"resumed"' in worker.text()
    assert set(accepted(sandbox, second).values()) == {1}
    assert deployment.depth("notify.dead") == 0


def test_an_operator_takes_providers_out_and_in_without_a_restart(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two()
    worker = deployment.worker()
    done = deployment.cli("providers", "disable", "sms", "first", "--by", "Ada: maintenance")
    assert done.stdout == "sms first: disabled\n"
    deployment.until_logged(worker, '"mode":"disabled"')
    one = sms()
    deployment.send(one)
    assert deployment.until_sent(one.id).provider == "second"
    assert state(deployment, "first")["by"] == "Ada: maintenance"
    deployment.cli("providers", "drain", "sms", "second", "--for", "1h")
    eventually(lambda: state(deployment, "second")["until"], "an end")
    deployment.until_logged(worker, '"mode":"draining"')
    other = sms()
    deployment.send(other)
    deployment.until_logged(worker, "first: disabled, second: draining")
    deployment.until_depth("notify.sms.normal", 1)
    deployment.cli("providers", "enable", "sms", "first")
    assert deployment.until_sent(other.id).provider == "first"
    table = deployment.cli("providers").stdout
    assert "sms second" in table
    assert "draining by" in table


def test_what_is_no_provider_is_said(deployment: Deployment) -> None:
    done = deployment.cli("providers", "disable", "sms", "nobody")
    assert done.returncode == 1
    assert "no provider nobody of sms is configured" in done.stderr


def test_a_recipient_with_enough_gets_more_later_and_that_is_no_attempt(
    deploy: Callable[..., Deployment], sandbox: Sandbox
) -> None:
    deployment = deploy(throttle='[throttle]\nper_recipient = [{ messages = 2, per = "6s" }]')
    deployment.worker()
    notifications = [sms(body=f"Text {number}") for number in range(3)]
    others = [sms(recipient="+491709999999") for _ in range(2)]
    started = time.monotonic()
    deployment.send(*notifications, *others)
    for notification in others:
        deployment.until_sent(notification.id)
    records = [deployment.until_sent(notification.id) for notification in notifications]
    assert time.monotonic() - started >= 5.5
    assert {record.attempt for record in records} == {1}
    assert set(accepted(sandbox).values()) == {1}


def test_a_daily_cap_sends_the_rest_elsewhere_and_then_pauses(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two(limits="daily = 5\nurgent_share = 0.4")
    worker = deployment.worker()
    notifications = texts(6)
    deployment.send(*notifications)
    for notification in notifications:
        deployment.until_sent(notification.id)
    assert (len(sandbox.received()), len(second.received())) == (3, 3)
    assert state(deployment, "first")["today"] == 3
    deployment.cli("providers", "disable", "sms", "second")
    deployment.until_logged(worker, '"mode":"disabled"')
    deployment.send(sms())
    deployment.until_logged(worker, "first: daily cap reached, second: disabled")
    # Urgent ones have the rest of the day.
    deployment.worker("sms", "urgent")
    urgent = sms(priority="urgent")
    deployment.send(urgent)
    assert deployment.until_sent(urgent.id).provider == "first"


def test_a_provider_that_asks_for_less_is_given_less(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two()
    sandbox.script(EVERYONE, Answer(status=429, retry_after="4"), then=Answer())
    deployment.worker()
    deployment.send(sms())
    second.wait_for(1, 20)
    slowed = eventually(lambda: state(deployment, "first")["slowed_to"], "less")
    # Half of the rate, which is growing back.
    assert 0.5 <= slowed < 0.9


def test_an_expired_one_takes_no_turn(
    two: Callable[..., Deployment], sandbox: Sandbox, second: Sandbox
) -> None:
    deployment = two(limits="daily = 5")
    notification = sms(expires_at=deployment.ledger.now())
    deployment.publish_raw(Envelope(notification=notification))
    deployment.worker()
    record = deployment.until_settled(notification.id)
    assert (record.state, record.attempts[0]["reason"]) == ("dead", Reason.EXPIRED)
    assert sandbox.received() == second.received() == []
    assert state(deployment, "first")["today"] == 0
