"""A process loads what it works with: a library that it does not need is memory in each copy."""

import re
from pathlib import Path

import pytest

from notify.notification import Notification
from tests.deployment import Deployment, Process, sms

pytestmark = [pytest.mark.broker, pytest.mark.redis]

# The archive, publishing, the schedules, the command line's tables, the programs beside it.
UNNEEDED = {
    *("alembic", "sqlalchemy"),
    *("jinja2", "phonenumbers"),
    *("redbeat", "cronsim"),
    *("celery.beat", "celery.bin", "flower"),
    *("rich", "honcho", "aiosmtpd", "pika"),
    *("dkim", "dns", "nacl"),
    *(f"notify.{part}" for part in ("archiver", "batch", "care", "replay", "rows", "store")),
    *(f"notify.{part}" for part in ("demo", "doctor", "drill", "exporter", "local", "sandbox")),
    *(f"notify.{part}" for part in ("phones", "publish", "recurrence", "schedule", "templates")),
}
HTTP = {"notify.channels.exchange", "notify.channels.guarded"}
MAIL = {"notify.channels.composing", "notify.channels.letters", "notify.channels.mail", "smtplib"}
CASES = {
    "sms": (sms(), HTTP, MAIL | {"notify.channels.profiled", "standardwebhooks"}),
    "email": (
        Notification(channel="email", recipient="a@example.com", subject="Hi", body="Hello"),
        MAIL,
        HTTP | {"notify.channels.profiled", "standardwebhooks"},
    ),
    "webhook": (
        Notification(channel="webhook", recipient="http://127.0.0.1:1/hook", data={}),
        HTTP | {"standardwebhooks"},
        MAIL | {"notify.channels.profiled"},
    ),
}


# Python runs it before anything else.
TELL = """
import atexit, sys
atexit.register(lambda: print(*(f"loaded {name}" for name in sys.modules), sep="\\n", flush=True))
"""


def loaded(process: Process) -> set[str]:
    """The modules that it had when it ended."""
    return set(re.findall(r"^loaded (\S+)$", process.text(), re.MULTILINE))


@pytest.fixture
def telling(deployment: Deployment, tmp_path: Path) -> Deployment:
    """Its processes say at the end what they have loaded."""
    (tmp_path / "sitecustomize.py").write_text(TELL)
    deployment.environ["PYTHONPATH"] = str(tmp_path)
    return deployment


@pytest.mark.parametrize("channel", sorted(CASES))
def test_a_worker_loads_what_its_channel_needs(telling: Deployment, channel: str) -> None:
    """Also when it has delivered, or tried to."""
    notification, needed, other = CASES[channel]
    telling.send(notification)
    worker = telling.worker(channel)
    telling.until_logged(worker, f'"id":"{notification.id}"')
    assert worker.stop() == 0
    found = loaded(worker)
    assert {"celery", "notify.deliver", "notify.worker.consumer"} | needed <= found
    assert found & (UNNEEDED | other) == set()


def test_an_exporter_loads_no_archive(telling: Deployment) -> None:
    exporter = telling.start("exporter")
    telling.until_logged(exporter, '"event":"ready"')
    assert exporter.stop() == 0
    found = loaded(exporter)
    assert {"prometheus_client", "notify.heartbeat"} <= found
    assert found & {"alembic", "celery", "jinja2", "phonenumbers", "rich", "sqlalchemy"} == set()
