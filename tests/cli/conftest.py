"""The command line in this process: quick, and a resource left open is an error."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from notify import cli
from tests.deployment import Deployment
from tests.unit.configs import EMAIL, WEBHOOK, write

# Nobody listens on port 1.
NOWHERE = {
    "NOTIFY_BROKER_URLS": "amqp://guest:hunter2@127.0.0.1:1/notify",
    "NOTIFY_MANAGEMENT_URL": "http://guest:hunter2@127.0.0.1:1",
    "NOTIFY_REDIS_URL": "redis://:hunter2@127.0.0.1:1/0",
}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Runs a command with a valid configuration and no server to be found."""
    main = '[broker]\nconfirm_timeout = "0.5s"\n[redis]\ntimeout = "0.5s"'
    files = {"notify.toml": main, "channels/email.toml": EMAIL, "channels/webhook.toml": WEBHOOK}
    write(tmp_path, files)
    values = NOWHERE | {
        "NOTIFY_CONFIG": str(tmp_path),
        "NOTIFY_ARCHIVE_URL": f"sqlite:///{tmp_path}/archive.sqlite3",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return _runner(capsys)


@pytest.fixture
def shell(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Runs a command with the configuration and the servers of ``deployment``."""
    return shell_of(deployment, monkeypatch, capsys)


def shell_of(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """The same for a deployment that a test made itself."""
    for name, value in deployment.environ.items():
        monkeypatch.setenv(name, value)
    return _runner(capsys)


def _runner(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as left:
            cli.main(list(arguments))
        printed = capsys.readouterr()
        code = left.value.code
        assert isinstance(code, int)
        return Ran(code=code, out=printed.out, err=printed.err)

    return run
