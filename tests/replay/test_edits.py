"""What is changed before it is sent again: checked, recorded without what it says, and no
conflict."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from notify.errors import InvalidNotification, UsageError
from notify.notification import Notification
from notify.outcomes import Reason
from notify.replay import Desk, Edits, Order, open_desk, plan_replay, run_replay
from notify.sandbox import Answer
from notify.store import Filter
from tests.cli.conftest import Ran, shell
from tests.deployment import PROVIDERS, Deployment, sms
from tests.replay.letters import bury, text
from tests.waiting import eventually

__all__ = ["shell"]

pytestmark = [pytest.mark.broker, pytest.mark.redis]

NEW = "+491709999999"


def order(desk: Desk, id: str, **edits: str) -> Order:
    (row,) = desk.store.get(id)
    return Order(wanted=(row.seq,), actor="ann", edits=Edits(**edits))  # type: ignore[arg-type]


def test_a_corrected_text_is_the_new_truth(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, text(1), reason=Reason.REFUSED)
    given = order(desk, "n-1", recipient="0170 9999999", body="Corrected")
    with pytest.raises(InvalidNotification, match=r"recipient: .*no default region"):
        plan_replay(desk, given)
    given = order(desk, "n-1", recipient="+49 (170) 9999-999", body="Corrected")
    plan = plan_replay(desk, given)
    assert plan.edits == {
        "recipient": {"old": "+49***01", "new": "+49***99"},
        "body": {"old": "6 characters", "new": "9 characters"},
    }
    done = run_replay(desk, given)
    assert done.sent == 1
    assert done.run.edits == plan.edits
    assert done.run.content is None
    assert NEW not in str(done.run)
    # Whoever published it does so again, before and after it is delivered.
    deployment.send(text(1))
    deployment.worker()
    deployment.archiver()
    record = deployment.until_sent("n-1")
    assert record.generation == 2
    deployment.send(text(1), text(2))
    deployment.until_sent("n-2")
    seen = [
        (each.recipient, each.body) for each in deployment.sandbox.received() if each.id == "n-1"
    ]
    assert seen == [(NEW, "Corrected")]
    assert [row.letter.reason for row in desk.store.get("n-1")] == ["refused"]


def test_the_story_tells_of_it(
    deployment: Deployment, desk: Desk, shell: Callable[..., Ran]
) -> None:
    deployment.sandbox.script(NEW, Answer(status=400))
    bury(deployment, text(1), reason=Reason.REFUSED)
    replayed = shell("dead", "replay", "n-1", "--new-recipient", NEW, "--yes", "--json")
    assert replayed.code == 0
    facts = json.loads(replayed.out)
    assert facts["edits"] == {"recipient": {"old": "+49***01", "new": "+49***99"}}
    deployment.worker()
    deployment.archiver()
    eventually(lambda: len(desk.store.get("n-1")) == 2, "the second death")
    told = shell("dead", "show", "n-1").out
    assert f"{facts['name']}, with another recipient (+49***01 -> +49***99)" in told
    assert f"sent again by {facts['name']}" in told
    assert "since then: dead again" in told
    assert NEW not in told
    deployment.sandbox.script(NEW)
    again = shell("dead", "replay", "n-1", "--yes")
    assert again.code == 0, again
    deployment.until_sent("n-1")
    assert "since then: delivered through texts" in shell("dead", "show", "n-1").out


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"body": "x" * 5000}, "body: needs"),
        ({"body": ""}, "body: is required for sms"),
        ({"subject": "Hello"}, "subject: is not used by channel sms"),
        ({"recipient": "ann@example.com"}, "recipient: "),
    ],
)
def test_a_change_is_checked_like_a_new_notification(
    edits: dict[str, str], said: str, deployment: Deployment, desk: Desk
) -> None:
    bury(deployment, text(1))
    for act in (plan_replay, run_replay):
        with pytest.raises(UsageError, match=said):
            act(desk, order(desk, "n-1", **edits))
    assert desk.replays.latest(1) == []
    assert deployment.ready() == 0


def test_mails_and_webhooks(deployment: Deployment, desk: Desk) -> None:
    hook = Notification(
        channel="webhook", recipient="http://127.0.0.1:1/hook", id="h-1", data={"a": 1}
    )
    mail = Notification(
        channel="email", recipient="a@example.com", id="m-1", subject="S", body="B", html="<p>B"
    )
    bury(deployment, hook, mail)
    with pytest.raises(InvalidNotification, match="body: must be JSON"):
        plan_replay(desk, order(desk, "h-1", body="not JSON"))
    plan = plan_replay(desk, order(desk, "h-1", body='{"a": 23}'))
    assert plan.edits == {"data": {"old": "8 characters", "new": "9 characters"}}
    plan = plan_replay(desk, order(desk, "m-1", body="New", subject="New subject"))
    assert plan.edits["html"] == {"old": "4 characters", "new": "left out"}
    assert run_replay(desk, order(desk, "m-1", body="New")).sent == 1
    deployment.worker("email")
    (received,) = deployment.sandbox.wait_for(1, 20)
    assert "New" in received.body
    assert "<p>" not in received.raw


def test_what_dies_at_the_last_moment_is_not_changed_with_it(
    deployment: Deployment, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A correction is of the one letter that was looked at."""
    bury(deployment, text(1))
    begin = desk.replays.begin

    def late(*arguments: Any) -> int:
        bury(deployment, text(2))
        return begin(*arguments)

    monkeypatch.setattr(desk.replays, "begin", late)
    done = run_replay(desk, Order(wanted=Filter(), actor="ann", edits=Edits(recipient=NEW)))
    assert (done.batch.total, done.sent) == (1, 1)
    assert [row.letter.id for row in desk.store.find(Filter(state="open"))] == ["n-2"]


def test_another_provider_first(deploy: Callable[..., Deployment]) -> None:
    second = PROVIDERS["sms"].replace('"texts"', '"second"')
    deployment = deploy(providers={"sms": PROVIDERS["sms"] + second})
    bury(deployment, text(1), sms(id="n-2"))
    mail = Notification(channel="email", recipient="a@example.com", id="m-1", subject="S", body="B")
    bury(deployment, mail)
    with open_desk(deployment.settings) as desk:
        done = run_replay(desk, Order(wanted=Filter(), actor="ann", edits=Edits(provider="second")))
    assert (done.sent, done.left_out) == (2, {"no provider": 1})
    assert done.run.edits == {"provider": "second"}
    deployment.worker()
    assert deployment.until_sent("n-1").provider == "second"
    assert deployment.until_sent("n-2").provider == "second"
