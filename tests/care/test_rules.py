"""What a rule makes of a letter, as a table."""

from datetime import timedelta
from typing import Any

import pytest

from notify.care.rules import decide, due_at, matches
from notify.config import CareMatch, CareRule, CareSettings
from notify.outcomes import Reason
from notify.store import ArchivedLetter
from notify.store.care import GIVEN_UP, HELD, WAITING
from tests.archive.letters import ATTEMPT, NOW, dead, raw

BUSY = ATTEMPT | {"outcome": "temporary", "reason": "provider_busy", "code": "503"}
UNSURE = ATTEMPT | {"outcome": "unknown", "reason": "deadline_passed"}
SHIPPED = CareSettings().rules


def row(reason: Reason = Reason.RETRIES_EXHAUSTED, **changes: Any) -> ArchivedLetter:
    letter = dead(reason=reason, **{"attempts": (BUSY,)} | changes)
    return ArchivedLetter(
        seq=7, letter=letter, archived_at=NOW, count=1, state="open", code="503", template="welcome"
    )


def rule(**changes: Any) -> CareRule:
    values = {"name": "r", "match": {"reason": "provider_outage"}, "action": "replay"}
    return CareRule.model_validate(values | changes)


@pytest.mark.parametrize(
    ("letter", "rule_and_state"),
    [
        (row(), ("provider-outage", WAITING)),
        (row(priority="urgent"), None),
        (row(attempts=(ATTEMPT,)), None),
        (row(attempts=()), None),
        (row(Reason.PROVIDER_BUSY), None),
        (row(Reason.UNKNOWN_OUTCOME), ("unknown-sms", HELD)),
        (row(Reason.UNKNOWN_OUTCOME, channel="email"), None),
        (row(Reason.REFUSED), None),
        (row(attempts=(UNSURE, BUSY)), ("provider-outage", HELD)),
        (row(attempts=(BUSY, UNSURE)), None),
        (row(generation=3), ("provider-outage", WAITING)),
        (row(generation=4), ("provider-outage", GIVEN_UP)),
    ],
)
def test_the_shipped_rules(letter: ArchivedLetter, rule_and_state: tuple[str, str] | None) -> None:
    found = decide(letter, SHIPPED)
    assert (found and (found.rule, found.case and found.case.state)) == rule_and_state


@pytest.mark.parametrize(
    ("match", "does"),
    [
        ({}, True),
        ({"reason": "retries_exhausted"}, True),
        ({"reason": ["refused", "provider_outage"]}, True),
        ({"reason": "refused"}, False),
        ({"channel": ["email", "sms"]}, True),
        ({"channel": "email"}, False),
        ({"provider": "acme", "code": "503", "template": "welcome"}, True),
        ({"provider": "acme", "code": "500"}, False),
        ({"batch": "b"}, False),
        ({"label": {"team": "ops"}}, True),
        ({"label": {"team": "ops", "shop": "1"}}, False),
    ],
)
def test_all_that_is_given_must_match(match: dict[str, Any], does: bool) -> None:
    assert matches(row(), CareMatch.model_validate(match)) is does


def test_the_first_rule_that_matches_decides() -> None:
    ignored = rule(name="first", action="ignore", match={"label": {"team": "ops"}})
    found = decide(row(), (ignored, rule()))
    assert found is not None
    assert (found.rule, found.case) == ("first", None)


def test_the_spacing_grows_up_to_its_cap() -> None:
    slow = rule(first="10m", factor=3, cap="1h", most=20)
    waits = [due_at(row(generation=n), slow) - NOW for n in (1, 2, 3, 20)]
    assert waits == [timedelta(minutes=m) for m in (10, 30, 60, 60)]


def test_a_rule_may_be_told_that_repeats_do_no_harm() -> None:
    found = decide(row(attempts=(UNSURE, BUSY)), (rule(may_repeat=True),))
    assert found is not None
    assert found.case is not None
    assert found.case.state == WAITING


def test_what_could_not_be_parsed_matches_by_its_reason_only() -> None:
    letter = raw()
    found = ArchivedLetter(seq=1, letter=letter, archived_at=NOW, count=1, state="open")
    assert decide(found, SHIPPED) is None
    assert matches(found, CareMatch(reason=("unparseable",)))
