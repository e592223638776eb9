"""The account of a drill in which texts and mails have a second provider."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from notify.drill.account import Account, Evidence, Letter, Seen, take_account
from notify.drill.plan import Fault, Kind
from notify.drill.report import account_dict, account_lines, wrong_ids

# Somebody hung up on everyone at the first gateway, and it was away for four seconds.
CLOSED = Fault(kind=Kind.GATEWAY_CLOSED, at=100.0, struck=100.1, until=104.0)
QUEUES = {
    "text": "sms-urgent",
    "other": "sms-normal",
    "mail": "email-normal",
    "hook": "webhook-normal",
    "nobody": "sms-normal",
}


def seen(id: str, at: float, *, accepted: bool = True, spare: bool = False) -> Seen:
    return Seen(id=id, at=at, accepted=accepted, spare=spare)


def letter(id: str, reason: str) -> Letter:
    return Letter(id=id, reason=reason, at=110.0)


GOOD = Evidence(
    published=tuple(QUEUES),
    refused=("nobody",),
    queues=QUEUES,
    resending=("email", "webhook"),
    spared=("sms", "email"),
    seen=(
        seen("text", 90.0),
        seen("hook", 91.0),
        seen("other", 92.0, accepted=False),
        seen("other", 92.1, spare=True),
        seen("mail", 101.0, spare=True),
        seen("nobody", 102.0, accepted=False, spare=True),
    ),
    letters=(letter("nobody", "refused"),),
    faults=(CLOSED,),
    longest_delay=0.4,
)


def account(**changes: Any) -> Account:
    return take_account(replace(GOOD, **changes))


def test_what_the_spare_delivered_is_counted_by_channel() -> None:
    good = account()
    assert good.problems == ()
    assert good.once == {"text", "other", "mail", "hook"}
    assert good.by_spare == {"email": 1, "sms": 1}
    # A closed gateway hangs up on nobody at the other one.
    assert (good.unknown, good.in_flight) == (0, 0)


def test_a_spare_that_had_nothing_to_do_is_shown_with_zero() -> None:
    only_first = [replace(each, spare=False) for each in GOOD.seen]
    assert account(seen=only_first).by_spare == {"email": 0, "sms": 0}
    assert account(spared=()).by_spare == {}


def test_the_account_for_people_has_a_line_for_each_channel() -> None:
    lines = account_lines({"account": account_dict(account())})
    assert ("delivered by the spare, email", "1") in lines
    assert ("archived: refused", "1") in lines


# As if it had been in flight at the first gateway when that was closed.
IN_FLIGHT = 99.9


@pytest.mark.parametrize(
    ("sends", "allowed"),
    [
        ([seen("mail", IN_FLIGHT), seen("mail", 101.0, spare=True)], True),
        # The first outcome was known.
        ([seen("mail", 95.0), seen("mail", 101.0, spare=True)], False),
        # The spare answers whatever happens to the first, and in whatever order it is written.
        ([seen("mail", IN_FLIGHT, spare=True), seen("mail", 107.0)], False),
        ([seen("mail", 107.0), seen("mail", IN_FLIGHT, spare=True)], False),
        ([seen("mail", IN_FLIGHT, spare=True), seen("mail", 107.0, spare=True)], False),
        # Texts are not sent again when the outcome is unknown.
        ([seen("text", IN_FLIGHT), seen("text", 101.0, spare=True)], False),
        # It was not taken.
        ([seen("text", IN_FLIGHT, accepted=False), seen("text", 101.0, spare=True)], True),
    ],
)
def test_both_accept_only_what_was_in_flight_at_the_first(
    sends: Sequence[Seen], allowed: bool
) -> None:
    id = sends[0].id
    rest = [each for each in GOOD.seen if each.id != id]
    found = account(seen=[*rest, *sends])
    assert found.wrongly_repeated == (set() if allowed else {id})
    assert bool(found.problems) is not allowed


@pytest.mark.parametrize("spare", [False, True])
def test_a_killed_worker_leaves_sends_in_flight_at_both(spare: bool) -> None:
    killed = Fault(kind=Kind.WORKER_KILL, queue="email-normal", at=100.0, struck=100.0, until=100.0)
    rest = [each for each in GOOD.seen if each.id != "mail"]
    twice = [seen("mail", IN_FLIGHT, spare=spare), seen("mail", 108.0, spare=spare)]
    found = account(faults=(killed,), seen=[*rest, *twice])
    assert (found.problems, found.in_flight, found.unknown) == ((), 1, 1)


@pytest.mark.parametrize(
    ("id", "reason", "arrivals", "allowed"),
    [
        ("nobody", "refused", [102.0], True),
        ("nobody", "recipient_refused", [102.0], True),
        ("nobody", "retries_exhausted", [102.0], False),
        ("text", "retries_exhausted", [95.0], False),
        ("text", "connection_failed", [], False),
        ("mail", "expired", [], False),
        # Nobody was to refuse it.
        ("text", "refused", [95.0], False),
        ("text", "unknown_outcome", [IN_FLIGHT], True),
        ("text", "unknown_outcome", [95.0, IN_FLIGHT], True),
        ("text", "unknown_outcome", [95.0], False),
        # There is no second provider for webhooks.
        ("hook", "retries_exhausted", [95.0], True),
    ],
)
def test_what_a_second_provider_leaves_no_reason_to_archive(
    id: str, reason: str, arrivals: Sequence[float], allowed: bool
) -> None:
    rest = [each for each in GOOD.seen if each.id != id]
    others = [each for each in GOOD.letters if each.id != id]
    found = account(
        seen=[*rest, *(seen(id, at, accepted=False) for at in arrivals)],
        letters=[*others, letter(id, reason)],
    )
    assert found.needlessly_archived == (set() if allowed else {id})
    if allowed:
        assert found.problems == ()
    else:
        assert "1 archived although another provider could deliver" in found.problems
        assert wrong_ids(found)["needlessly archived"] == [id]


def test_an_unknown_text_that_nobody_saw_is_left_to_the_number_of_sends_in_flight() -> None:
    unseen = [each for each in GOOD.seen if each.id != "text"]
    letters = [*GOOD.letters, letter("text", "unknown_outcome")]
    found = account(seen=unseen, letters=letters)
    assert found.problems == ("1 unknown, but only 0 sends in flight",)
    cut = Seen(id="hook", at=101.0, accepted=False, cut=True)
    assert account(seen=[*unseen, cut], letters=letters).problems == ()


def test_a_provider_that_goes_in_good_order_excuses_nothing() -> None:
    outage = replace(CLOSED, kind=Kind.PROVIDER_OUTAGE)
    twice = [*GOOD.seen, seen("mail", IN_FLIGHT)]
    assert account(faults=(outage,)).problems == ()
    assert account(faults=(outage,), seen=twice).wrongly_repeated == {"mail"}
