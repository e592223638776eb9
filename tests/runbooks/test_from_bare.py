"""From a bare machine to a delivered notification, by nothing but what the index says."""

import pytest

from tests.runbooks.reading import INDEX, commands
from tests.systemd.host import Host
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(900)]

SECTION = "From a bare machine to a delivered notification"


def test_the_index_leads_to_a_delivered_notification(bare: Host) -> None:
    """Without apt-get: the machine has no network, and what it would install."""
    checkout = bare.checkout("notify", "0.1.0")
    lines = [each.line for each in commands(INDEX, SECTION) if each.words[0] != "apt-get"]
    install, seen = lines.index("ops/install --yes"), lines.index("notify doctor")
    assert " runs here" in bare.follow(lines[: install + 1], checkout).splitlines()[-1]
    bare.follow(lines[install + 1 : seen])

    doctor, queues, send, status, received = lines[seen:]
    examined = ""

    def well() -> bool:
        """RabbitMQ tells some seconds later who consumes."""
        nonlocal examined
        examined = bare.shell(f"{doctor}; echo exit code $?")
        return examined.splitlines()[-1] in ("exit code 0", "exit code 5")

    eventually(well, "the doctor finds nothing critical", 60)
    assert "CRITICAL" not in examined
    shown = [line.split() for line in bare.shell(queues).splitlines()]
    work = {row[0]: row[3] for row in shown if row and row[0].startswith("notify.sms.")}
    assert work == {"notify.sms.urgent": "1", "notify.sms.normal": "1"}
    bare.shell(send)
    eventually(lambda: "first: delivered" in bare.shell(f"{status} || true"), "delivered", 30)
    assert "It works" in bare.shell(received)
