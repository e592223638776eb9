"""A replay sends what was asked for, each once, and says what it left out."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from notify import provision
from notify.errors import NotFound, UsageError
from notify.outcomes import Reason
from notify.replay import Desk, Edits, Order, Why, plan_replay, resume_replay, run_replay
from notify.replay.running import begin_replay
from notify.store import Filter, Purge
from notify.store.batches import FINISHED, WITH_FAILURES, Batch
from tests.deployment import Deployment
from tests.replay.letters import bury, deliver, text
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]


def results(desk: Desk, name: str) -> dict[str, str | None]:
    """By id."""
    return {each.id or "": each.result for each in desk.replays.letters(name)}


def suppress(deployment: Deployment, recipient: str) -> None:
    with closing(provision.suppressions(deployment.settings)) as suppressions:
        suppressions.add("sms", recipient, reason="opted_out", source="ann")


def test_what_a_filter_finds_is_sent_again(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, *(text(n) for n in range(5)))
    bury(deployment, text(7), reason=Reason.REFUSED)
    order = Order(wanted=Filter(reason="retries_exhausted"), actor="ann")
    plan = plan_replay(desk, order)
    assert (plan.matching, plan.ready, plan.left_out) == (5, 5, {})
    assert plan.reasons == {"retries_exhausted": 5}
    assert plan.channels == {"sms": 5}
    assert deployment.ready() == 0

    done = run_replay(desk, order)
    assert done.batch.state == FINISHED
    assert (done.sent, done.left_out, done.others) == (5, {}, {})
    assert deployment.ready() == 5
    assert {row.letter.id for row in desk.store.find(Filter(state="open"))} == {"n-7"}
    record = deployment.ledger.record("n-3")
    assert record is not None
    assert (record.state, record.generation, record.attempt) == ("waiting", 2, 0)
    (letter,) = [each for each in desk.replays.letters(done.run.name) if each.id == "n-3"]
    assert (letter.generation, letter.result) == (2, "sent")

    deployment.worker()
    sent = deployment.sandbox.wait_for(5, 20)
    assert sorted(each.id for each in sent) == [f"n-{n}" for n in range(5)]
    with pytest.raises(NotFound, match="no dead letter matches"):
        run_replay(desk, order)


def test_what_must_not_be_sent_is_left_out_and_said(deployment: Deployment, desk: Desk) -> None:
    late = text(3, expires_at=datetime.now(UTC) + timedelta(seconds=1))
    bury(deployment, text(1), text(2), late, text(4), text(5))
    bury(deployment, text(6), reason=Reason.UNKNOWN_OUTCOME)
    bury(deployment, text(7), reason=Reason.POISON)
    deliver(deployment, text(1), generation=2)
    suppress(deployment, text(4).recipient)
    eventually(lambda: late.expired(datetime.now(UTC)), "the expiry")
    expected = {Why.DELIVERED: 1, Why.EXPIRED: 1, Why.SUPPRESSED: 1, Why.UNKNOWN: 2}

    order = Order(wanted=Filter(), actor="ann")
    plan = plan_replay(desk, order)
    assert (plan.left_out, plan.ready) == (expected, 2)
    done = run_replay(desk, order)
    assert done.left_out == {str(why): number for why, number in expected.items()}
    assert (done.sent, done.batch.state) == (2, WITH_FAILURES)
    assert results(desk, done.run.name)["n-6"] == Why.UNKNOWN

    agreed = Order(wanted=Filter(), actor="ann", unknown=True)
    plan = plan_replay(desk, agreed)
    assert (plan.ready, plan.doubtful) == (2, 2)
    assert run_replay(desk, agreed).sent == 2
    assert deployment.ready() == 4


def test_expired_ones_can_be_given_a_new_life(deployment: Deployment, desk: Desk) -> None:
    late = text(1, expires_at=datetime.now(UTC) + timedelta(milliseconds=200))
    bury(deployment, late, text(2))
    eventually(lambda: late.expired(datetime.now(UTC)), "the expiry")
    order = Order(wanted=Filter(), actor="ann", edits=Edits(expires_in=3600.0))
    plan = plan_replay(desk, order)
    assert (plan.ready, plan.renewed) == (2, 1)
    assert run_replay(desk, order).sent == 2
    deployment.worker()
    assert {each.id for each in deployment.sandbox.wait_for(2, 20)} == {"n-1", "n-2"}


def test_two_letters_of_one_id_are_sent_once(deployment: Deployment, desk: Desk) -> None:
    """The first one died of one cause, and its other copy of another; or it died again."""
    bury(deployment, text(1), text(2))
    (row,) = desk.store.get("n-1")
    desk.store.add([row.letter.evolve(reason=Reason.DELIVERY_LIMIT)])
    run_replay(desk, Order(wanted=(desk.store.get("n-2")[0].seq,), actor="ann"))
    bury(deployment, text(2), generation=2)
    order = Order(wanted=Filter(id=None), actor="ann")
    assert plan_replay(desk, order).left_out == {Why.SAME_ID: 1}
    done = run_replay(desk, order)
    assert (done.sent, done.left_out) == (2, {"same id": 1})
    numbers = tuple(row.seq for id in ("n-1", "n-2") for row in desk.store.get(id))
    plan = plan_replay(desk, Order(wanted=numbers, actor="ann"))
    assert (plan.ready, plan.left_out) == (0, {Why.ON_ITS_WAY: 4})


def test_what_was_replayed_and_is_forgotten_needs_consent(
    deployment: Deployment, desk: Desk
) -> None:
    """Nobody knows whether it arrived."""
    bury(deployment, text(1))
    everything = Filter(state="replayed")
    order = Order(wanted=everything, actor="ann")
    assert run_replay(desk, Order(wanted=Filter(), actor="ann")).sent == 1
    deployment.ledger._redis.flushdb()
    deployment.ledger.mark()
    assert plan_replay(desk, order).left_out == {Why.REPLAYED: 1}
    again = Order(wanted=everything, actor="ann", unknown=True)
    assert plan_replay(desk, again).doubtful == 1
    done = run_replay(desk, again)
    (letter,) = desk.replays.letters(done.run.name)
    assert (letter.result, letter.generation) == ("sent", 3)


def test_a_conflict_is_never_sent(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, text(1))
    (row,) = desk.store.get("n-1")
    other = text(1).evolve(body="Something else")
    strange = row.letter.evolve(
        reason=Reason.CONFLICT, notification=other.to_dict(), digest=other.digest
    )
    desk.store.add([strange, strange.evolve(reason=Reason.UNROUTABLE)])
    done = run_replay(desk, Order(wanted=Filter(), actor="ann", unknown=True))
    assert (done.sent, done.left_out) == (1, {"conflict": 2})


def test_at_most_so_many_the_oldest_first(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, *(text(n) for n in range(4)))
    bury(deployment, text(9), generation=3)
    order = Order(wanted=Filter(), actor="care", at_most=2)
    assert plan_replay(desk, order).matching == 2
    done = run_replay(desk, order)
    assert results(desk, done.run.name) == {"n-0": "sent", "n-1": "sent"}
    assert done.run.wanted == {"state": "open", "at_most": 2}
    limited = Order(wanted=Filter(), actor="care", most_generations=2)
    assert plan_replay(desk, limited).left_out == {Why.TOO_OFTEN: 1}


def test_letters_that_come_later_are_not_sent(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, *(text(n) for n in range(3)))
    order = Order(wanted=Filter(), actor="ann")

    def later(_: object) -> None:
        bury(deployment, text(7))

    done = run_replay(desk, order, started=later)
    assert (done.batch.total, done.sent) == (3, 3)
    assert [row.letter.id for row in desk.store.find(Filter(state="open"))] == ["n-7"]


def test_a_channel_that_is_gone_and_what_was_purged(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, text(1), text(2))
    (row,) = desk.store.get("n-1")
    desk.store.add([row.letter.evolve(id="n-8", channel="pager")])
    desk.store.add([row.letter.evolve(id=None, notification=None, raw=b"?")])
    strange = {**(row.letter.notification or {}), "recipient": "nowhere"}
    desk.store.add([row.letter.evolve(id="n-9", notification=strange)])
    expected = {Why.NO_CHANNEL: 1, Why.NOT_PARSED: 1, Why.INVALID: 1}
    assert plan_replay(desk, Order(wanted=Filter(), actor="ann")).left_out == expected
    done = run_replay(desk, Order(wanted=Filter(), actor="ann"))
    assert (done.sent, len(done.left_out)) == (2, 3)
    notes = " ".join(each.note for each in desk.replays.letters(done.run.name))
    assert "nowhere" not in notes
    assert "recipient: " in notes


def test_a_wrong_order_is_refused(desk: Desk, deployment: Deployment) -> None:
    bury(deployment, text(1), text(2))
    for edits, said in (
        (Edits(provider="nobody"), "provider: there is no 'nobody'; there are hooks, mails, texts"),
        (Edits(body="New"), "body can be changed of one dead letter only"),
        (Edits(expires_in=-1.0), "expires-in: must be"),
    ):
        order = Order(wanted=Filter(), actor="ann", edits=edits)
        for act in (plan_replay, run_replay):
            with pytest.raises(UsageError, match=said):
                act(desk, order)
    assert desk.replays.latest(10) == []
    assert desk.batches.latest(10) == []


def test_an_interrupted_run_is_found_behind_many_others(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, text(1))
    order = Order(wanted=Filter(), actor="ann")
    name = begin_replay(desk, order)
    for number in range(101):
        desk.batches.add(Batch(name=f"later-{number}", state=FINISHED))
    assert run_replay(desk, order).run.name == name


def test_what_waits_for_its_turn_is_not_purged(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, text(1), text(2))
    everything = Purge(wanted=Filter(), open_before=None, keep=0)
    begin_replay(desk, Order(wanted=(desk.store.get("n-1")[0].seq,), actor="ann", name="mine"))
    assert desk.store.purge(everything) == 1
    assert resume_replay(desk, "mine").sent == 1
    assert desk.store.purge(everything) == 1
    assert resume_replay(desk, "mine").sent == 1
