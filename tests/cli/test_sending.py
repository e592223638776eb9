"""``notify send``, ``status`` and ``queues`` on real servers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from notify.broker.channel import connect, drop
from notify.message import Envelope
from notify.notification import new_id
from notify.topology import rung, work_queue
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

PHONE = "+491701234567"


def test_one_notification_from_the_shell_to_the_gateway(deployment: Deployment) -> None:
    deployment.environ["NOTIFY_SEND_PRIORITY"] = "urgent"
    sent = deployment.cli("send", "sms", PHONE, "--body", "您好 👋", "--label", "order=7")
    assert (sent.returncode, sent.stderr) == (0, "")
    id = sent.stdout.strip()
    assert deployment.ready("sms", "urgent") == 1
    unknown = deployment.cli("status", id)
    assert unknown.returncode == 1
    assert "not found: never published, still queued" in unknown.stdout

    deployment.worker("sms", "urgent")
    assert [item.body for item in deployment.sandbox.wait_for(1, 20)] == ["您好 👋"]
    told = eventually(lambda: _told(deployment, id), "delivered")
    assert f"{id}: delivered\n" in told
    assert "texts took it" in told
    facts = json.loads(deployment.cli("status", id, "--json").stdout)
    assert facts["state"] == facts["ledger"]["state"] == "sent"
    assert facts["archive"] == []


def _told(deployment: Deployment, id: str) -> str:
    told = deployment.cli("status", id)
    return told.stdout if told.returncode == 0 and "delivered" in told.stdout else ""


def test_the_other_channels_and_options(deployment: Deployment) -> None:
    id = new_id()
    mail = ("send", "email", "ada@example.com", "--subject", "Тема", "--html", "<p>Hi</p>")
    sent = deployment.cli(*mail, "--id", id, "--expires-at", "2199-01-01T00:00:00+01:00", "--json")
    assert json.loads(sent.stdout) == {"id": id}
    hook = deployment.cli("send", "webhook", "https://example.com/hook", "--data", '{"order": 7}')
    assert hook.returncode == 0
    assert (deployment.ready("email"), deployment.ready("webhook")) == (1, 1)


def test_what_cannot_be_routed_is_exit_code_4(deployment: Deployment) -> None:
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    connection.channel().queue_delete(work_queue("sms", "normal"))
    drop(connection)
    sent = deployment.cli("send", "sms", PHONE, "--body", "Hello")
    assert (sent.returncode, sent.stdout) == (4, "")
    assert sent.stderr == "notify: no queue is bound to 'notify' for 'sms.normal'\n"


def test_a_file_is_checked_first_and_sent_twice_is_delivered_once(
    deployment: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    head = "channel,recipient,body\n"
    good = [f'sms,+49170000000{n},"Привет\n{n}"\n' for n in range(5)]
    path.write_text(head + "".join(good) + "sms,0170314159,Hello\n", encoding="utf-8")
    refused = deployment.cli("send", "--file", str(path))
    assert refused.returncode == 2
    assert f"{path}:12: column recipient: must be a phone number" in refused.stderr
    assert deployment.ready() == 0

    path.write_text("\ufeff" + head + "".join(good), encoding="utf-8")
    first = deployment.cli("send", "--file", str(path))
    assert (first.returncode, first.stdout) == (0, "5 of 5 published\n")
    again = json.loads(deployment.cli("send", "--file", str(path), "--json").stdout)
    assert (again["state"], again["rows"], again["published"]) == ("finished", 5, 5)
    assert (again["rejected"], again["errors"], again["repeats_at_most"]) == (0, {}, 0)
    assert deployment.ready() == 5
    deployment.worker()
    deployment.sandbox.wait_for(5, 20)
    eventually(lambda: deployment.ready() == 0, "an empty queue")
    eventually(
        lambda: deployment.unacknowledged(work_queue("sms", "normal")) == 0, "nothing under way"
    )
    received = deployment.sandbox.received()
    assert len(received) == len({item.id for item in received}) == 5
    assert received[0].id.startswith("file-")


def test_a_file_that_is_published_in_part_is_exit_code_5(
    deployment: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"channel,recipient,body\nsms,{PHONE},Hi\nsms,{PHONE},{'x' * 100_000}\n")
    channel = deployment.directory / "config/channels/sms.toml"
    channel.write_text(channel.read_text().replace("[send]", "[send]\nmax_bytes = 1000"))
    refused = deployment.cli("send", "--file", str(path))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"{path}:3: column notification: has 100" in refused.stderr
    sent = deployment.cli("send", "--file", str(path), "--on-error", "skip")
    assert (sent.returncode, sent.stdout) == (5, "1 of 2 published\n  1 rejected\n")
    assert '\n3,notification,"has 100' in Path(f"{path}.rejects.csv").read_text()
    assert deployment.ready() == 1


def test_queues_shows_what_waits_where(deploy: Callable[..., Deployment]) -> None:
    deployment = deploy(rungs=[1, 30])
    deployment.publish_raw(Envelope(notification=sms(), attempt=2), rung("normal", 30))
    for _ in range(3):
        deployment.publish_raw(Envelope(notification=sms()))

    def depths() -> dict[str, int]:
        asked = json.loads(deployment.cli("queues", "--json").stdout)
        return {queue["name"]: queue["ready"] for queue in asked["queues"] if queue["ready"]}

    # The management API lags by some seconds, which the rung outlasts.
    wanted = {"notify.sms.normal": 3, "notify.delay.normal.30s": 1}
    eventually(lambda: depths() == wanted, str(wanted))
    table = deployment.cli("queues").stdout
    assert "notify.delay.urgent.1s" in table
    assert "ready" in table.splitlines()[0]
