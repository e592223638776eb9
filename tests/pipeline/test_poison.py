"""A message that kills its worker each time: archived as poison, its neighbours delivered."""

from collections.abc import Callable
from pathlib import Path

import pytest

from notify.notification import Notification
from notify.outcomes import Reason
from notify.store import Filter
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

# Every process that takes the poison dies as if the kernel had killed it.
KILLED_AT_ONCE = """
import os
from notify import deliver

def fatal(self, envelope, *rest, original=deliver.Pipeline._deliver):
    if envelope.notification.body == "poison":
        os.kill(os.getpid(), 9)
    return original(self, envelope, *rest)

deliver.Pipeline._deliver = fatal
"""
KILLED_IN_SEND = """
import os
from notify.channels import sms

def fatal(self, notification, *, deadline, original=sms.HttpSms.send):
    if notification.body == "poison":
        os.kill(os.getpid(), 9)
    return original(self, notification, deadline=deadline)

sms.HttpSms.send = fatal
"""


def with_patch(deployment: Deployment, patch: str) -> None:
    """Python runs ``sitecustomize`` at the start of each process."""
    folder: Path = deployment.directory / "patch"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(patch)
    deployment.environ["PYTHONPATH"] = str(folder)


def until_archived(deployment: Deployment, notification: Notification) -> str:
    """Starts a worker whenever there is none, as systemd would; the reason in the archive."""
    worker = deployment.start("worker", "sms", "normal")

    def reason() -> str:
        nonlocal worker
        if worker.popen.poll() is not None:
            worker = deployment.start("worker", "sms", "normal")
        rows = deployment.store.get(notification.id)
        return rows[0].letter.reason if rows else ""

    return eventually(reason, "a dead letter", 90)


@pytest.mark.slow
def test_poison_reaches_the_limit_is_driven_again_alone_and_archived(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(unknown="resend", delivery_limit=2, deadline="2s", lease="7s")
    with_patch(deployment, KILLED_AT_ONCE)
    archiver = deployment.archiver()
    poison = sms("poison", "+491700000000")
    innocent = [sms(recipient=f"+49170000000{n}") for n in range(1, 4)]
    deployment.send(poison, *innocent)
    assert until_archived(deployment, poison) == Reason.POISON
    deployment.until_logged(archiver, "driven again, alone")
    for notification in innocent:
        deployment.until_sent(notification.id)
    assert deployment.store.count(Filter()) == 1


@pytest.mark.slow
def test_poison_that_kills_in_mid_send_ends_after_three_deaths(
    deploy: Callable[..., Deployment],
) -> None:
    """Each copy waits for the lease of the last, so the delivery limit never comes."""
    deployment = deploy(unknown="resend", deadline="1s", lease="6s")
    with_patch(deployment, KILLED_IN_SEND)
    deployment.archiver()
    poison = sms("poison")
    deployment.send(poison)
    assert until_archived(deployment, poison) == Reason.POISON
    row = deployment.store.get(poison.id)[0]
    assert [attempt["reason"] for attempt in row.letter.attempts] == ["worker_died"] * 3
    assert deployment.sandbox.received() == []
