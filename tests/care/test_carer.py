"""Rules are carried out: each letter once, within caps, through kills and by one leader."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notify.care.carer import Answer
from notify.deadletter import DeadLetter
from notify.errors import StoreUnavailable
from notify.outcomes import Reason
from notify.store import Filter, Purge
from notify.store.care import CareBook
from notify.store.people import People
from tests.archive.letters import ATTEMPT, dead
from tests.care.conftest import OWNER, Desk, close_letter, replay_rule

HOUR = timedelta(hours=1)


def letters(number: int, name: str = "n", **changes: Any) -> list[DeadLetter]:
    """That died an hour ago, one a second."""
    begin = datetime.now(UTC) - HOUR
    return [
        dead(f"{name}-{n}", **{"dead_at": begin + timedelta(seconds=n)} | changes)
        for n in range(number)
    ]


def states(book: CareBook) -> dict[str, int]:
    first, last = datetime(2000, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
    return {state: number for (_, state), number in book.done(first, last).items()}


def test_letters_are_sent_again_once(desk: Desk) -> None:
    desk.store.add(letters(5))
    done = desk.look()
    assert (done.looked_at, dict(done.sent)) == (5, {"again": 5})
    assert desk.resend.asked == [("again", [1, 2, 3, 4, 5])]
    assert states(desk.book) == {"replayed": 5}
    assert desk.look().looked_at == 0
    assert len(desk.resend.asked) == 1


def test_what_no_rule_matches_is_left(desk: Desk) -> None:
    desk.store.add([*letters(1), *letters(2, reason=Reason.REFUSED)])
    assert desk.look().looked_at == 3
    assert desk.resend.seqs == [1]
    assert states(desk.book) == {"replayed": 1}


def test_letters_wait_for_their_time(desk: Desk) -> None:
    desk.store.add(letters(2))
    later = desk.settings({"first": "2h", "cap": "2h"})
    desk.look(later)
    assert desk.resend.asked == []
    assert desk.book.waiting() == {"again": 2}


def test_other_rules_look_at_all_letters_anew(desk: Desk) -> None:
    desk.store.add(letters(2))
    desk.look(desk.settings({"first": "2h", "cap": "2h"}))
    desk.look(desk.settings({"first": "1s"}))
    assert desk.resend.seqs == [1, 2]


def test_a_breaker_that_is_open_holds_its_letters_only(desk: Desk) -> None:
    other = ATTEMPT | {"provider": "other"}
    desk.store.add([*letters(2), *letters(1, "x", attempts=(other,))])
    desk.providers.of_provider = {"acme": 0}
    done = desk.look()
    assert desk.resend.seqs == [3]
    assert dict(done.why) == {("again", "its breaker is open"): 2}
    desk.look(desk.settings({"when": "always"}))
    assert sorted(desk.resend.seqs) == [1, 2, 3]


def test_one_letter_finds_out_whether_a_provider_works(desk: Desk) -> None:
    desk.store.add(letters(3))
    desk.providers.letters, desk.providers.why = 1, "its provider is on trial"
    done = desk.look()
    assert desk.resend.seqs == [1]
    assert dict(done.why) == {("again", "its provider is on trial"): 2}


@pytest.mark.parametrize(
    "caps", [({"most_per_hour": 3}, {}), ({}, {"most_per_hour": 3})], ids=["rule", "all rules"]
)
def test_an_hour_has_its_most(desk: Desk, caps: tuple[dict[str, Any], dict[str, Any]]) -> None:
    desk.store.add(letters(5))
    settings = desk.settings(caps[0], **caps[1])
    for _ in range(3):
        done = desk.look(settings)
    assert desk.resend.seqs == [1, 2, 3]
    assert dict(done.why) == {("again", "most_per_hour is reached"): 2}


def test_a_look_takes_what_the_rate_allows(desk: Desk) -> None:
    desk.store.add(letters(10))
    settings = desk.settings({"rate": 2}, every="2s")
    assert desk.look(settings).more
    assert desk.resend.seqs == [1, 2, 3, 4]
    assert desk.look(settings).more
    assert not desk.look(settings).more
    assert desk.resend.seqs == list(range(1, 11))


def test_a_rule_or_all_can_be_paused(desk: Desk) -> None:
    desk.store.add(letters(2))
    desk.book.pause("again", "ann: the gateway is being moved")
    assert dict(desk.look().why) == {("again", "paused"): 2}
    desk.book.pause("", "ann")
    assert desk.book.resume("again")
    assert not desk.book.resume("again")
    assert dict(desk.look().why) == {("again", "paused"): 2}
    assert [(pause.rule, pause.by) for pause in desk.book.pauses()] == [("", "ann")]
    assert desk.book.resume("")
    desk.look()
    assert desk.resend.seqs == [1, 2]


def test_what_is_too_old_is_given_up(desk: Desk) -> None:
    desk.store.add(letters(1))
    desk.providers.letters = 0
    desk.look(desk.settings({"not_after": "2h"}))
    assert states(desk.book) == {"waiting": 1}
    desk.book.give_up("again", datetime.now(UTC), "it is older than not_after")
    assert states(desk.book) == {"given up": 1}
    desk.store.add(letters(1, "old", dead_at=datetime.now(UTC) - 3 * HOUR))
    assert desk.look(desk.settings({"not_after": "2h"})).looked_at == 0


def test_an_answer_decides_what_becomes_of_a_letter(desk: Desk) -> None:
    desk.store.add(letters(3))
    desk.resend.answers = {1: Answer(note="expired"), 2: Answer(note="not confirmed", later=True)}
    done = desk.look()
    assert (dict(done.sent), dict(done.refused)) == ({"again": 1}, {"again": 2})
    assert states(desk.book) == {"refused": 1, "waiting": 1, "replayed": 1}
    desk.look()
    assert desk.resend.seqs == [1, 2, 3], "not before a minute has passed"


def test_a_kill_in_the_middle_is_gone_on_with(desk: Desk) -> None:
    desk.store.add(letters(3))

    def killed() -> None:
        raise StoreUnavailable("the disk is away")

    desk.resend.trouble = killed
    with pytest.raises(StoreUnavailable):
        desk.look()
    assert states(desk.book) == {"replaying": 3}
    desk.resend.trouble = lambda: None
    desk.resend.recovered = {1: Answer(), 2: Answer(note="expired")}
    desk.look()
    assert desk.resend.asked[1:] == [("again", [3])]
    assert states(desk.book) == {"replayed": 2, "refused": 1}


def test_what_was_taken_counts_whatever_came_of_it(desk: Desk) -> None:
    desk.store.add(letters(5))
    desk.resend.trouble = lambda: (_ for _ in ()).throw(StoreUnavailable())
    settings = desk.settings({"most_per_hour": 3})
    with pytest.raises(StoreUnavailable):
        desk.look(settings)
    assert desk.book.sent_again(3600) == {"again": 3}


def test_what_a_person_sends_again_is_theirs(desk: Desk, archive_url: str) -> None:
    desk.store.add(letters(2))
    desk.look(desk.settings({"first": "2h", "cap": "2h"}))
    close_letter(desk.store, archive_url, 1)
    desk.look(desk.settings({"first": "2h", "cap": "2h"}))
    assert states(desk.book) == {"waiting": 1, "overtaken": 1}


def test_what_was_erased_meanwhile_was_not_sent(desk: Desk, archive_url: str) -> None:
    """Its archiver was killed between taking and sending."""
    desk.store.add(letters(2))
    desk.resend.trouble = lambda: (_ for _ in ()).throw(StoreUnavailable())
    with pytest.raises(StoreUnavailable):
        desk.look()
    with closing(People(archive_url)) as people:
        people.erase([1])
    desk.resend.trouble = lambda: None
    done = desk.look()
    assert (dict(done.sent), dict(done.refused)) == ({"again": 1}, {"again": 1})
    assert desk.resend.asked[-1] == ("again", [2])
    case = desk.book.case(1)
    assert case is not None
    assert (case.state, case.note) == ("refused", "it was erased")


def test_one_leads(desk: Desk, archive_url: str) -> None:
    with closing(CareBook(archive_url)) as other:
        assert not other.lead("host:2", 60)
        assert desk.book.lead(OWNER, 60)
        assert other.leader() == OWNER
        desk.book.resign(OWNER)
        assert other.lead("host:2", 60)
        assert other.leader() == "host:2"
        desk.store.add(letters(1))
        desk.look()
        assert desk.resend.asked == [], "who leads no more takes nothing"


def test_a_lease_ends_by_itself(desk: Desk) -> None:
    assert desk.book.lead(OWNER, -1)
    assert desk.book.leader() is None
    assert desk.book.lead("host:2", 60)


def test_held_letters_are_listed_until_somebody_cares(desk: Desk, archive_url: str) -> None:
    desk.store.add(letters(3))
    settings = desk.settings({"action": "hold"})
    desk.look(settings)
    (held,) = desk.book.held()
    assert (held.rule, held.channel, held.letters) == ("again", "sms", 3)
    assert held.reason == "recipient_refused"
    close_letter(desk.store, archive_url, 2)
    assert desk.book.held()[0].letters == 2
    assert desk.resend.asked == []


def test_cases_go_with_their_letters(desk: Desk) -> None:
    desk.store.add(letters(3))
    desk.look()
    desk.store.purge(Purge(wanted=Filter(), open_before=None, keep=1))
    assert states(desk.book) == {"replayed": 1}


def test_many_pages(desk: Desk) -> None:
    desk.store.add(letters(1100, attempts=(ATTEMPT,)))
    assert desk.look(desk.settings(replay_rule(rate=1000))).looked_at == 1100
    assert len(desk.resend.seqs) == 500


def test_what_may_not_be_visible_yet_is_waited_for(desk: Desk, archive_url: str) -> None:
    """On PostgreSQL a lower number may be committed after a higher one; SQLite has one writer."""
    desk.store.add(letters(2))
    since = datetime.now(UTC) - 2 * HOUR
    found, reached = desk.book.unseen(0, since, 60, 10)
    alone = archive_url.startswith("sqlite")
    assert (len(found), reached) == ((2, 2) if alone else (0, 0))
    found, reached = desk.book.unseen(0, since, -60, 10)
    assert (len(found), reached) == (2, 2)
    assert desk.book.unseen(reached, since, -60, 10) == ([], 2)
