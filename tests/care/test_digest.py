"""The daily digest: when, what, to whom; once, whoever tells it."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.care import digest
from notify.care.telling import Teller
from notify.config import DigestSettings, Settings
from notify.errors import BrokerUnavailable
from notify.notification import Notification
from notify.outcomes import Reason
from notify.store import Store
from notify.store.care import CareBook, Case, Held
from notify.store.digests import News, last_digest, news
from tests.archive.letters import ATTEMPT, dead, raw
from tests.unit.configs import EMAIL, load

AT = '[care.digest]\nat = "08:00"\nzone = "Europe/Berlin"\n'
MAIL = f'{AT}channel = "email"\nrecipient = "ops@example.com"\n'
NOTHING = timedelta(0)
PERSON = "+4915112345678"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "at", "planned"),
    [
        ("2027-01-10T06:59", "08:00", ("2027-01-09", "2027-01-09T07:00")),
        ("2027-01-10T07:00", "08:00", ("2027-01-10", "2027-01-10T07:00")),
        ("2027-01-10T23:30", "08:00", ("2027-01-10", "2027-01-10T07:00")),
        ("2027-07-10T06:00", "08:00", ("2027-07-10", "2027-07-10T06:00")),
        # The clocks go forward at 02:00, and back at 03:00.
        ("2027-03-28T12:00", "02:30", ("2027-03-28", "2027-03-28T01:30")),
        ("2027-10-31T12:00", "02:30", ("2027-10-31", "2027-10-31T00:30")),
    ],
)
def test_when_it_is_due(now: str, at: str, planned: tuple[str, str]) -> None:
    settings = DigestSettings(
        at=at, zone="Europe/Berlin", channel="email", recipient="ops@example.com"
    )
    day, instant = digest.planned(utc(now), settings)
    assert (str(day), instant) == (planned[0], utc(planned[1]))


class Sender:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[Notification] = []
        self.trouble = False

    def send(self, notification: Notification) -> str:
        if self.trouble:
            raise BrokerUnavailable
        self.sent.append(notification)
        return notification.id


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(tmp_path, {"notify.toml": MAIL, "channels/email.toml": EMAIL})


@pytest.fixture
def sender() -> Sender:
    return Sender()


@pytest.fixture
def teller(settings: Settings, book: CareBook, sender: Sender) -> Teller:
    return Teller(settings, book, sender)


def tomorrow(days: int = 1) -> datetime:
    """Nine in the morning, so many days from now."""
    now = datetime.now(UTC) + timedelta(days=days)
    return now.replace(hour=9, minute=0)


def fill(store: Store) -> None:
    strange = ATTEMPT | {"provider": "ada@example.com", "code": f"no {PERSON}"}
    store.add(
        [
            *(dead(f"n-{n}", attempts=(ATTEMPT | {"provider": "texts"},)) for n in range(3)),
            dead("m", channel="email", reason=Reason.REFUSED, attempts=(strange,)),
            raw().evolve(channel=f"to {PERSON}"),
        ]
    )


def test_what_is_new_is_told_once(teller: Teller, store: Store, sender: Sender) -> None:
    fill(store)
    assert teller.tell(tomorrow(), NOTHING)
    assert not teller.tell(tomorrow(), NOTHING)
    (sent,) = sender.sent
    assert sent.id == f"care-digest:{tomorrow():%Y-%m-%d}"
    assert (sent.channel, sent.recipient) == ("email", "ops@example.com")
    assert sent.subject == "Notify: 5 new dead letters, 5 open"
    body = sent.body or ""
    for part in (
        "3  recipient_refused, sms, texts",
        "1  refused, email, another",
        "1  unparseable, none, none",
        "3  550, sms, texts",
    ):
        assert part in body
    assert "example.com" not in body
    assert PERSON not in body
    assert "Привет" not in body


def test_nothing_new_is_nothing_to_tell(teller: Teller, store: Store, sender: Sender) -> None:
    assert not teller.tell(tomorrow(), NOTHING)
    fill(store)
    assert teller.tell(tomorrow(2), NOTHING)
    assert not teller.tell(tomorrow(3), NOTHING)
    assert len(sender.sent) == 1


def test_it_can_be_sent_always(
    tmp_path: Path, book: CareBook, store: Store, sender: Sender
) -> None:
    files = {"notify.toml": f"{MAIL}always = true", "channels/email.toml": EMAIL}
    teller = Teller(load(tmp_path, files), book, sender)
    assert teller.tell(tomorrow(), NOTHING)
    assert sender.sent[0].subject == "Notify: 0 new dead letters, 0 open"


def test_after_a_gap_one_tells_all(teller: Teller, store: Store, sender: Sender) -> None:
    fill(store)
    assert teller.tell(tomorrow(), NOTHING)
    store.add([dead("later").evolve(dead_at=tomorrow(2))])
    first = last_digest(teller._book.database, tomorrow(99))
    assert first is not None
    assert teller.tell(tomorrow(9), NOTHING)
    assert len(sender.sent) == 2
    assert f"From {first.until:%Y-%m-%d %H:%M}" in (sender.sent[1].body or "")


def test_until_it_is_confirmed_it_is_the_same(teller: Teller, store: Store, sender: Sender) -> None:
    fill(store)
    sender.trouble = True
    with pytest.raises(BrokerUnavailable):
        teller.tell(tomorrow(), NOTHING)
    store.add([dead("after")])
    sender.trouble = False
    assert teller.tell(tomorrow(), NOTHING)
    assert sender.sent[0].subject == "Notify: 5 new dead letters, 5 open"
    assert not teller.tell(tomorrow(), NOTHING)


def test_two_tell_the_same(
    settings: Settings, book: CareBook, archive_url: str, store: Store
) -> None:
    fill(store)
    senders = [Sender(), Sender()]
    with closing(CareBook(archive_url)) as other:
        for own, sender in zip((book, other), senders, strict=True):
            sender.trouble = True
            with pytest.raises(BrokerUnavailable):
                Teller(settings, own, sender).tell(tomorrow(), NOTHING)
            store.add([dead("between")])
    (first, second) = (
        digest.notification(settings.care.digest, each.name, each.content)  # type: ignore[arg-type]
        for each in [last_digest(book.database, tomorrow(99))] * 2
        if each is not None
    )
    assert first.digest == second.digest


def test_what_is_held_comes_with_its_command(
    teller: Teller, store: Store, book: CareBook, sender: Sender
) -> None:
    fill(store)
    (row,) = store.get("m")
    book.open([Case(dead_seq=row.seq, rule="unknown", state="held", due_at=row.letter.dead_at)])
    teller.tell(tomorrow(), NOTHING)
    assert sender.sent[0].subject == "Notify: 5 new dead letters, 5 open, 1 held for a person"
    command = "notify dead list --state open --reason refused --channel email"
    assert command in (sender.sent[0].body or "")


@pytest.mark.parametrize(
    ("channel", "recipient"), [("sms", "+491701234567"), ("webhook", "https://example.com/hook")]
)
def test_other_channels(channel: Any, recipient: str, teller: Teller, store: Store) -> None:
    fill(store)
    told = teller.preview(tomorrow())
    made = digest.notification(
        DigestSettings(channel=channel, recipient=recipient), "2027-01-01", told
    )
    assert made.size < 4000
    if channel == "sms":
        assert made.body == "Notify: 5 new dead letters, 5 open. More: notify care digest"
    else:
        assert json.loads(json.dumps(made.data)) == told


def test_a_preview_sends_and_writes_nothing(
    teller: Teller, store: Store, book: CareBook, sender: Sender
) -> None:
    fill(store)
    assert teller.preview(datetime.now(UTC) + timedelta(seconds=1))["new"] == 5
    assert sender.sent == []
    assert last_digest(book.database, tomorrow(99)) is None


def test_letters_that_were_numbered_in_another_order(teller: Teller, store: Store) -> None:
    """Two archivers at the time of the digest: whose batch was later may have lower numbers."""
    store.add([dead(f"n-{n}") for n in range(4)])
    until = tomorrow().replace(hour=8, minute=0, second=0, microsecond=0)
    with store._database.writing() as connection:
        for seq, seconds in ((1, -9), (2, 1), (3, 1), (4, -1)):
            at = int((until + timedelta(seconds=seconds)).timestamp() * 1_000_000)
            change = f"UPDATE dead_letters SET archived_at = {at} WHERE seq = {seq}"
            connection.exec_driver_sql(change)
    told = news(teller._book.database, 0, until)
    assert (sum(told.counts.values()), told.last_seq) == (2, 1)
    later = news(teller._book.database, told.last_seq, until + timedelta(days=1))
    assert (sum(later.counts.values()), later.last_seq) == (3, 4)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("550", True),
        ("E-42", True),
        ("5.1.1", True),
        ("AdaLovelace", False),
        ("ada_1815", False),
        ("49151123456", False),
        ("151.123.456", False),
    ],
)
def test_codes_that_could_be_somebody(settings: Settings, code: str, told: bool) -> None:
    found = News(last_seq=1, counts={}, codes={("email", "mail", code): 1})
    facts = digest.facts(
        settings, since=utc("2027-01-01"), until=utc("2027-01-02"), news=found, done={}, held=[]
    )
    assert bool(facts["codes"]) is told


def test_a_reason_that_nobody_knows(settings: Settings) -> None:
    """Anybody may have published it."""
    held = Held(
        rule="ask", channel="sms", reason="AdaLovelace", letters=1, oldest=utc("2027-01-01")
    )
    facts = digest.facts(
        settings,
        since=utc("2027-01-01"),
        until=utc("2027-01-02"),
        news=News(last_seq=1, counts={("AdaLovelace", "sms", ""): 1}),
        done={},
        held=[held],
    )
    assert "Ada" not in json.dumps(facts)
    assert facts["held"][0]["command"] == "notify dead list --state open --channel sms"


def test_a_clock_that_was_a_year_ahead(teller: Teller, store: Store, sender: Sender) -> None:
    assert not teller.tell(tomorrow(400), NOTHING)
    fill(store)
    assert teller.tell(tomorrow(), NOTHING)
    assert not teller.tell(tomorrow(), NOTHING)
    assert teller.preview(tomorrow(2))["new"] == 0
    assert len(sender.sent) == 1
