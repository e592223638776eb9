"""One publisher in many threads and over a fork."""

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from notify.broker import Publisher
from tests.broker.proxy import Proxy
from tests.broker.rabbit import Rabbit, message
from tests.deployment import ROOT, sms

pytestmark = pytest.mark.broker


def test_eight_threads_share_a_publisher(
    rabbit: Rabbit, proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    publisher = publishing(proxy.url)
    notifications = [[sms() for _ in range(200)] for _ in range(8)]
    errors: list[Exception] = []

    def publish(own: list) -> None:  # type: ignore[type-arg]
        try:
            for notification in own:
                publisher.publish("notify", message(notification))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=publish, args=(own,)) for own in notifications]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(rabbit.ids(1600)) == sorted(n.id for own in notifications for n in own)
    assert proxy.accepted <= 8


FORKING = """
import os, sys
from notify.broker import Publisher
from tests.broker.rabbit import message
from tests.deployment import sms

publisher = Publisher([sys.argv[1]])
publisher.publish("notify", message(sms(id="before")))
child = os.fork()
who = "parent" if child else "child"
for n in range(200):
    publisher.publish("notify", message(sms(id=f"{who}-{n}")))
publisher.close()
if child:
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
os._exit(0)
"""


def test_parent_and_child_of_a_fork_share_no_connection(rabbit: Rabbit, proxy: Proxy) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, proxy.url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = {f"{who}-{n}" for who in ("parent", "child") for n in range(200)} | {"before"}
    ids = rabbit.ids(401)
    assert len(ids) == 401
    assert set(ids) == wanted
    assert proxy.accepted == 2
