"""A person is erased from the archive, in every place, once, and provably."""

import json
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.config import Settings
from notify.deadletter import DeadLetter
from notify.outcomes import Reason
from notify.privacy import Known, erase, everything, facts, find, person
from notify.privacy.erasing import Erased
from notify.store import Filter, Store, engine
from notify.store.batches import Batch
from notify.store.people import People
from notify.store.replayrows import ReplayRun
from notify.store.replays import Replays
from tests.archive.conftest import on_postgresql
from tests.archive.letters import ATTEMPT, NOW, dead, raw, replayed, sms
from tests.postgres import PostgresServer
from tests.privacy.conftest import NUMBER, Blocked, Books
from tests.unit.configs import load
from tests.waiting import eventually

OTHER = "+4917099999999"
PATHS = ("hook/2", "hook?x=1", "Hook", "hook.json", "hooks")
SAID = ATTEMPT | {"answer": "no such user +49 151 12345678", "detail": "550 no such user"}
Found = Callable[[], Known]
Erase = Callable[..., Erased]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(tmp_path, {"notify.toml": '[broker]\nmanagement_url = "http://127.0.0.1:1"'})


def theirs(id: str = "a", **changes: Any) -> DeadLetter:
    return dead(id, attempts=(SAID,), headers={"x": NUMBER}, trace="00-ab", **changes)


def other(id: str = "b", body: str = "Hello", **changes: Any) -> DeadLetter:
    notification = sms(id, recipient=OTHER, body=body).to_dict()
    return dead(id, recipient=OTHER, notification=notification, **changes)


@pytest.fixture
def found(settings: Settings, people: People, books: Books, blocked: Blocked) -> Found:
    return lambda: find(settings, person(NUMBER), people, books, blocked)


@pytest.fixture
def run(found: Found, people: People, books: Books, blocked: Blocked) -> Erase:
    def act(mentions: bool = False) -> Erased:
        return erase(found(), people, books, blocked, actor="ann", mentions=mentions)

    return act


def everything_in(store: Store) -> str:
    """All that the database holds, as text."""
    lines = []
    with store._database.reading() as connection:
        for table in (
            "dead_letters",
            "dead_labels",
            "replays",
            "reveals",
            "replay_runs",
            "replay_letters",
            "erasures",
            "care_state",
            "batches",
        ):
            rows = connection.exec_driver_sql(f"SELECT * FROM {table}").all()
            lines += [
                f"{table}: {[bytes(v) if isinstance(v, memoryview) else v for v in row]}"
                for row in rows
            ]
    return "\n".join(lines)


def test_a_stub_stays_for_statistics(store: Store, run: Erase) -> None:
    store.add([theirs("a"), theirs("file-2f:17", reason=Reason.REFUSED), other()])
    assert run().letters == 2
    (row,) = store.get(1)
    letter = row.letter
    assert (row.state, letter.channel, letter.reason) == ("erased", "sms", "recipient_refused")
    assert letter.dead_at == NOW
    assert (letter.id, letter.recipient, letter.notification, letter.labels) == (
        None,
        None,
        None,
        {},
    )
    assert letter.attempts[0]["provider"] == "acme"
    assert letter.attempts[0]["code"] == "550"
    assert "answer" not in letter.attempts[0]
    assert store.counts_by("reason", Filter()) == {"recipient_refused": 2, "refused": 1}
    assert store.count(Filter(batch="file-2f")) == 1
    assert store.count(Filter(recipient=NUMBER)) == 0
    assert store.get("b")[0].letter.recipient == OTHER
    for trace in ("15112345678", "151 12345678", "Привет", "user +49", "00-ab", "file-2f:17"):
        assert trace not in everything_in(store)


def test_once_more_changes_nothing(store: Store, run: Erase, people: People) -> None:
    store.add([theirs()])
    assert run().letters == 1
    before = everything_in(store)
    assert run().letters == 0
    assert everything_in(store) == before
    assert len(people.erasures_of(person(NUMBER).key)) == 1


def test_a_copy_of_an_erased_letter_does_not_bring_it_back(store: Store, run: Erase) -> None:
    store.add([theirs()])
    run()
    assert store.add([theirs()]) == 0
    assert "15112345678" not in everything_in(store)
    assert store.add([theirs("new")]) == 1, "what is new is there again"
    assert run().letters == 1


def test_letters_that_come_meanwhile_go_as_well(
    store: Store, found: Found, people: People, books: Books, blocked: Blocked
) -> None:
    store.add([theirs()])
    known = found()
    store.add([theirs("later")])
    done = erase(known, people, books, blocked, actor="ann", mentions=False)
    assert done.letters == 2
    assert "later" in books.erased


def test_letters_arrive_while_others_are_erased(archive_url: str, store: Store, run: Erase) -> None:
    store.add([theirs(f"n-{n}") for n in range(150)])

    def arrive() -> None:
        with closing(Store(archive_url)) as own:
            for n in range(10):
                own.add([other(f"o-{n}")])

    thread = threading.Thread(target=arrive)
    thread.start()
    try:
        assert run().letters == 150
    finally:
        thread.join()
    assert store.count(Filter(state="open")) == 10


@on_postgresql
def test_a_replay_that_is_noted_meanwhile(
    archive_url: str, postgres: PostgresServer, store: Store, run: Erase
) -> None:
    """Each waits for the other's rows, unless both take them in the same order."""
    store.add([theirs()])
    batch = Batch(name="r", source={"path": "-"})
    with closing(Replays(archive_url)) as replays:
        replays.begin(ReplayRun(name="r", actor="ann"), batch, [1])
    erased: list[Erased] = []
    thread = threading.Thread(target=lambda: erased.append(run()))
    name = archive_url.rpartition("/")[2]
    waits = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{name}' AND wait_event_type = 'Lock'"
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE replay_letters SET result = 'sent'")
        thread.start()
        eventually(lambda: postgres.execute("postgres", waits), "the erasure waits")
        connection.exec_driver_sql("UPDATE dead_letters SET state = 'replayed'")
    thread.join()
    assert [each.letters for each in erased] == [1]


def test_messages_that_nobody_could_read(store: Store, run: Erase, found: Found) -> None:
    store.add(
        [
            raw(b"\xff to: 0049 151 12345678"),
            raw(json.dumps({"to": NUMBER, "é": "\u00e9"}).encode()),
            raw(b"junk"),
            dead("bare", channel="sms", recipient="0151 12345678", notification=None),
            dead("odd", channel="sms", recipient="0151-12345678", notification={"x": NUMBER}),
        ]
    )
    assert len(facts(found())["unreadable_messages"]) == 4
    assert run().messages == 4
    assert store.count(Filter(state="erased")) == 4


def test_letters_to_others_are_left_unless_told(store: Store, run: Erase) -> None:
    store.add([other("b", "call 0151 12345678, please"), other("c")])
    done = run()
    assert (done.mentions, done.letters) == (0, 0)
    assert done.left == ["1 letters to others name them (1): --mentions erases them"]
    assert run(mentions=True).mentions == 1
    assert [row.letter.id for row in store.find(Filter(state="open"))] == ["c"]


@pytest.mark.parametrize(
    ("channel", "recipient", "others"),
    [
        ("email", "brien@example.com", ["o'brien@example.com", "x=brien@example.com"]),
        ("email", "ada@example.com", ["ada@example.com.au", "not-ada@example.com"]),
        ("webhook", "https://example.com/hook", [f"https://example.com/{p}" for p in PATHS]),
        ("sms", "+12015550123", ["+492015550123", "+120155501234"]),
    ],
)
def test_whoever_has_a_part_of_their_name_is_somebody_else(
    store: Store,
    settings: Settings,
    people: People,
    books: Books,
    blocked: Blocked,
    channel: str,
    recipient: str,
    others: list[str],
) -> None:
    store.add(
        [
            dead(f"n-{n}", channel=channel, recipient=each, notification={"recipient": each})
            for n, each in enumerate([recipient, recipient.upper(), f"<{recipient}>", *others])
            if each == recipient or channel == "email" or n > 1
        ]
    )
    known = find(settings, person(recipient, "US"), people, books, blocked)
    erase(known, people, books, blocked, actor="ann", mentions=False)
    left = [row.letter.recipient for row in store.find(Filter(state="open", oldest=True))]
    assert left == others


def test_a_number_that_is_a_number(store: Store, run: Erase) -> None:
    store.add([other()])
    digits = NUMBER.removeprefix("+")
    for note in (digits, f'{{"to": [{digits}], "n": 1, "x": true}}'):
        replayed(store, 1, ok=False, note=note)
    assert run().texts == {"replays": 2}
    assert [each.note for each in store.replays_of(1)] == [
        '"[erased]"',
        '{"to":["[erased]"],"n":1,"x":true}',
    ]


def test_texts_beside_the_letters(archive_url: str, store: Store, run: Erase, found: Found) -> None:
    store.add([theirs(), other()])
    replayed(store, 2, ok=False, note=f"sent to {NUMBER} instead")
    store.note_reveal("ann", f"dead list --recipient {NUMBER}", 1)
    with closing(Replays(archive_url)) as replays, replays._database.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO replay_runs (name, at, actor, wanted, terms, edits, content) VALUES "
            "('r', 0, 'ann', '{\"text\":\"\\u00e9 0151 12345678\"}', '{}', '{}', "
            f'\'{{"recipient":"{NUMBER}"}}\')'
        )
    assert facts(found())["texts"] == {"replays": 1, "reveals": 1, "replay_runs": 1}
    done = run()
    assert done.texts == {"replays": 1, "reveals": 1, "replay_runs": 1}
    (reveal,) = store.reveals(9)
    assert reveal.what == "dead list --recipient [erased]"
    with closing(Replays(archive_url)) as replays:
        kept = replays.get("r")
    assert isinstance(kept, ReplayRun)
    assert kept.wanted == {"text": "é [erased]"}
    assert kept.content == {"recipient": "[erased]"}
    assert "12345678" not in everything_in(store)


def test_the_ledger_comes_first(store: Store, run: Erase, books: Books) -> None:
    store.add([theirs("a"), theirs("z")])
    books.known = {"a"}
    assert run().records == 1
    assert books.erased == ["a"]


def test_whether_somebody_was_erased(store: Store, run: Erase, people: People) -> None:
    who = person(NUMBER)
    assert people.erasures_of(who.key) == []
    store.add([theirs()])
    run()
    (erasure,) = people.erasures_of(who.key)
    assert (erasure.actor, erasure.letters) == ("ann", 1)
    assert people.erasures_of(person(OTHER).key) == []
    assert people.latest_erasures(9) == [erasure]
    assert who.key not in everything_in(store)


def test_nothing_of_them_is_left_in_the_files(
    tmp_path: Path, settings: Settings, books: Books, blocked: Blocked
) -> None:
    url, who = f"sqlite:///{tmp_path}/files.sqlite3", person(NUMBER)
    with closing(Store(url)) as store, closing(People(url)) as people:
        store.create()
        for start in range(0, 1000, 100):
            some = range(start, start + 100)
            times = {n: NOW + timedelta(days=n * 7919 % 1000) for n in some}
            # Rows are moved from page to page while some come between others.
            store.add([(other if n % 3 else theirs)(f"n-{n}", dead_at=times[n]) for n in some])
        known = find(settings, who, people, books, blocked)
        assert erase(known, people, books, blocked, actor="ann", mentions=False).shredded
        files = list(tmp_path.glob("files.sqlite3*"))
        assert files
        for trace in (b"15112345678", who.key.encode()):
            assert not [file for file in files if trace in file.read_bytes()]


def test_the_files_cannot_be_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes, or reads for long: that is said, and is no error."""
    monkeypatch.setattr(engine, "_BUSY_SECONDS", 0.1)
    url = f"sqlite:///{tmp_path}/files.sqlite3"
    with closing(Store(url)) as store, closing(People(url)) as people:
        store.create()
        with store._database.writing():
            assert not people.shred()
        with store._database.reading() as connection:
            connection.exec_driver_sql("SELECT * FROM meta").fetchone()
            assert not people.shred()
        assert people.shred()


def test_what_is_known_is_shown_and_exported(
    store: Store, found: Found, books: Books, people: People
) -> None:
    store.add([theirs(), other("b", f"ask {NUMBER}")])
    books.known = {"a"}
    shown = facts(found())
    assert (shown["letters"], shown["mentions"], shown["ledger"]) == (1, [2], 1)
    assert shown["letters_by_reason"] == {"recipient_refused": 1}
    assert NUMBER not in json.dumps(shown)
    assert shown["queues"] is None
    exported = everything(found(), people)
    assert exported["recipient"] == NUMBER
    assert exported["dead_letters"][0]["notification"]["recipient"] == NUMBER
    assert exported["ledger_records"][0]["id"] == "a"


def test_what_strangers_put_into_names_goes_too(store: Store, run: Erase) -> None:
    strange = {"provider": "ada@example.com", "code": f"no {NUMBER}", "at": NUMBER, "ms": NUMBER}
    store.add([dead("a", attempts=(SAID | strange,), priority="+4917011111111")])
    assert run().letters == 1
    (row,) = store.get(1)
    assert (row.letter.priority, row.letter.provider, row.code) == (None, None, None)
    assert row.letter.attempts[0] == {
        "generation": 1,
        "attempt": 1,
        "outcome": "permanent",
        "reason": "recipient_refused",
        "detail": "",
        "code": "",
    }
    assert "example.com" not in everything_in(store)
