"""Who is meant, however they are written, and which texts name them."""

import pytest

from notify.errors import InvalidInput
from notify.privacy import person
from notify.spelling import digest

NUMBER = "+4915112345678"
ADDRESS = "ada.lovelace@example.com"
HOOK = "https://example.com/hooks/7"


@pytest.mark.parametrize(
    ("written", "channel", "recipient"),
    [
        ("0151 123 45678", "sms", NUMBER),
        ("+49 (0) 151-12345678", "sms", NUMBER),
        ("ADA.Lovelace@Example.COM", "email", ADDRESS),
        (" ada@bücher.example ", "email", "ada@xn--bcher-kva.example"),
        ("HTTPS://Example.com:443/hooks/7", "webhook", HOOK),
    ],
)
def test_who_is_meant(written: str, channel: str, recipient: str) -> None:
    found = person(written, "DE")
    assert (found.channel, found.recipient) == (channel, recipient)
    assert found.key == digest(channel, recipient)


@pytest.mark.parametrize("written", ["", "ada", "12", "ada@", "https://", "0151 1234567"])
def test_who_is_nobody(written: str) -> None:
    with pytest.raises(InvalidInput, match="recipient: "):
        person(written)


@pytest.mark.parametrize(
    ("who", "text", "named"),
    [
        (NUMBER, "to=+4915112345678;", True),
        (NUMBER, "call 0049 151 1234 5678 now", True),
        (NUMBER, "call 0151/12345678 now", True),
        (NUMBER, "(0151) 123-45678", True),
        (NUMBER, "order-4915112345678-1", True),
        (NUMBER, "+49151123456789", False),
        (NUMBER, "14915112345678", False),
        (NUMBER, "0151 12345", False),
        (ADDRESS, "<Ada.Lovelace@EXAMPLE.com>", True),
        (ADDRESS, "?to=ada.lovelace%40example.com&", True),
        (ADDRESS, "ada.lovelace@example.com.", True),
        (ADDRESS, "ada.lovelace@example.com.au", False),
        (ADDRESS, "not-ada.lovelace@example.com", False),
        (ADDRESS, "ada.lovelace@example.community", False),
        ("ada@xn--bcher-kva.example", "ada@bücher.example", True),
        (HOOK, "POST https://example.com/hooks/7 failed", True),
        (HOOK, "(HTTPS://Example.com/hooks/7), or https://example.com/hooks/7?", True),
        (HOOK, "https://example.com/hooks/77", False),
        (HOOK, "https://example.com/hooks/7/8", False),
        (HOOK, "https://example.com/Hooks/7", False),
        (HOOK, "https://example.com/hooks/7?x=1", False),
        ("https://example.com", "at https://example.com failed", True),
        ("https://example.com", "https://example.com/hooks", False),
    ],
)
def test_which_texts_name_them(who: str, text: str, named: bool) -> None:
    found = person(who)
    assert found.is_in(text) is named
    taken = found.without(text)
    assert (taken != text) is named
    assert not found.is_in(taken)


def test_a_long_text_is_searched_in_a_moment() -> None:
    text = "+49 151 " * 20_000 + "a.@" * 20_000
    for who in (NUMBER, ADDRESS, HOOK):
        assert not person(who).is_in(text)
