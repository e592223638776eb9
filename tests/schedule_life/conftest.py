"""Schedules with a database and Redis keys of their own, and a clock that is set."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from notify.config import Settings
from notify.local import Servers
from notify.store.occurrences import Occurrences
from notify.store.schedules import Schedules
from tests.cli.conftest import Ran
from tests.cli.conftest import _runner as runner
from tests.schedule_life.rig import Rig
from tests.unit.configs import EMAIL, WEBHOOK, load


@pytest.fixture
def schedules(archive_url: str) -> Iterator[Schedules]:
    with closing(Schedules(archive_url)) as opened:
        opened.create()
        yield opened


@pytest.fixture
def occurrences(archive_url: str) -> Iterator[Occurrences]:
    with closing(Occurrences(archive_url)) as opened:
        opened.create()
        yield opened


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """SQLite, unless a test asks for both."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield f"sqlite:///{tmp_path}/archive.sqlite3"
        return
    with request.getfixturevalue("postgres").database() as url:
        yield url


@pytest.fixture
def environ(database_url: str, servers: Servers) -> dict[str, str]:
    return {
        "NOTIFY_ARCHIVE_URL": database_url,
        "NOTIFY_REDIS_URL": servers.redis_url,
        "NOTIFY_REDIS_PREFIX": f"t{uuid4().hex[:8]}",
        # Nobody listens there: what is tested here publishes nothing.
        "NOTIFY_BROKER_URLS": "amqp://guest:guest@127.0.0.1:1/notify",
    }


@pytest.fixture
def settings(tmp_path: Path, environ: dict[str, str]) -> Settings:
    root = tmp_path / "config"
    (root / "schedules").mkdir(parents=True)
    return load(root, {"channels/email.toml": EMAIL, "channels/webhook.toml": WEBHOOK}, **environ)


@pytest.fixture
def shell(
    settings: Settings,
    tmp_path: Path,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Ran]:
    """Runs a command, given as one text; what follows are further arguments."""
    for name, value in (environ | {"NOTIFY_CONFIG": str(tmp_path / "config")}).items():
        monkeypatch.setenv(name, value)
    run = runner(capsys)
    return lambda line, *more: run(*shlex.split(line), *more)


@pytest.fixture
def rig(settings: Settings) -> Iterator[Rig]:
    with closing(Rig(settings)) as made:
        yield made
