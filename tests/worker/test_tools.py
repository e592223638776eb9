"""``celery inspect``, ``celery control`` and Flower: they see the worker and cannot stop it."""

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from notify.app import make_app
from notify.broker import Publisher
from notify.message import Envelope, encode
from notify.provision import management
from notify.sandbox import Answer
from notify.topology import work_queue
from tests.deployment import Deployment, sms
from tests.waiting import eventually
from tests.worker.tools import TO_WORKER, WORKER, celery, flower

pytestmark = [pytest.mark.broker, pytest.mark.redis]
BODY = "Your code is 493-201"
RECIPIENT = "+491707654321"


def private(deployment: Deployment) -> list[str]:
    password = deployment.vhost_url.split(":")[2].split("@")[0]
    return [BODY, "493-201", RECIPIENT, RECIPIENT[1:], password]


@pytest.fixture
def slow(deploy: Callable[..., Deployment]) -> Deployment:
    """Where a delivery takes longer than the test."""
    deployment = deploy(deadline="100s", lease="120s")
    deployment.sandbox.script(RECIPIENT, then=Answer(delay=90))
    return deployment


def test_a_worker_can_be_looked_at_while_it_delivers(slow: Deployment) -> None:
    """What is being delivered is seen, but neither its content nor its recipient."""
    deployment = slow
    worker = deployment.worker()
    message = encode(Envelope(notification=sms(BODY, RECIPIENT)), now=datetime.now(UTC))
    publish(deployment, message)
    deployment.sandbox.wait_for(1, 20, RECIPIENT, accepted_only=False)
    task_id = message.headers["id"]
    commands = {
        "active": ["inspect", *TO_WORKER, "active"],
        "query_task": ["inspect", *TO_WORKER, "query_task", task_id],
        "registered": ["inspect", *TO_WORKER, "registered"],
        "reserved": ["inspect", *TO_WORKER, "reserved"],
        "ping": ["inspect", *TO_WORKER, "ping"],
        "status": ["status", *TO_WORKER],
        "conf": ["inspect", *TO_WORKER, "conf"],
    }
    answers = dict(zip(commands, celery(deployment, *commands.values()), strict=True))
    for name, (code, output) in answers.items():
        assert code == 0, (name, output)
        assert WORKER in output
        assert not [text for text in private(deployment) if text in output], name
    assert task_id in answers["active"][1]
    assert task_id in answers["query_task"][1]
    assert "notify.deliver" in answers["registered"][1]
    assert "pong" in answers["ping"][1]
    assert "1 node online" in answers["status"][1]
    assert not [text for text in private(deployment) if text in worker.text()]


def test_a_foreign_message_is_not_shown_either(slow: Deployment) -> None:
    """Another program may leave out, or fill in, what Celery shows of the arguments."""
    deployment = slow
    worker = deployment.worker()
    for shown in (None, f"{{'body': {BODY!r}}}"):
        message = encode(Envelope(notification=sms(BODY, RECIPIENT)), now=datetime.now(UTC))
        message.headers.pop("kwargsrepr")
        message.headers.pop("argsrepr")
        if shown:
            message.headers.update(kwargsrepr=shown, argsrepr=shown)
        publish(deployment, message)
    deployment.sandbox.wait_for(2, 20, RECIPIENT, accepted_only=False)
    ((code, output),) = celery(deployment, ["inspect", *TO_WORKER, "active"])
    assert code == 0
    assert output.count("'name': 'notify.deliver'") == 2
    assert not [text for text in private(deployment) if text in output]
    assert not [text for text in private(deployment) if text in worker.text()]


def publish(deployment: Deployment, message: Any) -> None:
    publisher = Publisher([deployment.vhost_url])
    publisher.publish("notify", message)
    publisher.close()


def test_nothing_that_can_be_said_to_a_worker_stops_it(deployment: Deployment) -> None:
    worker = deployment.worker()
    message = encode(Envelope(notification=sms(BODY, RECIPIENT)), now=datetime.now(UTC))
    task_id, queue = message.headers["id"], work_queue("sms", "normal")
    said: dict[str, dict[str, Any]] = {
        "add_consumer": {"queue": "notify.sms.urgent"},
        "revoke": {"task_id": task_id, "terminate": True, "signal": "KILL"},
        "revoke_by_stamped_headers": {"headers": {"id": task_id}},
        "terminate": {"task_id": task_id, "signal": "KILL"},
        "rate_limit": {"task_name": "notify.deliver", "rate_limit": "1/h"},
        "time_limit": {"task_name": "notify.deliver", "hard": 0.1, "soft": 0.1},
        "pool_shrink": {"n": 4},
        "pool_grow": {"n": 4},
        "pool_restart": {"reload": True},
        "autoscale": {"max": 0, "min": 0},
    }
    app = make_app(deployment.settings)
    with app.connection_for_write() as connection:
        for command, arguments in said.items():
            app.control.broadcast(command, arguments, connection=connection)
    commands = [["control", "cancel_consumer", queue], ["control", "shutdown"]]
    for _, output in celery(deployment, *commands):
        assert "KeyError" in output or "No nodes replied" in output
    publish(deployment, message)
    deployment.until_sent(message.properties["message_id"])
    deployment.send(*[sms(recipient=f"+4917000{n:05}") for n in range(10)])
    deployment.sandbox.wait_for(11, 20)
    assert worker.popen.poll() is None
    assert "Traceback" not in worker.text()
    api = management(deployment.settings)
    eventually(lambda: api.queues()[queue].consumers == 1, "one consumer")
    assert api.queues()[work_queue("sms", "urgent")].consumers == 0
    api.close()


@pytest.mark.slow
def test_flower_shows_the_worker_and_it_goes_on(deployment: Deployment, tmp_path: Path) -> None:
    worker = deployment.worker()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url, log = f"http://127.0.0.1:{port}/api", tmp_path / "flower.log"

    def asked(path: str) -> Any:
        assert process.poll() is None, log.read_text()
        try:
            answer = requests.get(f"{url}/{path}", timeout=10)
        except requests.ConnectionError:
            return None
        return answer.json() if answer.ok else None

    with flower(deployment, port, log) as process:
        workers = eventually(lambda: asked("workers?refresh=1"), "workers in Flower", 40)
        ((name, shown),) = workers.items()
        assert name.startswith("sms-normal@")
        assert shown["registered"] == ["notify.deliver"]
        assert [queue["name"] for queue in shown["active_queues"]] == [work_queue("sms", "normal")]

        def task_seen() -> Any:
            """Flower turns the events on some time after its start, in the middle of a task
            perhaps: then it does not know that one's name."""
            notification = sms(BODY, RECIPIENT)
            deployment.send(notification)
            deployment.until_sent(notification.id)
            tasks = asked("tasks?limit=100") or {}
            return any(task["name"] for task in tasks.values()) and tasks

        tasks = eventually(task_seen, "tasks in Flower", 40)
        assert {task["name"] for task in tasks.values()} - {None} == {"notify.deliver"}
        assert not [text for text in private(deployment) if text in str(tasks)]
    assert worker.popen.poll() is None
    assert BODY not in worker.text()
