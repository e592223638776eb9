"""What is wrong with ``[care]`` and with the retention, each said with file and key."""

from pathlib import Path

import pytest

from notify.config import is_outage
from notify.outcomes import Reason
from tests.unit.configs import EMAIL, load, problems

RULE = '[[care.rules]]\nname = "r"\naction = "replay"\n'
OUTAGE = 'match = { reason = "provider_outage" }\n'
DIGEST = '[care.digest]\nchannel = "email"\nrecipient = "ops@example.com"\n'

BROKEN = [
    (f'{RULE}match = {{ reason = "bored" }}', "care.rules.0.match.reason: 'bored' is no reason"),
    (f"{RULE}match = {{}}", "care.rules.0: match.reason is needed to send again"),
    (f'{RULE}match = {{ channel = "sms" }}', "care.rules.0: match.reason is needed"),
    (f'{RULE}match = {{ reason = "poison" }}', "care.rules.0: match.reason: poison must not be"),
    (f'{RULE}match = {{ reason = "suppressed" }}', "care.rules.0: match.reason: suppressed must"),
    (
        f'{RULE}match = {{ reason = ["provider_outage", "unknown_outcome"] }}',
        "care.rules.0: match.reason: unknown_outcome may have arrived: needs may_repeat = true",
    ),
    (f'{RULE}{OUTAGE}first = "2h"\ncap = "1h"', "care.rules.0: cap must not be shorter than first"),
    (f'{RULE}{OUTAGE}not_after = "10m"', "care.rules.0: not_after must be longer than first"),
    (f"{RULE}{OUTAGE}most = 0", "care.rules.0.most: "),
    (f"{RULE}{OUTAGE}rate = 0", "care.rules.0.rate: "),
    (f'{RULE}{OUTAGE}when = "later"', "care.rules.0.when: "),
    (f"{RULE}{OUTAGE}often = true", "care.rules.0.often: unknown key"),
    (f'{RULE}match = {{ shop = "x" }}', "care.rules.0.match.shop: unknown key"),
    (f"{RULE}{OUTAGE}{RULE}{OUTAGE}", "care: two rules have the same name"),
    (f"{RULE}{OUTAGE}".replace('"r"', '"R R"'), "care.rules.0.name: "),
    ('[care]\nevery = "0s"', "care.every: input should be greater than or equal to 1"),
    (f"{DIGEST}at = '24:00'", "care.digest.at: must be a time of day"),
    (f"{DIGEST}at = '8:00'", "care.digest.at: must be a time of day"),
    (f"{DIGEST}zone = 'Mars/Olympus'", "care.digest.zone: must be a time zone"),
    (f"{DIGEST}zone = '../../etc/passwd'", "care.digest.zone: must be a time zone"),
    (DIGEST.replace("ops@example.com", "ops"), "care.digest: recipient: must be an email"),
    (DIGEST, "care.digest.channel: channel email is not configured"),
    ('[care.digest]\nchannel = "email"', "care.digest.recipient: is required"),
    ('[archive]\nkeep = "2h"', "archive.keep: must be at least a day"),
    ('[archive]\nkeep = "30y"', "archive.keep: must be a duration"),
    ('[archive]\nkeep = "2d"', "archive.keep: must not be shorter than send.retention of sms"),
    ("[archive]\nkeep_most = 10", "archive.keep_most: "),
    ('[[archive.keep_less]]\nkeep = "30d"', "archive.keep_less.0: needs a reason or a channel"),
    (
        '[[archive.keep_less]]\nreason = "bored"\nkeep = "30d"',
        "archive.keep_less.0.reason: ",
    ),
    (
        '[[archive.keep_less]]\nchannel = "sms"\nkeep = "1d"',
        "archive.keep_less.0.keep: must not be shorter than send.retention of sms (7 days)",
    ),
    (
        f'[archive]\nkeep = "8d"\n{RULE}{OUTAGE}not_after = "9d"',
        "care.rules.0.not_after: must not be longer than archive.keep",
    ),
]


@pytest.mark.parametrize(("text", "problem"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_wrong(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = problems(tmp_path, {"notify.toml": text})
    assert found.startswith(f"notify.toml: {problem}")
    assert "ops@example.com" not in found


def test_retention_of_a_channel_that_is_not_meant(tmp_path: Path) -> None:
    text = '[[archive.keep_less]]\nchannel = "webhook"\nkeep = "1d"'
    assert problems(tmp_path, {"notify.toml": text}) == []


def test_own_rules_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    assert load(tmp_path, {"notify.toml": "[care]\nrules = []"}).care.rules == ()
    settings = load(tmp_path, {"notify.toml": f"{RULE}{OUTAGE}", "channels/email.toml": EMAIL})
    assert [rule.name for rule in settings.care.rules] == ["r"]
    assert len(load(tmp_path, {"notify.toml": DIGEST}).care.rules) == 2


@pytest.mark.parametrize(
    ("reason", "last", "outage"),
    [
        ("retries_exhausted", "connection_failed", True),
        ("retries_exhausted", "provider_denied", True),
        ("retries_exhausted", "deadline_passed", False),
        ("retries_exhausted", "recipient_unavailable", False),
        ("refused", "provider_error", False),
        ("retries_exhausted", "None", False),
    ],
)
def test_what_an_outage_is(reason: str, last: str, outage: bool) -> None:
    assert is_outage(reason, last) is outage
    assert not is_outage(str(Reason.UNKNOWN_OUTCOME), last)
