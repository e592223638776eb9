"""Audiences with a database of their own."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from notify.config import Settings
from tests.audiences.rig import Rig
from tests.unit.configs import load


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    root = tmp_path / "config"
    (root / "templates").mkdir(parents=True)
    return load(root, {}, NOTIFY_ARCHIVE_URL=f"sqlite:///{tmp_path}/state/archive.sqlite3")


@pytest.fixture
def rig(settings: Settings) -> Iterator[Rig]:
    with closing(Rig(settings)) as made:
        yield made
