"""One system, booted once. Without one (ops/test --systemd) only what needs none is collected."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systemd.host import Host
from tests.systemd.machine import Machine

_IMAGE = os.environ.get("NOTIFY_SYSTEMD_ROOT", "")
collect_ignore = [] if _IMAGE else ["test_on_systemd.py"]


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """Bare: with servers, without Notify."""
    with Machine(Path(_IMAGE)) as machine:
        yield Host(machine)
