"""The directory in which private servers keep their data, used by one process at a time."""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from notify.errors import Unavailable
from notify.local import identity

LEAST_FREE_MB = 300
# Servers whose parent was killed get five seconds to stop.
WAIT_SECONDS = 8.0
POLL_SECONDS = 0.1


@contextmanager
def locked(directory: Path) -> Iterator[int]:
    """Hold the directory; the lock's descriptor is shared with the servers' guards.

    So a directory whose last owner was killed becomes free when its servers are gone, and
    two servers never work on the same files.
    """
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _acquire(descriptor, directory)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, directory: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{directory} is in use: its servers are already running for another process"
                ) from None
        time.sleep(POLL_SECONDS)


def prepare(directory: Path, *, fresh: bool) -> None:
    """Empty it if asked to; refuse to fill up the disk."""
    if fresh:
        (directory / identity.FILE).unlink(missing_ok=True)
        for part in ("rabbitmq", "redis"):
            shutil.rmtree(directory / part, ignore_errors=True)
    free = shutil.disk_usage(directory).free // 1_000_000
    if free < LEAST_FREE_MB:
        raise Unavailable(
            f"only {free} MB free in {directory}; RabbitMQ and Redis need {LEAST_FREE_MB} MB"
        )


@contextmanager
def usable(directory: Path) -> Iterator[None]:
    """Say in one line what is wrong with the directory."""
    try:
        yield
    except OSError as error:
        what = "the disk is full" if error.errno == errno.ENOSPC else str(error)
        raise Unavailable(f"cannot run servers in {directory}: {what}") from error
