"""What a directory of private servers remembers."""

import socket
from pathlib import Path

import pytest

from notify.local import ports
from notify.local.identity import FILE, load_or_create


def test_ports_are_different_free_and_below_the_ephemeral_range() -> None:
    chosen = ports.choose("abcdefgh")
    lowest_ephemeral = int(ports.EPHEMERAL_RANGE.read_text().split()[0])
    assert len(set(chosen.values())) == 8
    assert all(ports.is_free(port) for port in chosen.values())
    assert all(ports.LOWEST <= port < lowest_ephemeral for port in chosen.values())


def test_without_a_range_the_kernel_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "EPHEMERAL_RANGE", tmp_path / "none")
    assert len(set(ports.choose("ab").values())) == 2


def test_all_is_kept_while_the_ports_are_free(tmp_path: Path) -> None:
    assert load_or_create(tmp_path) == load_or_create(tmp_path)


def test_only_the_ports_change_when_one_is_taken(tmp_path: Path) -> None:
    first = load_or_create(tmp_path)
    with socket.create_server((ports.LOOPBACK, first.ports["redis"])):
        second = load_or_create(tmp_path)
    assert second.ports["redis"] != first.ports["redis"]
    assert (second.node, second.password) == (first.node, first.password)
    assert load_or_create(tmp_path) == second


@pytest.mark.parametrize("text", ["", "{", "[]", '{"node": 1}'])
def test_a_damaged_file_is_replaced(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    assert load_or_create(tmp_path) == load_or_create(tmp_path)
