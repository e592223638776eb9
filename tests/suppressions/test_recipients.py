"""When two spellings are the same recipient."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.errors import InvalidInput
from notify.suppressions.recipients import canonical, check, digest
from tests.suppressions.values import HOOK, MAIL, PHONE

SAME = [
    ("email", "Ada@Example.COM", MAIL),
    ("email", "ada@example.com.", MAIL),
    ("email", "ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
    ("email", "ada@bu\u0308cher.example", "ada@bücher.example"),
    ("email", "jose\u0301@example.com", "josé@example.com"),
    ("webhook", "HTTPS://Example.COM/hook/token-271828", HOOK),
    ("webhook", "https://example.com:443/hook/token-271828#top", HOOK),
    ("webhook", "http://example.com:80", "http://example.com/"),
    ("webhook", "https://bücher.example/a", "https://xn--bcher-kva.example/a"),
    ("webhook", "http://[2001:DB8::1]:80/a", "http://[2001:db8::1]/a"),
]
OTHERS = [
    ("email", MAIL, "ada+news@example.com"),
    ("email", MAIL, "ada@example.org"),
    ("webhook", HOOK, HOOK.upper().replace("HTTPS://EXAMPLE.COM", "https://example.com")),
    ("webhook", HOOK, f"{HOOK}?a=1"),
    ("webhook", HOOK, f"{HOOK}/"),
    ("webhook", HOOK, HOOK.replace("https", "http")),
    ("webhook", "https://example.com/", "https://example.com:8443/"),
    ("webhook", "https://example.com/", "https://example.com:80/"),
    ("sms", PHONE, "+491701234568"),
]


@pytest.mark.parametrize(("channel", "one", "other"), SAME)
def test_the_same(channel: str, one: str, other: str) -> None:
    assert canonical(channel, one) == canonical(channel, other)
    assert digest(channel, one) == digest(channel, other)


@pytest.mark.parametrize(("channel", "one", "other"), OTHERS)
def test_others(channel: str, one: str, other: str) -> None:
    assert digest(channel, one) != digest(channel, other)


def test_a_recipient_of_one_channel_is_none_of_another() -> None:
    assert digest("sms", MAIL) != digest("email", MAIL) != digest("webhook", MAIL)


@given(channel=st.sampled_from(["sms", "email", "webhook"]), recipient=st.text(max_size=60))
def test_every_text_has_one_spelling(channel: str, recipient: str) -> None:
    """Whatever it is: what a notification holds was checked by another release, perhaps."""
    once = canonical(channel, recipient)
    assert canonical(channel, once) == once


@pytest.mark.parametrize(
    ("channel", "recipient", "says"),
    [
        ("fax", PHONE, "channel: must be one of sms, email, webhook"),
        ("sms", "0170123", "recipient: must be a phone number"),
        ("email", "ada", "recipient: must be an email address"),
        ("webhook", "example.com", "recipient: must be a URL"),
        ("webhook", f"{HOOK}#top", "recipient: must be a URL without"),
    ],
)
def test_what_is_no_recipient(channel: str, recipient: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        check(channel, recipient)
