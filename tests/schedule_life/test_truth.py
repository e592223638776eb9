"""Every change is in the database first, and then in Redis."""

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

import pytest

from notify.config import Settings
from notify.errors import ConfigError, InvalidInput, LedgerUnavailable, NotFound, UsageError
from notify.schedule.stored import ACTIVE, ASLEEP
from notify.schedule.truth import Truth
from tests.schedule_life.rig import HOUR, NOW, Rig, spec

pytestmark = pytest.mark.redis
both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@both
def test_what_is_added_is_in_both(rig: Rig) -> None:
    rig.truth.add(spec("a", note="for the team"), "ann", source="x.toml")
    stored, row = rig.book.get("a"), rig.truth.row("a")
    assert stored.spec == rig.truth.get("a") == spec("a", note="for the team")
    assert (stored.state, stored.watermark) == (ACTIVE, NOW)
    assert row is not None
    assert (row.created_by, row.source, row.kind, row.since) == ("ann", "x.toml", "every", NOW)
    assert row.revision == stored.revision == spec("a").revision


def test_a_name_in_use_is_refused(rig: Rig) -> None:
    rig.add(spec("a"))
    with pytest.raises(InvalidInput, match="name: there is a schedule 'a'; remove it first"):
        rig.add(spec("a", body="other"))
    rig.book.put(spec("only-in-redis"))
    with pytest.raises(InvalidInput, match="there is a schedule 'only-in-redis'"):
        rig.add(spec("only-in-redis"))
    assert rig.truth.row("only-in-redis") is None


def test_an_edit_of_the_words_keeps_its_times(rig: Rig) -> None:
    rig.add(spec("a"))
    rig.clock.now += 3 * HOUR
    rig.truth.change("a", lambda old: spec("a", body="other"), "bob")
    stored, row = rig.book.get("a"), rig.truth.row("a")
    assert stored.spec == spec("a", body="other")
    assert stored.watermark == NOW
    assert row is not None
    assert (row.since, row.created_by, row.changed_by) == (NOW, "ann", "bob")


def test_an_edit_of_the_times_fires_nothing_of_the_past(rig: Rig) -> None:
    rig.add(spec("a"))
    rig.clock.now += timedelta(minutes=1)
    rig.truth.change("a", lambda old: spec("a", every=60), "bob")
    row = rig.truth.row("a")
    assert row is not None
    assert row.since == rig.book.get("a").watermark == rig.clock.now


def test_a_note_reaches_redis_too(rig: Rig) -> None:
    rig.add(spec("a"))
    rig.truth.change("a", lambda old: old.evolve(note="why"), "bob")
    stored = rig.book.get("a").spec
    assert stored is not None
    assert stored.note == rig.truth.get("a").note == "why"


@both
def test_of_two_edits_at_once_one_is_told(rig: Rig, settings: Settings) -> None:
    rig.add(spec("a"))

    def edit(old: object) -> object:
        with Truth(settings) as other:
            other.change("a", lambda _: spec("a", body="first"), "bob")
        return spec("a", body="second")

    with pytest.raises(UsageError, match="a: somebody else changed it meanwhile"):
        rig.truth.change("a", edit, "ann")  # type: ignore[arg-type]
    stored = rig.book.get("a").spec
    assert stored is not None
    assert stored.content["body"] == "first"


def test_paused_and_resumed(rig: Rig) -> None:
    rig.add(spec("a"))
    rig.truth.pause("a", "bob")
    row = rig.truth.row("a")
    assert row is not None
    assert (rig.book.get("a").state, row.paused, row.changed_by) == (ASLEEP, True, "bob")
    rig.clock.now += 5 * HOUR
    rig.truth.resume("a", "bob")
    row, stored = rig.truth.row("a"), rig.book.get("a")
    assert row is not None
    assert (stored.state, stored.watermark, row.since) == (ACTIVE, rig.clock.now, rig.clock.now)
    rig.clock.now += HOUR
    rig.truth.resume("a", "bob")
    assert rig.book.get("a").watermark == rig.clock.now - HOUR


@pytest.mark.parametrize(
    "act",
    [
        lambda truth: truth.pause("a", ""),
        lambda truth: truth.resume("a", ""),
        lambda truth: truth.remove("a", ""),
        lambda truth: truth.change("a", lambda old: old, ""),
    ],
    ids=["pause", "resume", "remove", "change"],
)
def test_what_is_not_there(rig: Rig, act: Callable[[Truth], None]) -> None:
    for _ in range(2):
        with pytest.raises(NotFound, match="there is no schedule 'a'"):
            act(rig.truth)
        rig.add(spec("a"))
        rig.truth.remove("a", "")


def test_what_only_redis_has_is_written_down_when_it_is_changed(rig: Rig) -> None:
    for name in ("a", "b", "c"):
        rig.book.put(spec(name))
    rig.truth.pause("a", "bob")
    rig.truth.change("b", lambda old: spec("b", body="other"), "bob")
    rig.truth.remove("c", "bob")
    a, b = rig.truth.row("a"), rig.truth.row("b")
    assert a is not None and b is not None
    assert (a.paused, rig.book.get("a").state) == (True, ASLEEP)
    assert b.revision == rig.book.get("b").revision == spec("b", body="other").revision
    assert rig.names() == ["a", "b"]


def test_without_redis_the_database_has_it(settings: Settings, rig: Rig) -> None:
    rig.add(spec("a"))
    away = settings.model_copy(
        update={"redis": settings.redis.model_copy(update={"url": "redis://127.0.0.1:1/0"})}
    )
    with Truth(away, clock=rig.clock) as truth:
        with pytest.raises(LedgerUnavailable) as caught:
            truth.add(spec("b"), "ann")
        assert "the database has" not in str(caught.value)
        assert truth.row("b") is None


def test_a_change_that_redis_did_not_get_is_said_and_made_later(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.add(spec("a"), spec("b"), spec("c"))
    rig.look()

    def away(*_: object, **__: object) -> None:
        raise LedgerUnavailable("Redis: ConnectionError")

    with monkeypatch.context() as patch:
        patch.setattr(rig.book.shelf, "read", away)
        patch.setattr(rig.book.shelf, "remove", away)
        for act in (
            lambda: rig.truth.remove("a", ""),
            lambda: rig.truth.pause("b", ""),
            lambda: rig.truth.change("c", lambda _: spec("c", body="other"), ""),
        ):
            with pytest.raises(LedgerUnavailable, match="the database has the change, and the"):
                act()
    assert rig.names() == ["a", "b", "c"]
    assert rig.look() == {"removed": 1, "state": 1, "stale": 1}
    assert rig.names() == ["b", "c"]
    assert rig.book.get("b").state == ASLEEP
    assert rig.book.get("c").revision == spec("c", body="other").revision
    assert rig.look() == {}


def test_redis_of_another_database_is_not_touched(
    rig: Rig, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rig.add(spec("a"))
    rig.look()
    url = f"sqlite:///{tmp_path_factory.mktemp('other')}/b.sqlite3"
    archive = settings.archive.model_copy(update={"url": url})
    with closing(Rig(settings.model_copy(update={"archive": archive}))) as other:
        for act in (
            lambda: other.add(spec("b")),
            lambda: other.truth.remove("a", ""),
            lambda: other.truth.pause("a", ""),
        ):
            with pytest.raises(ConfigError, match="another database"):
                act()
        assert other.report().foreign
        assert other.reconciler.restore(dry=True).foreign
        assert rig.names() == ["a"]
        report = other.reconciler.restore(dry=False, take_over=True)
        assert report.findings.counts == {"unknown": 1}
        assert other.truth.get("a") == spec("a")
        other.add(spec("b"))
    assert rig.report().foreign


def test_redis_alone(rig: Rig, settings: Settings) -> None:
    alone = settings.schedules.model_copy(update={"truth": "redis"})
    with Truth(settings.model_copy(update={"schedules": alone}), clock=rig.clock) as truth:
        truth.add(spec("a"), "ann")
        truth.change("a", lambda _: spec("a", body="other"), "ann")
        truth.pause("a", "ann")
        assert truth.get("a") == spec("a", body="other").evolve(paused=True)
        truth.resume("a", "ann")
        truth.remove("a", "ann")
        assert truth.row("a") is None
    assert rig.truth.row("a") is None
