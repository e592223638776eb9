"""Each thing that keeps private servers from starting is one line that says what to do."""

import errno
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from notify.errors import Unavailable
from notify.local import PrivateServers, executables, ports, servers
from notify.local.diagnosis import explain
from notify.local.identity import Identity, load_or_create


def refusal(directory: Path, *, rabbitmq: bool = True, redis: bool = True) -> str:
    with pytest.raises(Unavailable) as caught:
        PrivateServers(directory, rabbitmq=rabbitmq, redis=redis).__enter__()
    message = str(caught.value)
    assert "\n" not in message
    return message


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_missing_programs_are_named_with_their_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(executables.RABBITMQ_OVERRIDE, raising=False)
    monkeypatch.setattr(executables, "SYSTEM_PATH", "")
    monkeypatch.setattr(executables, "RABBITMQ_PLACES", ())
    message = refusal(tmp_path)
    assert "not installed: rabbitmq-server, redis-server; run ops/setup" in message
    assert "apt-get install rabbitmq-server redis-server" in message
    assert "rabbitmq" not in refusal(tmp_path, rabbitmq=False)


def test_an_override_that_cannot_be_executed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(executables.RABBITMQ_OVERRIDE, str(tmp_path / "none"))
    assert refusal(tmp_path).endswith(f"names {tmp_path / 'none'}, which cannot be executed")


@pytest.mark.broker
def test_a_node_that_ends_during_its_start_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = script(tmp_path / "server", "echo; echo 'BOOT FAILED: no luck'; echo ====; exit 1")
    monkeypatch.setenv(executables.RABBITMQ_OVERRIDE, server)
    log = tmp_path / "rabbitmq" / "output.log"
    message = refusal(tmp_path, redis=False)
    assert message == f"RabbitMQ stopped: BOOT FAILED: no luck; see {log}"


@pytest.mark.broker
@pytest.mark.redis
@pytest.mark.slow
@pytest.mark.parametrize("name", ["amqp", "redis"])
def test_a_port_in_use(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the choice of a port and its use somebody may take it."""
    with socket.create_server((ports.LOOPBACK, 0)) as taken:

        def choose(directory: Path) -> Identity:
            known = load_or_create(directory)
            return replace(known, ports=known.ports | {name: taken.getsockname()[1]})

        monkeypatch.setattr(servers, "load_or_create", choose)
        message = refusal(tmp_path, rabbitmq=name != "redis", redis=name == "redis")
    assert "a port that it needs is in use" in message


def test_a_disk_that_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = SimpleNamespace(free=299_000_000)
    monkeypatch.setattr("notify.local.directory.shutil.disk_usage", lambda _: free)
    assert refusal(tmp_path).startswith(f"only 299 MB free in {tmp_path}; ")


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("notify.local.identity._save", write)
    assert refusal(tmp_path) == f"cannot run servers in {tmp_path}: the disk is full"


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert refusal(path).startswith(f"cannot run servers in {path}: ")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", "it said nothing"),
        ("starting\nready soon\n\n=====\n", "ready soon"),
        ("error: no such user\nplease read the manual\n", "error: no such user"),
        ("{error,eaddrinuse}\nmore\n", "a port that it needs is in use"),
        ("write failed: No space left on device\n", "no space left on the disk"),
    ],
)
def test_the_telling_line_of_the_output(output: str, reason: str, tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text(output)
    assert explain("RabbitMQ", log).startswith(f"RabbitMQ stopped: {reason}")


@pytest.mark.parametrize(
    "ask", [lambda p: p.stop_broker(), lambda p: p.broker_pid, lambda p: p.restart_redis()]
)
def test_a_server_that_was_not_asked_for(
    ask: Callable[[PrivateServers], object], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="not asked for"):
        ask(PrivateServers(tmp_path, rabbitmq=False, redis=False))
