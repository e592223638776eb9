"""``notify dead``: listing, showing and replaying what could not be delivered."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from notify.broker import Publisher
from notify.message import Message
from notify.publish import Client
from notify.sandbox import Answer
from notify.store import Filter
from notify.topology import DEAD
from tests.cli.conftest import Ran
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

PHONE = "+491701234567"


def test_a_refused_notification_is_found_understood_and_sent_again(
    deployment: Deployment, shell: Callable[..., Ran]
) -> None:
    deployment.sandbox.script(PHONE, Answer(status=400))
    deployment.worker()
    deployment.archiver()
    sent = shell("send", "sms", PHONE, "--body", "Code 271828", "--id", "4711")
    assert sent.code == 0
    eventually(lambda: deployment.store.get("4711"), "a dead letter")

    listed = shell("dead", "list")
    assert "+49***67" in listed.out
    assert "refused" in listed.out
    shown = shell("dead", "show", "4711")
    assert "+49***67" in shown.out
    assert "permanent" in shown.out
    told = shell("status", "4711")
    assert "not delivered; it is in the dead-letter archive" in told.out
    for ran in (listed, shown, told, shell("dead", "show", "1", "--json")):
        assert ran.code == 0
        assert PHONE not in ran.out
        assert "271828" not in ran.out

    assert PHONE in shell("dead", "list", "--reveal").out
    revealed = json.loads(shell("dead", "show", "1", "--reveal", "--json").out)
    assert revealed[0]["notification"]["body"] == "Code 271828"

    preview = shell("dead", "replay", "1", "--json")
    assert json.loads(preview.out)["done"] is False
    assert len(deployment.sandbox.received()) == 1
    replayed = shell("dead", "replay", "4711", "--name", "mine", "--yes")
    assert replayed.out == "1 4711: replayed\nmine: 1 of 1 sent again\n"
    deployment.sandbox.wait_for(1, 20)
    states = json.loads(shell("dead", "list", "--state", "replayed", "--json").out)
    assert [letter["id"] for letter in states["dead_letters"]] == ["4711"]


def test_filters_and_what_is_not_there(shell: Callable[..., Ran]) -> None:
    for key in ("order-7", "99"):
        for command in (("show", key), ("replay", key, "--yes")):
            ran = shell("dead", *command)
            assert (ran.code, ran.out) == (1, "")
            assert ran.err == f"notify: there is no dead letter {key!r}\n"
    for options in (("--channel", "sms"), ("--reason", "refused"), ("--since", "2020-01-01")):
        listed = json.loads(shell("dead", "list", *options, "--json").out)
        assert listed == {"total": 0, "dead_letters": []}


def test_what_cannot_be_parsed_is_kept_raw_and_not_replayed(
    deployment: Deployment, shell: Callable[..., Ran]
) -> None:
    publisher = Publisher([deployment.vhost_url])
    message = Message(body=b"\xff not ours", headers={}, properties={}, routing_key="sms.normal")
    publisher.publish(DEAD, message)
    publisher.close()
    deployment.archiver()
    eventually(lambda: deployment.store.count(Filter()), "a dead letter")
    (shown,) = json.loads(shell("dead", "show", "1", "--reveal", "--json").out)
    assert shown["reason"] == "unparseable"
    assert shown["raw"]
    assert shown["notification"] is None
    table = shell("dead", "show", "1")
    assert (table.code, table.err) == (0, "")
    replayed = shell("dead", "replay", "1", "--yes")
    assert (replayed.code, replayed.err) == (5, "")
    said, name = replayed.out.splitlines()[0], "it could not be parsed, so there is nothing to send"
    assert said == f"1 : {name}"


def test_a_replay_of_several_says_what_became_of_each(deployment: Deployment) -> None:
    """One may be sent again, the other has expired meanwhile: exit code 5."""
    for phone in (PHONE, "+491701234568"):
        deployment.sandbox.script(phone, Answer(status=400))
    deployment.worker()
    deployment.archiver()
    late = sms(id="late", expires_at=datetime.now(UTC) + timedelta(seconds=3))
    with Client(deployment.settings) as client:
        client.send(late)
        client.send(sms(id="fine", recipient="+491701234568"))
    eventually(lambda: deployment.store.count(Filter()) == 2, "two dead letters")
    assert {row.letter.reason for row in deployment.store.find(Filter())} == {"refused"}
    eventually(lambda: late.expired(datetime.now(UTC)), "the expiry")
    replayed = deployment.cli("dead", "replay", "late", "fine", "--yes")
    assert replayed.returncode == 5
    lines = [line.partition(" ")[2] for line in replayed.stdout.splitlines()[:2]]
    assert sorted(lines) == ["fine: replayed", "late: its expires_at has passed"]
    assert deployment.sandbox.wait_for(1, 20)[0].id == "fine"
