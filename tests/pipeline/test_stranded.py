"""Messages that reached the archive while the ledger still waited for them."""

from datetime import UTC, datetime

import pytest

from notify.deadletter import from_envelope
from notify.ledger import AttemptRecord, Claimed, NextStep
from notify.message import Envelope
from notify.outcomes import Reason
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]


def envelope() -> Envelope:
    return Envelope(notification=sms(), first_queued=datetime.now(UTC))


def claim(deployment: Deployment, one: Envelope, lease: float) -> Claimed:
    claimed = deployment.ledger.claim(
        one, "gone", lease=lease, resend_unknown=False, retention=1000, provider="texts"
    )
    assert isinstance(claimed, Claimed)
    return claimed


def replay_delivers(deployment: Deployment, one: Envelope, reason: Reason) -> None:
    id = one.notification.id
    deployment.store.add([from_envelope(one, reason, "", (), datetime.now(UTC))])
    replayed = deployment.cli("dead", "replay", id, "--unknown", "--yes")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    deployment.worker()
    record = deployment.until_sent(id)
    assert (record.generation, record.attempt) == (2, 1)


def test_a_retry_whose_queue_was_gone_is_replayed(deployment: Deployment) -> None:
    one = envelope()
    claimed = claim(deployment, one, 30)
    failed = AttemptRecord(
        generation=1, attempt=1, at=one.first_queued.isoformat(), provider="texts", outcome="t"
    )
    deployment.ledger.settle_step(
        one.notification.id,
        claimed,
        state="waiting",
        attempt=failed,
        step=NextStep(do="delay", rung=1),
        retention=1000,
    )
    deployment.ledger.clear(one.notification.id, 1, 1)
    replay_delivers(deployment, one.evolve(attempt=2), Reason.UNROUTABLE)


def test_what_killed_its_process_in_mid_send_is_replayed(deployment: Deployment) -> None:
    one = envelope()
    claim(deployment, one, 1)

    def over() -> bool:
        record = deployment.ledger.record(one.notification.id)
        assert record is not None
        assert record.lease_until
        return record.lease_until < deployment.ledger.now()

    eventually(over, "the end of the lease")
    replay_delivers(deployment, one, Reason.POISON)
