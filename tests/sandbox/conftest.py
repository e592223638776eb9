from collections.abc import Iterator
from pathlib import Path

import pytest

from notify.sandbox import Sandbox, SandboxClient


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "received.jsonl"


@pytest.fixture
def sandbox(record: Path) -> Iterator[Sandbox]:
    with Sandbox(record) as running:
        yield running


@pytest.fixture(params=["inside", "client"])
def either(request: pytest.FixtureRequest, sandbox: Sandbox) -> Sandbox | SandboxClient:
    return sandbox if request.param == "inside" else SandboxClient(sandbox.http_url)
