"""One message through the pipeline, with everything around it scripted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from notify.admission import EXPIRED
from notify.blocklist import Block
from notify.config import ChannelSettings
from notify.deliver import Pipeline
from notify.errors import LedgerUnavailable
from notify.ledger import Claim, Claimed, Duplicate
from notify.message import PROVIDER, Envelope, Message
from notify.outcomes import DeliveryFailure, Outcome, Reason, Receipt, TemporaryFailure
from notify.outcomes import UnknownOutcome as Unknown
from notify.policy import DEFAULT_RUNGS
from notify.redisclient import Question
from notify.routing import Turn
from notify.steps import HandBack
from notify.tools import Tools
from tests.deployment import sms

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BUSY = TemporaryFailure(Reason.PROVIDER_BUSY)


class Fake:
    """A provider whose next outcomes are known."""

    def __init__(self, name: str, *outcomes: Outcome) -> None:
        self.name = name
        self.outcomes = list(outcomes)

    def send(self, notification: Any, *, deadline: float) -> Receipt:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, DeliveryFailure):
            raise outcome
        return outcome


@dataclass
class Around:
    """What the pipeline works with; ``said`` is what it told its router and its ledger."""

    providers: list[Fake]
    said: list[Any] = field(default_factory=list)
    published: list[tuple[str, Message]] = field(default_factory=list)
    offering: Callable[[], bool] = lambda: True
    claiming: Callable[[], None] = lambda: None
    stopping: bool = False
    now: datetime = NOW
    block: Block | None = None
    claimed: Claim | None = None

    def turn(self, *_: Any, **__: Any) -> Turn:
        return Turn(provider=self.providers[0])

    def next_turn(self, notification: Any, tried: Any) -> Any:
        left = [each for each in self.providers if each.name not in tried]
        return Turn(provider=left[0]) if left else None

    def claim(
        self, envelope: Envelope, owner: str, *, beside: Sequence[Question[Any]], **_: Any
    ) -> Claim:
        self.claiming()
        for question in beside:
            question.answer = question.read(None)
        return self.claimed or Claimed(
            owner=owner, generation=envelope.generation, attempt=envelope.attempt
        )

    def offer(self, *_: Any, **__: Any) -> bool:
        return self.offering()

    def settle_sent(self, *_: Any, **__: Any) -> bool:
        self.said.append("sent")
        return True

    def settle_step(
        self, *_: Any, state: str, step: Any, beside: Sequence[Question[Any]], **__: Any
    ) -> bool:
        self.said.append((state, step.reason))
        for question in beside:
            question.answer = question.read(None)
        return True

    def done(self, turn: Turn, outcome: Outcome, seconds: float) -> Sequence[Question[Any]]:
        self.said.append(("done", turn.name))
        return ()

    def pipeline(self, **send: Any) -> Pipeline:
        settings = ChannelSettings.model_validate(
            {"send": {"unknown": "archive"} | send, "providers": [_PROVIDER]}
        ).model_copy(update={"name": "sms"})
        router = SimpleNamespace(
            turn=self.turn,
            next_turn=self.next_turn,
            problem=lambda notification: None,
            throttled=lambda notification: 0.0,
            done=self.done,
            give_back=lambda turn: self.said.append(("given back", turn.name)),
        )
        ledger = SimpleNamespace(
            claim=self.claim,
            offer=self.offer,
            release=lambda id, claim: self.said.append("released"),
            settle_sent=self.settle_sent,
            settle_step=self.settle_step,
            asking_attempts=lambda id: Question((), lambda answer: ()),
            clear=lambda *_: None,
        )
        publisher = SimpleNamespace(publish=lambda *message: self.published.append(message))
        blocklist = SimpleNamespace(
            asking=lambda notification: Question((), lambda answer: self.block),
            asking_success=lambda notification: None,
            learn=lambda notification, outcome, name: self.said.append(("learnt", name)),
        )
        untyped: Any = SimpleNamespace(
            ledger=ledger, publisher=publisher, router=router, blocklist=blocklist
        )
        return Pipeline("sms", settings, Tools(**vars(untyped), rungs=DEFAULT_RUNGS, **self.time()))

    def time(self) -> dict[str, Any]:
        return {"pause": lambda _: self.stopping, "now": lambda: self.now, "random": lambda: 0.5}


_PROVIDER = {"name": "a", "type": "http-sms", "url": "http://127.0.0.1:1/sms"}


def envelope(**changes: Any) -> Envelope:
    values = {name: changes.pop(name) for name in ("provider", "attempt") if name in changes}
    return Envelope(notification=sms(**changes), first_queued=NOW, **values)


def test_what_expired_while_it_waited_for_its_turn_costs_no_turn_and_says_nothing() -> None:
    """Neither a daily count, nor that the provider works, nor that its recipient does not."""
    around = Around([Fake("a")])

    def long_in_coming() -> None:
        around.now += timedelta(minutes=2)

    around.claiming = long_in_coming
    one = envelope(expires_at=NOW + timedelta(minutes=1))
    assert around.pipeline().deliver(one) == "permanent"
    assert around.said == [("given back", "a"), ("dead", EXPIRED.reason)]


@pytest.mark.parametrize("pinned", ["", "b"])
def test_the_next_provider_has_what_the_first_did_not_take(pinned: str) -> None:
    around = Around([Fake("a", BUSY), Fake("b", Receipt(provider="b"))])
    assert around.pipeline().deliver(envelope(provider=pinned)) == "sent"


def test_what_a_provider_may_have_had_before_waits_for_that_provider() -> None:
    """It is busy now, and will be able to tell the repeat; another never could."""
    around = Around([Fake("a", BUSY), Fake("b")])
    assert around.pipeline().deliver(envelope(provider="a", attempt=2)) == "temporary"
    ((_, message),) = around.published
    assert message.headers[PROVIDER] == "a"


def test_who_may_have_had_it_is_not_forgotten_when_another_fails() -> None:
    around = Around([Fake("b", BUSY)])
    assert around.pipeline().deliver(envelope(provider="a", attempt=2)) == "temporary"
    assert around.published[0][1].headers[PROVIDER] == "a"


def test_what_is_no_receipt_is_a_bug_and_ends_in_the_archive() -> None:
    """A class of somebody else's may return anything."""
    nothing: Any = None
    around = Around([Fake("a", nothing)])
    assert around.pipeline().deliver(envelope()) == "permanent"
    assert around.published[0][0] == "notify.dead"


def test_a_process_that_was_stopped_after_its_claim_does_not_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SIGSTOP, a frozen virtual machine: another may have the claim by now."""
    around = Around([Fake("a")])
    clock = [100.0]
    monkeypatch.setattr("notify.deliver.time.monotonic", lambda: clock[0])

    def stopped() -> None:
        clock[0] += 25

    around.claiming = stopped
    with pytest.raises(HandBack, match="lease"):
        around.pipeline(deadline="10s", lease="30s").deliver(envelope())
    assert around.said == [("given back", "a"), "released"]


def test_a_turn_with_the_next_provider_that_is_not_used_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Redis is away when the next provider would have it, and then the worker stops."""
    monkeypatch.setattr("notify.steps._STOP_PATIENCE", 0.1)
    around = Around([Fake("a", BUSY), Fake("b", Unknown(Reason.CONNECTION_LOST))])

    def away() -> bool:
        around.stopping = True
        raise LedgerUnavailable("Redis: away")

    around.offering = away
    with pytest.raises(HandBack):
        around.pipeline().deliver(envelope())
    assert around.said[-1] == ("given back", "b")


def test_who_is_found_blocked_with_the_claim_is_not_written_to_and_costs_no_turn() -> None:
    around = Around([Fake("a")], block=Block(reason=Reason.SUPPRESSED, detail="since then"))
    assert around.pipeline().deliver(envelope()) == "permanent"
    assert around.said == [("given back", "a"), ("dead", Reason.SUPPRESSED)]


def test_what_is_a_duplicate_is_not_archived_for_its_recipient() -> None:
    """The block is newer than what was delivered."""
    around = Around([Fake("a")], block=Block(reason=Reason.SUPPRESSED, detail="since then"))
    around.claimed = Duplicate()
    assert around.pipeline().deliver(envelope()) == "skipped"
    assert around.published == []
    assert around.said == [("given back", "a")]
