"""A bare system for those who follow the index from there; without one that is not collected."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systemd.host import Host
from tests.systemd.machine import Machine

_IMAGE = os.environ.get("NOTIFY_SYSTEMD_ROOT", "")
collect_ignore = [] if _IMAGE else ["test_from_bare.py"]


@pytest.fixture
def bare() -> Iterator[Host]:
    """With servers, which are there instead of a network; without Notify."""
    with Machine(Path(_IMAGE)) as machine:
        yield Host(machine)
