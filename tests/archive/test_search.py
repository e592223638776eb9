"""Finding and counting dead letters."""

from datetime import timedelta
from typing import Any

import pytest

from notify.errors import NotFound
from notify.outcomes import Reason
from notify.store import Filter, Store
from tests.archive.letters import ATTEMPT, NOW, dead, raw, sms


def letter(id: str, hours: int = 0, **changes: Any) -> Any:
    return dead(id, **{"dead_at": NOW + timedelta(hours=hours)} | changes)


@pytest.fixture
def filled(store: Store) -> Store:
    mail = {"channel": "email", "recipient": "Ada@Example.com", "labels": {"team": "shop"}}
    rendered = sms("t", template="welcome", subject=None).to_dict()
    store.add(
        [
            letter("file-2f:17", 0),
            letter("file-2f:18", 1, reason=Reason.REFUSED),
            letter("schedule:stand-up:20270301T090000Z", 2, **mail),
            letter("coded", 3, attempts=(ATTEMPT, ATTEMPT | {"code": "451", "provider": "two"})),
            letter("labelled", 4, labels={"team": "shop", "batch": "spring", "odd": "a\x00\ud800"}),
            letter("templated", 5, notification=rendered),
            letter("nobody", 6, channel=None, recipient="not a number"),
            letter("worded", 7, notification={"subject": "100 % GRÜN_", "data": {"order": 4711}}),
            raw(b"junk").evolve(dead_at=NOW + timedelta(hours=8)),
        ]
    )
    return store


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(batch="file-2f"), ["file-2f:18", "file-2f:17"]),
        (Filter(batch="file-2f", reason="refused", channel="sms"), ["file-2f:18"]),
        (Filter(batch="spring"), ["labelled"]),
        (Filter(schedule="stand-up"), ["schedule:stand-up:20270301T090000Z"]),
        (Filter(schedule="stand"), []),
        (Filter(code="451"), ["coded"]),
        (Filter(provider="two", code="451"), ["coded"]),
        (Filter(template="welcome"), ["templated"]),
        (Filter(recipient="ada@EXAMPLE.com"), ["schedule:stand-up:20270301T090000Z"]),
        (Filter(recipient="not a number"), ["nobody"]),
        (Filter(labels=(("team", "shop"),)), ["labelled", "schedule:stand-up:20270301T090000Z"]),
        (Filter(labels=(("team", "shop"),), channel="sms"), ["labelled"]),
        (Filter(labels=(("team", "shop"),), id="labelled"), ["labelled"]),
        (Filter(labels=(("team", "shop"),), until=NOW + timedelta(hours=3), limit=9), ["schedule"]),
        (Filter(labels=(("odd", "a\x00\ud800"),)), ["labelled"]),
        (Filter(labels=(("team", "shop"),), oldest=True), ["schedule", "labelled"]),
        (Filter(text="grün_"), ["worded"]),
        (Filter(text="100 % g"), ["worded"]),
        (Filter(text="100 _ g"), []),
        (Filter(text="4711"), ["worded"]),
        (Filter(text="ПРИВЕТ", reason="refused"), ["file-2f:18"]),
        (Filter(text="no such user", limit=1), ["worded"]),
        (Filter(oldest=True, limit=2), ["file-2f:17", "file-2f:18"]),
        (Filter(id="coded", channel="sms", reason="recipient_refused", since=NOW), ["coded"]),
        (Filter(id="coded", channel="email"), []),
        (Filter(provider=""), ["None"]),
        (Filter(channel="", reason="recipient_refused"), ["nobody"]),
        (Filter(id=""), ["None"]),
        (Filter(after=3), ["file-2f:18", "file-2f:17"]),
        (Filter(after=2, oldest=True, limit=2), ["schedule", "coded"]),
        (Filter(after=5, labels=(("team", "shop"),)), ["schedule"]),
    ],
)
def test_what_is_found(filled: Store, wanted: Filter, found: list[str]) -> None:
    ids = [str(row.letter.id) for row in filled.find(wanted)]
    assert [id.partition(":")[0] for id in ids] == [id.partition(":")[0] for id in found]
    if wanted.limit == 50 and wanted.after is None:
        assert filled.count(wanted) == filled.count(wanted, 1000) == len(found)


def test_pages_hold_each_letter_once(filled: Store) -> None:
    """Although many died at the same moment."""
    filled.add([letter(f"same-{n}", 3) for n in range(7)])
    for oldest in (False, True):
        seqs: list[int] = []
        while page := filled.find(Filter(limit=3, after=seqs[-1] if seqs else None, oldest=oldest)):
            seqs += [row.seq for row in page]
        assert len(seqs) == len(set(seqs)) == 16
        assert [row.seq for row in filled.find(Filter(limit=None, oldest=oldest))] == seqs


def test_a_page_after_what_is_not_there(store: Store) -> None:
    with pytest.raises(NotFound, match="no dead letter 5"):
        store.find(Filter(after=5))


def test_a_stream_holds_all_of_it(store: Store) -> None:
    store.add([letter(f"n-{n}", n % 7) for n in range(1203)])
    streamed = [row.seq for row in store.stream(Filter())]
    assert streamed == [row.seq for row in store.find(Filter(limit=None))]
    assert len(streamed) == 1203


@pytest.mark.parametrize(
    ("field", "counts"),
    [
        ("batch", {"": 6, "file-2f": 2, "spring": 1}),
        ("schedule", {"": 8, "stand-up": 1}),
        ("code", {"550": 7, "": 1, "451": 1}),
        ("template", {"": 8, "welcome": 1}),
        ("provider", {"acme": 7, "": 1, "two": 1}),
        ("label.team", {"ops": 6, "shop": 2, "": 1}),
        ("label.none", {"": 9}),
        ("day", {"2026-03-01": 9}),
    ],
)
def test_counts(filled: Store, field: str, counts: dict[str, int]) -> None:
    assert filled.counts_by(field, Filter()) == counts


def test_counts_by_hour_and_of_some(filled: Store) -> None:
    by_hour = filled.counts_by("hour", Filter(batch="file-2f"))
    assert list(by_hour.items()) == [("2026-03-01 12:00", 1), ("2026-03-01 13:00", 1)]
    assert filled.counts_by("label.team", Filter(labels=(("team", "shop"),))) == {"shop": 2}
    assert filled.count(Filter(), at_most=4) == 4
    with pytest.raises(NotFound, match=r"label\.NAME"):
        filled.counts_by("recipient", Filter())


def test_a_repeated_letter_has_its_labels_once(store: Store) -> None:
    for _ in range(2):
        store.add([letter("a"), letter("a")])
    assert store.counts_by("label.team", Filter()) == {"ops": 1}


def test_who_looked_is_noted(store: Store) -> None:
    store.note_reveal("ann", "dead show 1", 1)
    store.note_reveal("bob", "dead list", 50)
    assert [(each.actor, each.letters) for each in store.reveals(10)] == [("bob", 50), ("ann", 1)]
    assert len(store.reveals(1)) == 1
