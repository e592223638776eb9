"""A Redis of our own, configured as the ledger needs it: durable, and never evicting."""

import os
from functools import partial
from pathlib import Path

from notify.local.identity import Identity
from notify.local.ports import LOOPBACK
from notify.local.readiness import redis_answers
from notify.local.server import Program

CONFIG = """\
# Written at every start; changes made here are lost.
bind {host}
port {port}
daemonize no
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
"""


def redis_program(executable: Path, directory: Path, identity: Identity) -> Program:
    """The server's working directory is where it keeps its data."""
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "redis.conf"
    config.write_text(CONFIG.format(host=LOOPBACK, port=identity.ports["redis"]))
    return Program(
        name="Redis",
        command=(str(executable), str(config)),
        directory=directory,
        environment=os.environ,
        answers=partial(redis_answers, identity),
    )
