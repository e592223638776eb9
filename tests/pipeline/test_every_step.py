"""Killed, cut off or stopped at every step between claim and acknowledgement, then run again.

Whatever the step, the notification ends where it belongs, and is sent once more only where
nobody could know that it had been sent.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from notify.notification import Notification
from notify.outcomes import Reason
from notify.sandbox import Answer
from notify.topology import work_queue
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

# Does HARM once, in whatever process comes to STEP first, just AFTER or just before it.
PATCH = """
import os, pathlib, signal
from notify import deliver, deadletter
from notify.broker import Publisher
from notify.channels import sms
from notify.ledger import Ledger
from notify.worker import run
from notify.worker.consumer import Consumer

STEPS = {{
    "claim": (Ledger, "claim"),
    "send": (sms.HttpSms, "send"),
    "settle sent": (Ledger, "settle_sent"),
    "settle step": (Ledger, "settle_step"),
    "publish": (Publisher, "publish"),
    "clear": (Ledger, "clear"),
}}
workers = []

def remember(self, *arguments, original=Consumer.__init__, **options):
    original(self, *arguments, **options)
    workers.append(self)

Consumer.__init__ = remember

def harm():
    flag = pathlib.Path({flag!r})
    if not workers or flag.exists():
        return
    flag.touch()
    if {harm!r} == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif {harm!r} == "cut":
        workers[-1].cut_connections()
    else:
        os.kill(os.getpid(), signal.SIGTERM)

owner, name = STEPS[{step!r}]
original = getattr(owner, name)

def harmful(self, *arguments, **options):
    probing = name == "publish" and arguments[0] == ""
    if not {after} and not probing:
        harm()
    result = original(self, *arguments, **options)
    if {after} and not probing:
        harm()
    return result

setattr(owner, name, harmful)
"""
HARMS = ("kill", "cut", "stop")
OUTCOMES = {
    "sent": ("claim", "send", "settle sent"),
    "retry": ("settle step", "publish", "clear"),
    "dead": ("settle step", "publish", "clear"),
}
CASES = [
    (outcome, step, after, harm)
    for outcome, steps in OUTCOMES.items()
    for step in steps
    for after in (False, True)
    for harm in HARMS
]


def prepare(deployment: Deployment, outcome: str, step: str, after: bool, harm: str) -> Path:
    folder = deployment.directory / "patch"
    folder.mkdir()
    flag = folder / "done"
    patch = PATCH.format(flag=str(flag), harm=harm, step=step, after=after)
    (folder / "sitecustomize.py").write_text(patch)
    deployment.environ["PYTHONPATH"] = str(folder)
    first = {"sent": (), "retry": (Answer(status=503),), "dead": (Answer(status=400),)}
    deployment.sandbox.script("+491701234567", *first[outcome])
    return flag


def run_through(deployment: Deployment, notification: Notification) -> None:
    """Starts a worker whenever there is none, as systemd would, until all is settled."""
    worker = deployment.start("worker", "sms", "normal")

    def revived() -> None:
        nonlocal worker
        if worker.popen.poll() is not None:
            worker = deployment.start("worker", "sms", "normal")

    def over() -> bool:
        revived()
        record = deployment.ledger.record(notification.id)
        sent = record is not None and record.state == "sent"
        return sent or bool(deployment.store.get(notification.id))

    eventually(over, "the end", 60)

    def quiet() -> bool:
        revived()
        queue = work_queue("sms", "normal")
        return deployment.depth(queue) == 0 and deployment.unacknowledged(queue) == 0

    eventually(quiet, "nothing ready or unacknowledged", 40)


@pytest.mark.slow
@pytest.mark.parametrize(("outcome", "step", "after", "harm"), CASES)
def test_it_ends_where_it_belongs(
    deploy: Callable[..., Deployment], outcome: str, step: str, after: bool, harm: str
) -> None:
    deployment = deploy(unknown="resend", deadline="1s", lease="6s", concurrency=1)
    flag = prepare(deployment, outcome, step, after, harm)
    if outcome == "dead":
        deployment.archiver()
    notification = sms()
    deployment.send(notification)
    run_through(deployment, notification)
    assert flag.exists(), "the harm was not done"
    answers = [item.answered for item in deployment.sandbox.received()]
    # Only a kill between the send and its settlement leaves something that nobody knows.
    unknown = harm == "kill" and (step, after) in (("send", True), ("settle sent", False))
    unknown = unknown or (harm == "kill" and (step, after) == ("settle step", False))
    expected = {"sent": ["200"], "retry": ["503", "200"], "dead": ["400"]}[outcome]
    if unknown and outcome != "retry":
        expected = {"sent": ["200", "200"], "dead": ["400", "200"]}[outcome]
    assert answers == expected
    if outcome == "dead" and not unknown:
        assert deployment.store.get(notification.id)[0].letter.reason == Reason.REFUSED
