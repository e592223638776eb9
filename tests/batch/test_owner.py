"""Who runs a batch, and whether it still does."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notify.batch.owner import LEASE_SECONDS, lives, this_process, where
from notify.store.batches import Batch
from tests.deployment import ROOT


def batch(owner: str | None, *, seconds_ago: float = 0.0) -> Batch:
    beat = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    return Batch(name="b", owner=owner, beat_at=beat)


def other(**changes: Any) -> str:
    return json.dumps(json.loads(this_process()) | changes)


def test_this_process_lives_however_long_it_was_silent() -> None:
    assert lives(batch(this_process(), seconds_ago=10 * LEASE_SECONDS))
    assert where(batch(this_process())) == f"on {os.uname().nodename}, process {os.getpid()}"


def test_a_process_that_is_gone_does_not_live_even_if_another_has_its_number() -> None:
    program = (
        "from notify.batch.owner import this_process; import sys; sys.stdout.write(this_process())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not lives(batch(ran.stdout))
    assert not lives(batch(other(started=1)))


@pytest.mark.parametrize("machine", ["another", ""])
def test_of_another_machine_only_its_silence_is_known(machine: str) -> None:
    owner = other(machine=machine)
    assert lives(batch(owner, seconds_ago=LEASE_SECONDS - 5))
    assert not lives(batch(owner, seconds_ago=LEASE_SECONDS + 1))


@pytest.mark.parametrize("owner", ["", "no JSON", "[]"])
def test_what_cannot_be_read_is_somebody_elsewhere(owner: str) -> None:
    assert where(batch(owner)) == "on another host, process ?"
    assert not lives(batch(owner, seconds_ago=LEASE_SECONDS + 1))
