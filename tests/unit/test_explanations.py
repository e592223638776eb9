"""Every reason and every code that is shown is explained."""

from http import HTTPStatus

import pytest

from notify.codes import listed_meaning, meaning
from notify.config import load_settings
from notify.config.shipped import shipped, shipped_names
from notify.explanations import EXPLANATIONS, explain
from notify.outcomes import Reason
from notify.protocolcodes import enhanced_code, enhanced_meaning, http_meaning, smtp_meaning
from tests.unit.test_architecture import ROOT


def test_every_reason_has_a_meaning_and_something_to_do() -> None:
    assert list(EXPLANATIONS) == list(Reason)
    for reason in Reason:
        explained = explain(str(reason))
        assert len(explained.means) > 10, reason
        assert explained.todo, reason


def test_a_reason_of_a_later_version() -> None:
    assert "does not know" in explain("eaten_by_a_dog").means


@pytest.mark.parametrize(
    ("code", "means"),
    [("503", "service unavailable"), ("599", ""), ("99999", ""), ("", ""), ("٥٠٣", ""), ("E1", "")],
)
def test_statuses_of_http(code: str, means: str) -> None:
    assert http_meaning(code) == means


def test_codes_of_mail_servers() -> None:
    assert "does not exist" in smtp_meaning("550")
    assert smtp_meaning("299") == ""


def test_the_provider_s_profile_says_it_best() -> None:
    settings = load_settings(ROOT / "config")
    name = settings.channel("sms").providers[0].name
    assert meaning(settings, "sms", name, "429") == "too many requests"
    assert meaning(settings, "sms", "no longer there", "404") == "not found"
    assert meaning(settings, "email", "no longer there", "535") == "login refused"
    assert meaning(settings, None, name, "429") == meaning(settings, "sms", name, "") == ""


@pytest.mark.parametrize("name", sorted(shipped_names()))
def test_all_listed_codes_of_a_profile_are_told(name: str) -> None:
    profile = shipped(name)
    for each in profile.answers.codes:
        code = str(each.status if each.code is None else each.code)
        assert listed_meaning(profile, code), code


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_leads_to_a_runbook(reason: Reason) -> None:
    assert (ROOT / "ops" / "runbooks" / f"{explain(reason).runbook}.md").is_file()


@pytest.mark.parametrize(
    ("said", "code", "means"),
    [
        ("550 5.1.1 at RCPT", "5.1.1", "there is no such mailbox, for good"),
        ("452 4.2.2 mailbox is over quota", "4.2.2", "the mailbox is full, for the moment"),
        ("5.7.999 policy", "5.7.999", "refused by policy or for security, for good"),
        ("2.0.0 queued", "2.0.0", "no more is said"),
        ("from 192.5.1.1 port 25", "", ""),
        ("version 5.1", "", ""),
        ("5.9.1", "5.9.1", ""),
    ],
)
def test_enhanced_codes_of_mail_servers(said: str, code: str, means: str) -> None:
    assert enhanced_code(said) == code
    assert enhanced_meaning(code) == means


@pytest.mark.parametrize("status", [status.value for status in HTTPStatus])
def test_every_status_of_http_has_a_name(status: int) -> None:
    assert http_meaning(str(status))
