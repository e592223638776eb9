"""Whatever is asked of the archive, it answers as who looks at every letter one by one."""

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from notify.deadletter import DeadLetter
from notify.spelling import canonical
from notify.store import ArchivedLetter, Filter, Store
from notify.store.counting import COUNTABLE, LABEL, SPANS
from notify.store.filters import BEGINNINGS
from tests.archive.letters import ATTEMPT, NOW, dead, replayed

_LETTERS: Final = 150
_QUESTIONS: Final = 60
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "channel": ("sms", "email", "webhook", None),
    "reason": ("refused", "expired", "conflict"),
    "priority": ("urgent", "normal", None),
    "recipient": ("+4915112345678", "Ada@Example.com", "ada@example.com", "nobody at all", None),
    "detail": ("550 No Such User", "", "100 % _x"),
    "code": ("550", "421", ""),
    "provider": ("one", "two", ""),
    "template": ("welcome", "Welcome", None),
    "id": ("plain", "file-a", "schedule:tick:20270301T090000Z"),
    "label": ("spring", "SPRING", "", None),
}
_WANTED: Final[dict[str, tuple[Any, ...]]] = {
    **{name: _VALUES[name] for name in ("channel", "reason", "provider", "code")},
    "recipient": ("+4915112345678", "ADA@example.COM", "nobody at all", ""),
    "template": ("welcome", "missing", ""),
    "batch": ("file-a", "spring", ""),
    "schedule": ("tick", "tock", ""),
    "state": ("open", "replayed", "erased"),
    "text": ("no such", "% _x", "hello 1", "ö"),
    "labels": ((("batch", "spring"),), (("batch", "SPRING"), ("n", "1")), (("n", "2"),)),
    "since": (NOW + timedelta(hours=20),),
    "until": (NOW + timedelta(hours=60),),
}


def _letter(number: int, luck: random.Random) -> DeadLetter:
    has = {name: luck.choice(values) for name, values in _VALUES.items()}
    id = f"file-a:{number}" if has["id"] == "file-a" else f"{has['id']}-{number}"
    labels = {"n": str(number % 3)} | ({} if has["label"] is None else {"batch": has["label"]})
    content = {"body": f"Hello {number % 5} Ö", "template": has["template"]}
    names = ("channel", "reason", "priority", "recipient", "detail")
    return dead(
        id,
        **{name: has[name] for name in names},
        notification=content,
        labels=labels,
        attempts=(ATTEMPT | {"code": has["code"], "provider": has["provider"]},),
        dead_at=NOW + timedelta(hours=luck.randrange(80), microseconds=luck.randrange(3)),
    )


def _same_person(row: ArchivedLetter, recipient: str) -> bool:
    channel, own = row.letter.channel or "", row.letter.recipient or ""
    return canonical(channel, own) == canonical(channel, recipient)


def _fits(row: ArchivedLetter, wanted: Filter) -> bool:
    letter = row.letter
    content = letter.notification or {}
    words = f"{content.get('body')}\n{letter.detail}".casefold()
    own = {name: getattr(letter, name) for name in ("channel", "reason", "provider")}
    own |= {name: getattr(row, name) for name in ("code", "template", "batch", "schedule", "state")}
    return (
        all(getattr(wanted, name) in (None, value or "") for name, value in own.items())
        and (wanted.recipient is None or _same_person(row, wanted.recipient))
        and all(letter.labels.get(name) == value for name, value in wanted.labels)
        and (wanted.text is None or wanted.text.casefold() in words)
        and (wanted.since is None or letter.dead_at >= wanted.since)
        and (wanted.until is None or letter.dead_at < wanted.until)
    )


def _question(luck: random.Random) -> dict[str, Any]:
    names = luck.sample(list(_WANTED), luck.randrange(5))
    return {name: luck.choice([v for v in _WANTED[name] if v is not None]) for name in names}


def _value(field: str) -> Callable[[ArchivedLetter], str]:
    def of(row: ArchivedLetter) -> str:
        if field.startswith(LABEL):
            return row.letter.labels.get(field.removeprefix(LABEL), "")
        if field in SPANS:
            return f"{row.letter.dead_at:%Y-%m-%d}" if field == "day" else _hour(row)
        own = row if field in ("code", "template", "batch", "schedule", "state") else row.letter
        return getattr(own, field) or ""

    return of


def _hour(row: ArchivedLetter) -> str:
    return f"{row.letter.dead_at:%Y-%m-%d %H:00}"


def _begins(question: dict[str, Any]) -> list[str]:
    return [
        name for name, fields in BEGINNINGS.items() if any(question.get(field) for field in fields)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_as_who_looks_at_every_letter(store: Store, seed: int) -> None:
    luck = random.Random(seed)
    store.add([_letter(number, luck) for number in range(_LETTERS)])
    for seq in luck.sample(range(1, _LETTERS + 1), 30):
        replayed(store, seq)
    everything = sorted(store.stream(Filter()), key=lambda row: (row.letter.dead_at, row.seq))
    assert len(everything) == _LETTERS
    for _ in range(_QUESTIONS):
        question, oldest = _question(luck), luck.random() < 0.5
        wanted = Filter(**question, oldest=oldest)
        fitting = [row for row in everything if _fits(row, wanted)]
        expected = [row.seq for row in (fitting if oldest else reversed(fitting))]
        for begin in (None, *_begins(question)):
            begun = Filter(**question, oldest=oldest, begin=begin, limit=None)
            assert [row.seq for row in store.stream(begun)] == expected, (question, begin)
        assert store.count(wanted) == len(expected), question
        _check_pages(store, question, oldest, expected)
        field = luck.choice([*COUNTABLE, *SPANS, f"{LABEL}batch", f"{LABEL}n"])
        counted = Counter(map(_value(field), fitting))
        assert store.counts_by(field, wanted) == counted, (question, field)


def _check_pages(store: Store, question: dict[str, Any], oldest: bool, expected: list[int]) -> None:
    """A page after the last letter of the one before; a page by its number."""
    found: list[int] = []
    while page := store.find(
        Filter(**question, oldest=oldest, limit=7, after=found[-1] if found else None)
    ):
        found += [row.seq for row in page]
    assert found == expected, question
    second = store.find(Filter(**question, oldest=oldest, limit=7, offset=7))
    assert [row.seq for row in second] == expected[7:14], question
