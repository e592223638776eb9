"""Forged and corrupt messages on a work queue: delivered where valid, else archived, once."""

import json

import pytest

from notify.store import Filter
from notify.topology import DEAD
from tests.deployment import Deployment, sms
from tests.waiting import eventually
from tests.worker.strangers import BODY, CASES, RECIPIENT, publish

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.slow]


def test_every_message_ends_somewhere_and_the_worker_lives(deployment: Deployment) -> None:
    worker = deployment.worker()
    deployment.archiver()
    strangers = {name: make(name) for name, make in CASES.items()}
    publish(deployment.vhost_url, list(strangers.values()), "sms.normal")
    valid = {name for name, stranger in strangers.items() if stranger.delivered}
    invalid = strangers.keys() - valid

    def at_rest() -> bool:
        settled = deployment.store.count(Filter()) + len(deployment.sandbox.received())
        return settled >= len(strangers)

    eventually(at_rest, "an end for each message", 30)
    rows = deployment.store.find(Filter(limit=1000))
    assert {item.id for item in deployment.sandbox.received()} == valid
    assert len(deployment.sandbox.received()) == len(valid)
    assert sum(row.count for row in rows) == len(invalid)
    assert deployment.ready() == deployment.depth(DEAD) == 0
    found = {row.letter.id: row.letter.reason for row in rows}
    for name in invalid & found.keys():
        assert found[name] in strangers[name].reasons, name
    # The rest has no id that could be believed: these are known by what they contain.
    raw = {row.letter.raw for row in rows if row.letter.id is None}
    assert raw == {strangers[name].body for name in invalid - found.keys()}

    after = sms("Good afterwards")
    deployment.send(after)
    deployment.until_sent(after.id)
    assert worker.popen.poll() is None
    log = worker.text()
    assert not [text for text in (BODY, "493-201", RECIPIENT, RECIPIENT[1:]) if text in log]
    assert "Traceback" not in log
    assert all(json.loads(line) for line in log.splitlines())


@pytest.mark.parametrize("broken", [{"message_id": b"\xff\xfe"}, {"timestamp": 2**63}])
def test_properties_that_the_client_library_cannot_read(
    broken: dict[str, object], deployment: Deployment
) -> None:
    """These may cost connections, but neither the worker nor the messages behind them."""
    worker = deployment.worker()
    deployment.archiver()
    stranger = CASES["eta-past"]("strange")
    stranger.properties.update(broken)
    publish(deployment.vhost_url, [stranger], "sms.normal")
    after = sms("Good afterwards")
    deployment.send(after)
    deployment.until_sent(after.id)
    assert worker.popen.poll() is None

    def ends() -> int:
        delivered = {item.id for item in deployment.sandbox.received()} - {after.id}
        return len(delivered) + deployment.store.count(Filter())

    eventually(lambda: ends() == 1, "an end for the strange message")
    assert deployment.ready() == deployment.depth(DEAD) == 0
    assert BODY not in worker.text()
