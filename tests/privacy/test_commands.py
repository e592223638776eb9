"""``notify privacy`` on real servers: shown, erased, asked about; and what stays blocked."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from notify.ledger import AttemptRecord, Claimed, NextStep
from notify.message import Envelope
from notify.outcomes import Reason, Receipt
from notify.provision import suppressions
from notify.store import Filter
from tests.archive.letters import ATTEMPT, dead, raw, sms
from tests.cli.conftest import Ran, offline, shell
from tests.deployment import Deployment

__all__ = ["offline", "shell"]
pytestmark = [pytest.mark.broker, pytest.mark.redis]

PHONE = "+4915112345678"
Shell = Callable[..., Ran]


@pytest.fixture
def filled(deployment: Deployment) -> Deployment:
    """Two letters to them, one message that nobody could read, a suppression, two records."""
    said = ATTEMPT | {"answer": f"{PHONE} is not allocated"}
    deployment.store.add(
        [
            dead("a", attempts=(said,)),
            dead("b", reason=Reason.REFUSED),
            raw(b"to: 0049 151 12345678"),
            dead("other", recipient="+4917099999999", notification={"body": f"ask {PHONE}"}),
        ]
    )
    stored = suppressions(deployment.settings)
    stored.add("sms", PHONE, reason="requested", source="operator", by=f"{PHONE} wrote")
    stored.close()
    return deployment


def claim(deployment: Deployment, id: str) -> tuple[Envelope, Claimed]:
    envelope = Envelope(notification=sms(id), first_queued=datetime.now(UTC))
    found = deployment.ledger.claim(envelope, "w", lease=30, resend_unknown=False, retention=600)
    assert isinstance(found, Claimed)
    return envelope, found


def test_records_of_the_ledger_lose_what_was_said(deployment: Deployment) -> None:
    ledger = deployment.ledger
    _, dying = claim(deployment, "a")
    record = AttemptRecord(
        generation=1,
        attempt=1,
        at="",
        provider="texts",
        outcome="permanent",
        reason="refused",
        answer=f"{PHONE} is not allocated",
    )
    step = NextStep(do="dead", reason="refused")
    ledger.settle_step("a", dying, state="dead", attempt=record, step=step, retention=600)
    envelope, sent = claim(deployment, "b")
    receipt = Receipt(provider="texts", provider_id="SM1")
    ledger.settle_sent(
        "b", sent, digest=envelope.notification.digest, receipt=receipt, retention=600
    )
    assert ledger.erase("a")
    assert ledger.erase("b")
    assert not ledger.erase("c")
    dead_now, sent_now = ledger.record("a"), ledger.record("b")
    assert dead_now is not None
    assert (dead_now.state, dead_now.attempts) == ("dead", ())
    assert sent_now is not None
    assert (sent_now.state, sent_now.provider_id) == ("sent", "")
    again = ledger.claim(envelope, "v", lease=30, resend_unknown=False, retention=600)
    assert type(again).__name__ == "Duplicate", "it is still known to be delivered"


def test_shown_erased_and_asked_about(filled: Deployment, shell: Shell) -> None:
    shown = shell("privacy", "show", "+49 151 12345678")
    assert shown.code == 0
    for part in (
        "sms +49***78",
        "2  dead letters to them",
        "1  dead letters without a valid recipient that name them",
        "1  dead letters to others that name them",
        "suppressed since",
        "messages that wait, perhaps none of theirs: none",
        "backups: ",
        "providers: ",
    ):
        assert part in shown.out
    assert "15112345678" not in shown.out
    dry = shell("privacy", "erase", PHONE)
    assert dry.out.endswith("nothing was erased; repeat with --yes\n")
    assert filled.store.count(Filter(state="erased")) == 0
    assert shell("privacy", "erased", PHONE).code == 1
    done = shell("privacy", "erase", PHONE, "--yes")
    assert done.code == 5, "the letter to somebody else is left"
    assert "left to do: 1 letters to others name them (4): --mentions erases them" in done.out
    assert "15112345678" not in done.out
    asked = shell("privacy", "erased", "+49 (0) 151 12345678")
    assert asked.code == 0
    assert "+49***78 was erased at" in asked.out
    assert "2" in shell("privacy", "log").out
    rest = shell("privacy", "erase", PHONE, "--yes", "--mentions")
    assert rest.code == 0
    assert filled.store.count(Filter(state="erased")) == 4


def test_who_opted_out_stays_so(filled: Deployment, shell: Shell) -> None:
    shell("privacy", "erase", PHONE, "--yes")
    listed = shell("suppression", "list", "--reveal").out
    assert "erased" in listed
    assert "15112345678" not in listed
    stored = suppressions(filled.settings)
    found = stored.get("sms", PHONE)
    stored.close()
    assert found is not None
    assert (found.reason, found.by) == ("requested", "")
    assert shell("suppression", "remove", "sms", PHONE).code == 0


def test_the_story_of_a_stub(filled: Deployment, shell: Shell) -> None:
    shell("privacy", "erase", PHONE, "--yes")
    told = shell("dead", "show", "1").out
    assert "Dead letter 1, erased: sms to nobody known, id unknown" in told
    assert "What to do: nothing: whom it was for has been erased" in told
    replayed = shell("dead", "replay", "1", "--yes")
    assert replayed.code != 0
    assert filled.ready() == 0


def test_everything_is_handed_out_and_noted(filled: Deployment, shell: Shell) -> None:
    facts: dict[str, Any] = json.loads(shell("privacy", "show", PHONE, "--reveal").out)
    assert facts["recipient"] == PHONE
    assert {letter["id"] for letter in facts["dead_letters"]} == {"a", "b"}
    assert facts["suppression"]["by"] == f"{PHONE} wrote"
    (reveal,) = filled.store.reveals(9)
    assert (reveal.what, reveal.letters) == ("privacy show", 2)


def test_wrong_input(offline: Shell) -> None:
    wrong = offline("privacy", "erase", "12")
    assert (wrong.code, wrong.out) == (2, "")
    assert "recipient: " in wrong.err
    away = offline("privacy", "erase", "ada@example.com", "--yes")
    assert away.code == 4, "without Redis nothing is erased by halves"
