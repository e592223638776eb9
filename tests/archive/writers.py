"""Processes that write to an archive: python -m tests.archive.writers WHAT PATH."""

import os
import signal
import sys

from sqlalchemy import event

from notify.store import Store
from tests.archive.letters import dead


def create(url: str) -> None:
    store = Store(url)
    store.create()
    store.add([dead(f"n-{os.getpid()}")])
    store.close()


def die_before_the_commit(url: str) -> None:
    store = Store(url)
    store.add([dead("n-committed")])
    engine = store._database._engine
    event.listen(engine, "commit", lambda _: os.kill(os.getpid(), signal.SIGKILL))
    store.add([dead(f"n-{number}") for number in range(1000)])


if __name__ == "__main__":
    {"create": create, "die": die_before_the_commit}[sys.argv[1]](sys.argv[2])
