"""What Prometheus sees of a worker: what happened, and nothing of whom it happened to."""

from collections.abc import Callable

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from notify.local.ports import choose
from notify.sandbox import Answer
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

Numbers = dict[tuple[str, frozenset[tuple[str, str]]], float]


def numbers(port: int) -> Numbers:
    text = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=10).text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def test_outcomes_are_counted_unknown_ones_among_them(
    deploy: Callable[..., Deployment],
) -> None:
    # The worker of sms-normal has the second port.
    port = choose(["metrics"])["metrics"]
    deployment = deploy(metrics=port - 1)
    gone, lost = "+491700000001", "+491700000002"
    deployment.sandbox.script(gone, Answer(status=400))
    deployment.sandbox.script(lost, Answer(reset="after"))
    deployment.worker()
    sent = [sms(body="Hello, Grace"), sms(recipient=gone), sms(recipient=lost)]
    deployment.send(*sent, sent[0])
    for notification in sent:
        deployment.until_settled(notification.id)
    queue = {"channel": "sms", "priority": "normal"}

    def attempt(outcome: str, reason: str) -> tuple[str, frozenset[tuple[str, str]]]:
        return of(
            "notify_attempts_total", **queue, provider="texts", outcome=outcome, reason=reason
        )

    def handled(done: str, reason: str = "") -> tuple[str, frozenset[tuple[str, str]]]:
        return of("notify_notifications_total", **queue, done=done, reason=reason)

    eventually(lambda: handled("skipped") in numbers(port), "the duplicate")
    seen = numbers(port)
    expected = {
        attempt("sent", ""): 1,
        attempt("permanent", "refused"): 1,
        attempt("unknown", "connection_lost"): 1,
        handled("delivered"): 1,
        handled("skipped"): 1,
        handled("dead", "refused"): 1,
        handled("dead", "unknown_outcome"): 1,
        of("notify_delivery_seconds_count", **queue): 1,
        of("notify_attempt_seconds_count", channel="sms", provider="texts"): 3,
        of("notify_turn_seconds_count", **queue): 4,
        of("notify_paused", **queue): 0,
        of("notify_sending", **queue): 0,
        of("notify_breaker_open", channel="sms", provider="texts"): 0,
    }
    assert {key: seen.get(key) for key in expected} == expected
    labels = {value for _, pairs in seen for _, value in pairs}
    assert not labels & {gone, lost, *(n.id for n in sent), "Hello, Grace"}


def test_a_pause_is_seen(deploy: Callable[..., Deployment]) -> None:
    port = choose(["metrics"])["metrics"]
    deployment = deploy(metrics=port - 1)
    deployment.cli("providers", "disable", "sms", "texts")
    deployment.worker()
    deployment.send(sms())
    paused = of("notify_paused", channel="sms", priority="normal")
    eventually(lambda: numbers(port)[paused] == 1, "the pause")


def test_a_port_that_is_taken_is_no_reason_to_deliver_nothing(
    deploy: Callable[..., Deployment],
) -> None:
    port = choose(["metrics"])["metrics"]
    deployment = deploy(metrics=port - 1)
    deployment.worker()
    other = deployment.worker()
    deployment.until_logged(other, '"event":"no metrics"')
    notification = sms()
    deployment.send(notification)
    deployment.until_sent(notification.id)
