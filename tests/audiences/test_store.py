"""What the archive knows of batches that nobody runs, on each kind of database."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from notify.store.batches import (
    FINISHED,
    PAUSED,
    RUNNING,
    Batch,
    Batches,
    BatchFailure,
    BatchProgress,
)
from notify.store.firingbatches import FiringBatches


@pytest.fixture
def batches(archive_url: str) -> Iterator[Batches]:
    with closing(Batches(archive_url)) as opened:
        opened.create()
        yield opened


def test_only_who_has_it_amends_it(batches: Batches) -> None:
    batches.add(Batch(name="amended", source={"kind": "schedule"}))
    taken = batches.take("amended", "me", lambda _: False, 10, only=(RUNNING,))
    assert taken is not None
    known = replace(taken, source={"kind": "x"}, fingerprint="f", rate=2.5, total=7)
    assert not batches.amend(known, "other")
    assert not batches.amend(known, None)
    assert batches.amend(known, "me")
    found = batches.get("amended")
    assert found is not None
    assert (found.source, found.fingerprint, found.rate, found.total, found.owner) == (
        {"kind": "x"},
        "f",
        2.5,
        7,
        "me",
    )


def test_what_is_paused_meanwhile_is_not_taken(batches: Batches) -> None:
    batches.add(Batch(name="paused"))
    assert batches.order("paused", PAUSED, (RUNNING,))
    assert batches.take("paused", "me", lambda _: False, 10, only=(RUNNING,)) is None
    assert batches.take("paused", "me", lambda _: False, 10) is not None


def test_those_that_are_not_over(batches: Batches) -> None:
    for name in ("unfinished-1", "unfinished-2", "unfinished-3"):
        batches.add(Batch(name=name))
    batches.order("unfinished-2", PAUSED, (RUNNING,))
    found = [each.name for each in batches.unfinished() if each.name.startswith("unfinished")]
    assert found == ["unfinished-1", "unfinished-3"]
    later = datetime.now(UTC) + timedelta(minutes=1)
    assert batches.unfinished(later) == []


def test_firings_are_forgotten_once_they_are_over(archive_url: str) -> None:
    firing = {"kind": "schedule", "schedule": "x"}
    failure = BatchFailure(number=1, id="x", error="x")
    with closing(FiringBatches(archive_url)) as batches:
        batches.create()
        for name, source in (("over", firing), ("under-way", firing), ("file", {"path": "x"})):
            batches.add(Batch(name=name, source=source))
        for name in ("over", "file"):
            assert batches.take(name, "me", lambda _: False, 10)
            progress = BatchProgress(failures=(failure,))
            assert batches.save(name, "me", progress, leave=FINISHED) == FINISHED
        now = datetime.now(UTC)
        assert batches.forget(now - timedelta(minutes=1)) == 0
        assert batches.forget(now + timedelta(minutes=1)) == 1
        found = [batches.get(name) is not None for name in ("over", "under-way", "file")]
        assert found == [False, True, True]
        assert (batches.failures("over"), batches.failures("file")) == ([], [failure])
