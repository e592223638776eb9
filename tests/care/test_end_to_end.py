"""Real servers: an outage is over, and rules send its letters again, each once; through kills."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from notify.batch.owner import lives, this_process
from notify.care import Care
from notify.care.carer import Answer
from notify.care.resending import Resender
from notify.config import load_settings
from notify.deadletter import from_envelope
from notify.message import Envelope
from notify.outcomes import Reason
from notify.replay import Order, open_desk
from notify.replay.running import begin_replay
from notify.sandbox import Sandbox
from notify.store.care import CareBook
from tests.archive.letters import ATTEMPT
from tests.deployment import Deployment, Process, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

RULES = """
[care]
every = "1s"
[[care.rules]]
name = "outage"
match = {{ reason = "provider_outage" }}
action = "replay"
first = "1s"
rate = {rate}
"""
BUSY = ATTEMPT | {"provider": "texts", "outcome": "temporary", "reason": "provider_error"}


def configure(deployment: Deployment, text: str) -> None:
    path = deployment.directory / "config" / "notify.toml"
    path.write_text(f"{path.read_text()}\n{text}")
    deployment.settings = load_settings(environ=deployment.environ)


def outage(deployment: Deployment, number: int) -> list[str]:
    """Letters of a minute ago, of which the ledger knows no more; their ids."""
    begin = datetime.now(UTC) - timedelta(minutes=1)
    made = [sms(id=f"n-{n}", recipient=f"+4917000000{n:02}") for n in range(number)]
    deployment.store.add(
        [
            from_envelope(
                Envelope(notification=each, first_queued=begin),
                Reason.RETRIES_EXHAUSTED,
                "503",
                [BUSY],
                begin,
            )
            for each in made
        ]
    )
    return [each.id for each in made]


def arrived(sandbox: Sandbox) -> Counter[str]:
    return Counter(each.id for each in sandbox.received() if each.id)


@pytest.fixture
def leaderless(deployment: Deployment) -> Callable[[], None]:
    """As if the lease of whoever was killed had ended."""

    def end() -> None:
        with closing(CareBook(deployment.settings.archive.url)) as book:
            if leader := book.leader():
                book.resign(leader)

    return end


def test_an_outage_is_made_good(deployment: Deployment, sandbox: Sandbox) -> None:
    configure(deployment, RULES.format(rate=50))
    ids = outage(deployment, 12)
    deployment.worker()
    care = Care(deployment.settings, threading.Event())
    first = care.once()
    assert first is not None
    assert dict(first.sent) == {"outage": 1}, "one finds out whether the provider works"
    deployment.until_sent("n-0")

    def all_sent() -> bool:
        care.once()
        return len(arrived(sandbox)) == len(ids)

    eventually(all_sent, "all letters delivered", 30)
    assert arrived(sandbox) == Counter(ids)
    shown = deployment.cli("care", "show", "--json")
    (rule,) = json.loads(shown.stdout)["rules"]
    assert rule["replayed"] == 12
    told = deployment.cli("dead", "show", "n-3").stdout
    assert "by itself: rule outage sent it again" in told
    assert "since then: delivered through texts" in told


def test_killed_archivers_send_each_letter_once(
    deployment: Deployment, sandbox: Sandbox, leaderless: Callable[[], None]
) -> None:
    configure(deployment, RULES.format(rate=20))
    ids = outage(deployment, 40)
    deployment.worker()

    def killed_after(number: int) -> None:
        archiver = deployment.archiver()
        eventually(lambda: len(arrived(sandbox)) >= number, f"{number} delivered", 40)
        archiver.kill()
        leaderless()

    killed_after(3)
    killed_after(15)
    archivers: list[Process] = [deployment.archiver(), deployment.archiver()]
    eventually(lambda: len(arrived(sandbox)) == len(ids), "all delivered", 60)
    for archiver in archivers:
        assert archiver.stop() == 0
    assert arrived(sandbox) == Counter(ids)


def test_the_digest_is_a_mail_like_any_other(deployment: Deployment, sandbox: Sandbox) -> None:
    at = datetime.now(UTC) - timedelta(minutes=2)
    configure(
        deployment,
        f'[care.digest]\nat = "{at:%H:%M}"\nchannel = "email"\n'
        'recipient = "ops@example.com"\nalways = true',
    )
    deployment.worker("email")
    for _ in range(2):
        assert Care(deployment.settings, threading.Event()).once() is not None
    (mail,) = sandbox.wait_for(1, 20, "ops@example.com")
    deployment.until_sent(f"care-digest:{at:%Y-%m-%d}")
    assert mail.subject == "Notify: 0 new dead letters, 0 open"
    assert len(sandbox.received("ops@example.com")) == 1


def test_what_this_process_left_behind_is_gone_on_with(
    deployment: Deployment, sandbox: Sandbox
) -> None:
    """The archive went away in the middle of a run, and could not be told that it was over."""
    configure(deployment, RULES.format(rate=50))
    (id,) = outage(deployment, 1)
    order = Order(wanted=(1,), actor="care: outage", name="care-outage-1")
    with closing(CareBook(deployment.settings.archive.url)) as book:
        with open_desk(deployment.settings) as desk:
            begin_replay(desk, order)
            assert desk.batches.take(order.name, this_process("gone"), lives, 0)
        book.note("runs", json.dumps(["never-began", order.name]))
        with closing(Resender(deployment.settings, book, lambda: False)) as resend:
            assert resend.recover() == {1: Answer()}
            assert resend.recover() == {}
        assert json.loads(book.noted("runs") or "") == []
    deployment.worker()
    deployment.until_sent(id)
    assert arrived(sandbox) == Counter([id])
