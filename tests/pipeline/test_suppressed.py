"""Who asked for nothing more, does not exist or is gone gets nothing more."""

import json
from base64 import b64decode
from collections.abc import Callable

import pytest

from notify.ledger import Record
from notify.notification import Notification
from notify.sandbox import Answer
from tests.deployment import Deployment
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

HOOKS = """
[endpoints]
give_up_after = "2s"
minimum_failures = 3
report_channel = "email"
report_recipient = "ops@example.com"
[[providers]]
name = "hooks"
type = "webhook"
allow = "${NOTIFY_WEBHOOK_ALLOW}"
"""


def mail(recipient: str = "ada@example.com") -> Notification:
    return Notification(channel="email", recipient=recipient, subject="Hello", body="Hello")


def test_a_mailbox_that_does_not_exist_is_not_written_to_again(deployment: Deployment) -> None:
    refusal = Answer(smtp_stage="rcpt", smtp_reply="550 5.1.1 no such user")
    deployment.sandbox.script("ada@example.com", refusal, then=Answer())
    deployment.worker("email")
    first, second, other = mail(), mail("Ada@Example.com"), mail("grace@example.com")
    deployment.send(first)
    assert deployment.until_settled(first.id).attempts[0]["reason"] == "recipient_refused"
    deployment.send(second, other)
    deployment.until_sent(other.id)
    record = deployment.until_settled(second.id)
    (attempt,) = record.attempts
    assert (record.state, attempt["reason"], attempt["provider"]) == ("dead", "suppressed", "")
    assert "ada" not in attempt["detail"].lower()
    assert len(deployment.sandbox.received()) == 2
    listed = deployment.cli("suppression", "list").stdout
    assert "a***@example.com" in listed
    assert "ada@example.com" not in listed
    deployment.archiver()
    eventually(lambda: deployment.store.get(second.id), "a dead letter")
    refused = deployment.cli("dead", "replay", second.id)
    assert "it would be archived again as suppressed" in refused.stdout
    removed = deployment.cli("suppression", "remove", "email", "ada@example.com")
    assert removed.returncode == 0, removed.stderr
    assert deployment.cli("dead", "replay", second.id, "--yes").returncode == 0
    assert deployment.until_sent(second.id).generation == 2


def test_an_endpoint_that_is_gone_is_disabled_and_reported_once(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(providers={"webhook": HOOKS})
    hook = f"{deployment.sandbox.http_url}/hook/gone"
    deployment.sandbox.script("/hook/gone", Answer(status=410))
    deployment.worker("webhook")
    deployment.worker("email")
    notifications = [
        Notification(channel="webhook", recipient=hook, data={"n": n}) for n in range(3)
    ]
    deployment.send(notifications[0])
    (report,) = deployment.sandbox.wait_for(1, 20, recipient="ops@example.com")
    assert report.subject.startswith("Webhook endpoint disabled: http://127.0.0.1")
    assert "/hook/gone" not in b64decode(report.raw).decode()
    deployment.send(*notifications[1:])
    for notification in notifications[1:]:
        record = deployment.until_settled(notification.id)
        assert record.attempts[0]["reason"] == "endpoint_disabled"
    assert len(deployment.sandbox.received("/hook/gone")) == 1
    assert len(deployment.sandbox.received("ops@example.com")) == 1
    (listed,) = json.loads(deployment.cli("endpoint", "list", "--json").stdout)["endpoints"]
    assert listed["reason"] == "endpoint_gone"
    deployment.sandbox.script("/hook/gone")
    assert deployment.cli("endpoint", "enable", hook).returncode == 0
    again = Notification(channel="webhook", recipient=hook, data={"n": 4})
    deployment.send(again)
    deployment.until_sent(again.id)


def test_an_endpoint_that_only_fails_is_given_up_after_its_time(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(providers={"webhook": HOOKS})
    hook = f"{deployment.sandbox.http_url}/hook/down"
    deployment.sandbox.script("/hook/down", then=Answer(status=500))
    deployment.worker("webhook")
    deployment.worker("email")
    notification = Notification(channel="webhook", recipient=hook, data=1)
    deployment.send(notification)

    def over() -> Record | None:
        record = deployment.ledger.record(notification.id)
        return record if record and record.state == "dead" else None

    reasons = [attempt["reason"] for attempt in eventually(over, "the end", 30).attempts]
    assert reasons[-1] == "endpoint_disabled"
    assert set(reasons[:-1]) == {"provider_error"}
    assert len(deployment.sandbox.wait_for(1, 20, recipient="ops@example.com")) == 1
