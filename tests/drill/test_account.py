"""The account as a table: what passes, and what must not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from notify.drill.account import (
    LATE_LOG,
    SETTLING,
    TRANSIT,
    Account,
    Evidence,
    Letter,
    Seen,
    recoveries,
    take_account,
)
from notify.drill.plan import Fault, Kind

DELAY = 0.4
QUEUES = {
    "text": "sms-normal",
    "other": "sms-urgent",
    "mail": "email-normal",
    "hook": "webhook-urgent",
    "gone": "webhook-urgent",
}


def fault(kind: Kind = Kind.WORKER_KILL, queue: str = "", at: float = 100.0) -> Fault:
    return Fault(kind=kind, queue=queue, at=at, struck=at, until=at)


def seen(
    id: str, at: float, *, accepted: bool = True, cut: bool = False, spare: bool = False
) -> Seen:
    return Seen(id=id, at=at, accepted=accepted, cut=cut, spare=spare)


def letter(id: str | None, reason: str, at: float = 110.0) -> Letter:
    return Letter(id=id, reason=reason, at=at)


# All five delivered, but for the one that its recipient refuses.
GOOD = Evidence(
    published=tuple(QUEUES),
    queues=QUEUES,
    resending=("email", "webhook"),
    seen=(
        seen("text", 90.0),
        seen("other", 91.0),
        seen("mail", 99.9),
        seen("hook", 93.0),
        seen("gone", 94.0, accepted=False),
    ),
    letters=(letter("gone", "endpoint_gone"),),
    faults=(fault(queue="email-normal"),),
    longest_delay=DELAY,
)


def account(**changes: Any) -> Account:
    return take_account(replace(GOOD, **changes))


def more(*items: Seen) -> Sequence[Seen]:
    return (*GOOD.seen, *items)


def letters(*items: Letter) -> Sequence[Letter]:
    return (*GOOD.letters, *items)


def test_a_good_account_adds_up() -> None:
    good = account()
    assert good.problems == ()
    assert good.once == {"text", "other", "mail", "hook"}
    assert (good.repeated, good.unknown, good.in_flight) == (0, 0, 1)
    assert good.archived == {"endpoint_gone": 1}
    assert good.lost == set()


def test_a_mail_in_flight_at_the_kill_of_its_worker_may_come_twice() -> None:
    found = account(seen=more(seen("mail", 108.0)))
    assert found.problems == ()
    assert (found.repeated, found.unknown) == (1, 1)
    assert "mail" not in found.once


def test_an_unknown_text_is_archived_and_may_have_been_delivered() -> None:
    faults = (fault(queue="sms-normal", at=90.2),)
    found = account(faults=faults, letters=letters(letter("text", "unknown_outcome")))
    assert found.problems == ()
    assert (found.unknown, found.archived["unknown_outcome"]) == (1, 1)
    assert "text" in found.once


def test_one_that_is_neither_here_nor_there_is_lost() -> None:
    found = account(seen=GOOD.seen[1:])
    assert found.lost == {"text"}
    assert found.problems == ("1 lost",)


def test_a_failed_attempt_is_no_delivery() -> None:
    assert account(seen=(seen("text", 90.0, accepted=False), *GOOD.seen[1:])).lost == {"text"}


def test_one_that_was_never_confirmed_is_not_lost() -> None:
    assert account(published=tuple(QUEUES)[1:], seen=GOOD.seen[1:]).problems == ()


def test_a_text_that_comes_twice_fails_even_when_it_was_in_flight() -> None:
    found = account(faults=(fault(queue="sms-normal", at=90.2),), seen=more(seen("text", 98.0)))
    assert found.wrongly_repeated == {"text"}
    assert found.problems == ("1 delivered again without a fault or against the policy",)


WINDOW = (100.0 - DELAY - SETTLING, 100.0 + TRANSIT)


@pytest.mark.parametrize(
    ("arrival", "queue", "kind", "allowed"),
    [
        (WINDOW[0], "webhook-urgent", Kind.WORKER_KILL, True),
        (WINDOW[1], "webhook-urgent", Kind.WORKER_KILL, True),
        (WINDOW[0] - 0.01, "webhook-urgent", Kind.WORKER_KILL, False),
        (WINDOW[1] + 0.01, "webhook-urgent", Kind.WORKER_KILL, False),
        # Another worker's death explains nothing.
        (100.0, "webhook-normal", Kind.WORKER_KILL, False),
        (100.0, "", Kind.REDIS_KILL, True),
        (100.0, "", Kind.GATEWAY_CLOSED, True),
        # These leave nothing unknown.
        (100.0, "", Kind.BROKER_RESTART, False),
        (100.0, "", Kind.BROKER_KILL, False),
        (100.0, "", Kind.ARCHIVER_KILL, False),
        (100.0, "", Kind.GATEWAY_BUSY, False),
        (100.0, "", Kind.PROVIDER_OUTAGE, False),
        (100.0, "", Kind.DISK_FULL, False),
    ],
)
def test_what_counts_as_in_flight(arrival: float, queue: str, kind: Kind, allowed: bool) -> None:
    sent = [each for each in GOOD.seen if each.id != "hook"]
    twice = (*sent, seen("hook", arrival), seen("hook", 120.0))
    found = account(faults=(fault(kind, queue),), seen=twice)
    assert (found.wrongly_repeated == set()) is allowed
    assert bool(found.problems) is not allowed


def test_a_fault_that_lasts_has_sends_in_flight_all_the_time() -> None:
    away = Fault(kind=Kind.REDIS_KILL, at=80.0, struck=80.1, until=99.0)
    assert account(faults=(away,)).in_flight == 4


def test_redis_may_have_forgotten_its_last_seconds() -> None:
    """It excuses; but what is merely excused does not raise the number of sends in flight."""
    arrival = 100.0 - DELAY - SETTLING - LATE_LOG
    sent = [each for each in GOOD.seen if each.id not in ("hook", "mail")]
    twice = (*sent, seen("mail", 99.9), seen("hook", arrival), seen("hook", 120.0))
    found = account(faults=(fault(Kind.REDIS_KILL),), seen=twice)
    assert (found.problems, found.unknown, found.in_flight) == ((), 1, 1)


def test_each_delivery_but_the_last_needs_an_excuse() -> None:
    found = account(seen=more(seen("mail", 105.0), seen("mail", 109.0)))
    assert found.wrongly_repeated == {"mail"}
    assert found.unknown == 2


def test_a_request_that_the_gateway_cut_is_in_flight() -> None:
    cut = seen("text", 90.0, accepted=False, cut=True)
    found = account(
        faults=(),
        seen=(cut, *GOOD.seen[1:]),
        letters=letters(letter("text", "unknown_outcome")),
    )
    assert (found.problems, found.in_flight, found.unknown) == ((), 1, 1)


def test_too_many_unknown_fail() -> None:
    """As many as there are, and one that nobody saw: a worker died before its request left."""
    unseen = tuple(each for each in GOOD.seen if each.id not in ("text", "other"))
    unknown = letters(letter("text", "unknown_outcome"), letter("other", "unknown_outcome"))
    found = account(seen=unseen, letters=unknown)
    assert found.problems == ("2 unknown, but only 1 sends in flight",)
    assert account(seen=GOOD.seen[1:], letters=unknown[:-1]).problems == ()


def test_unknown_repeats_and_unknown_letters_are_added_up() -> None:
    found = account(
        seen=more(seen("mail", 108.0))[1:], letters=letters(letter("text", "unknown_outcome"))
    )
    assert (found.unknown, found.in_flight) == (2, 1)
    assert found.problems == ("2 unknown, but only 1 sends in flight",)


@pytest.mark.parametrize("reason", ["unknown_outcome", "retries_exhausted", "conflict"])
def test_what_was_known_to_be_delivered_must_not_be_archived(reason: str) -> None:
    found = account(letters=letters(letter("hook", reason)), faults=[*GOOD.faults] * 3)
    assert found.wrongly_archived == {"hook"}
    assert found.archived[reason] == 1
    assert "1 archived although the outcome was known" in found.problems


def test_a_letter_without_id_is_counted_and_hides_no_loss() -> None:
    found = account(seen=GOOD.seen[1:], letters=letters(letter(None, "unparseable")))
    assert found.archived["unparseable"] == 1
    assert found.problems == ("1 lost",)


def test_recovery_is_the_first_delivery_through_the_queue_that_suffered() -> None:
    faults = (
        fault(queue="webhook-urgent", at=92.0),
        fault(queue="sms-urgent", at=92.0),
        fault(Kind.BROKER_KILL, at=92.0),
        fault(Kind.ARCHIVER_KILL, at=92.0),
        fault(queue="email-urgent", at=92.0),
    )
    assert recoveries(replace(GOOD, faults=faults)) == [1.0, None, 1.0, 18.0, None]


def test_what_was_under_way_is_no_recovery() -> None:
    struck = Fault(kind=Kind.BROKER_RESTART, at=90.5, struck=93.0, until=98.0)
    assert recoveries(replace(GOOD, faults=(struck,))) == [pytest.approx(9.4)]
