"""A full disk without privileges: what the archive sees of it."""

import sqlite3.dbapi2
from collections.abc import Iterator
from pathlib import Path

import pytest

from notify.drill.cramped import cramp
from notify.drill.disk import SmallDisk
from notify.errors import StoreUnavailable
from notify.store import Filter, Store
from tests.archive.letters import dead


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallDisk:
    store = Store(_url(tmp_path))
    store.create()
    store.close()
    small = SmallDisk(tmp_path / "archive.sqlite3", letters=50)
    # To be put back after the test.
    monkeypatch.setattr(sqlite3.dbapi2, "connect", sqlite3.dbapi2.connect)
    cramp(small.pages)
    return small


@pytest.fixture
def store(disk: SmallDisk, tmp_path: Path) -> Iterator[Store]:
    opened = Store(_url(tmp_path))
    yield opened
    opened.close()


def _url(directory: Path) -> str:
    return f"sqlite:///{directory / 'archive.sqlite3'}"


def test_all_letters_of_a_drill_fit(store: Store) -> None:
    for number in range(50):
        store.add([dead(f"n-{number}")])
    assert store.count(Filter()) == 50


def test_a_full_disk_fails_as_sqlite_does_and_goes_on_with_room(
    store: Store, disk: SmallDisk
) -> None:
    store.add([dead("first")])
    disk.fill()
    with pytest.raises(StoreUnavailable, match="database or disk is full"):
        store.add([dead(f"n-{number}") for number in range(50)])
    assert store.count(Filter()) == 1
    disk.clear()
    assert store.add([dead(f"n-{number}") for number in range(50)]) == 50


def test_it_can_be_filled_again(store: Store, disk: SmallDisk) -> None:
    for turn in range(3):
        disk.fill()
        with pytest.raises(StoreUnavailable, match="full"):
            store.add([dead(f"{turn}-{number}") for number in range(20)])
        disk.clear()
    assert store.add([dead(f"n-{number}") for number in range(20)]) == 20
