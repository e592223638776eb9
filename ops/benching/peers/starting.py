"""Peers as processes, and their queues filled with the same notifications."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benching.children import ROOT, Child, python
from benching.ours import Ours
from benching.peers import settings
from benching.peers.raw import Raw, with_amqp
from benching.stage import Stage
from benching.values import Broken
from benching.work import RECIPIENT, plain, texts

_PERSISTENT = {"delivery_mode": 2, "content_type": "application/json"}
_SHOWN = "provider", "test", "sandbox-sms", "--to", RECIPIENT


def shown_headers(ours: Ours) -> dict[str, str]:
    """The headers of our requests, as ``notify provider test`` shows them."""
    command = python("notify", *_SHOWN)
    done = subprocess.run(
        command, env=ours.environ, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Broken(f"notify provider test: {done.stderr}")
    head = done.stdout.partition("\n\n")[0].splitlines()[1:]
    fields = dict(line.split(": ", 1) for line in head)
    return {
        name: value
        for name, value in fields.items()
        if name not in ("Idempotency-Key", "Content-Length")
    }


class Peers:
    """Starts them with what they have to know."""

    def __init__(self, stage: Stage, ours: Ours) -> None:
        self._stage = stage
        self._environ = ours.environ | {
            settings.BROKER: stage.peers_url,
            settings.REDIS: stage.servers.redis_url,
            settings.URL: f"{stage.gateway.url()}/sms",
            settings.HEADERS: json.dumps(shown_headers(ours)),
            settings.THREADS: str(stage.sizes.threads),
            settings.COUNT: str(stage.sizes.delivered),
        }

    def celery(self, prefix: str) -> Child:
        """Confirms are for its retries, as every publish of ours has them."""
        threads = str(self._stage.sizes.threads)
        arguments = ("-A", "benching.peers.celeryapp", "worker", "-P", "threads", "-c", threads)
        return self._start(prefix, "celery", *arguments, "-l", "INFO")

    def dramatiq(self, prefix: str) -> Child:
        threads = str(self._stage.sizes.threads)
        arguments = ("benching.peers.dramatiqapp", "--processes", "1", "--threads", threads)
        return self._start(prefix, "dramatiq", *arguments)

    def bare(self) -> Child:
        return self._start("", "benching.peers.bare")

    def _start(self, prefix: str, *arguments: str) -> Child:
        environ = self._environ | {settings.PREFIX: prefix, settings.CONFIRM: "1"}
        log = self._stage.new_file(f"{Path(arguments[0]).name}.log")
        return Child(python(*arguments), environ, log)

    def fill_dramatiq(self, count: int) -> str:
        """In a process of its own, as its messages need dramatiq's settings; the queue's name."""
        command = python("benching.peers.starting", str(count))
        done = subprocess.run(
            command, env=self._environ, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Broken(f"dramatiq's queue: {done.stderr}")
        return done.stdout.strip()


def _dramatiq_messages(count: int, queue: str) -> Iterator[Raw]:
    from benching.peers.dramatiqapp import encoded

    for body in encoded(plain(each) for each in texts(count)):
        yield Raw(
            exchange="", routing_key=queue, body=body, headers={}, properties=dict(_PERSISTENT)
        )


def main(count: int) -> None:
    from benching.peers import dramatiqapp
    from benching.saying import put

    dramatiqapp.declare()
    broker = settings.told(settings.BROKER)
    with_amqp(broker, _dramatiq_messages(count, dramatiqapp.QUEUE))
    put(dramatiqapp.QUEUE)


if __name__ == "__main__":
    import sys

    main(int(sys.argv[1]))
