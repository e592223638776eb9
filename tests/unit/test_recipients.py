"""Addresses that can be somebody's, and those that no server will ever take."""

import pytest

from notify.recipients import address_problem

POSSIBLE = [
    "ada@example.com",
    "ADA@EXAMPLE.COM",
    "ada.lovelace@mail.example.co.jp",
    "ada+news@example.com",
    "o'hara@example.com",
    "1815@example.com",
    "___@example.com",
    "-ada-@example.com",
    "!#$%&'*+-/=?^_`{|}~@example.com",
    "ada@two-words.example",
    "ada@two--dashes.example",
    "ada@3com.example",
    "ada@example.averylongtopleveldomainthatmayexistoneday",
    "ada@beispiel.vermögensberatung",
    "ada@例え.テスト",
    "ada@例え。テスト",
    "ada@xn--r8jz45g.xn--zckzah",
    "ada@faß.de",
    # The ASCII form of a label with a hyphen after its first letter.
    "ada@ö-brand.de",
    "ada@xn---brand-vxa.de",
    "ada@XN---BRAND-VXA.de",
    "ada@l·l.example",
    "jlópez@example.mx",
    "अदा@उदाहरण.भारत",
    "عدا@مثال.إختبار",
    "a" * 64 + "@example.com",
]
# What GOV.UK Notify refuses too, class by class.
IMPOSSIBLE = [
    "ada@192.0.2.1",
    "ada@[192.0.2.1]",
    "ada@[IPv6:2001:db8::1]",
    "ada.example.com",
    "@example.com",
    "ada",
    "ada@",
    "Ada Lovelace <ada@example.com>",
    "ada@example",
    "ada@localhost",
    ";ada@example.com",
    "ada@exam;ple.com",
    "ada@example.com;",
    '"ada@example.com',
    'a"da@example.com',
    '"ada"@example.com',
    '"ada@example.com"',
    "ada@example..co..uk",
    "ada..l@example.com",
    ".ada@example.com",
    "ada.@example.com",
    "ada@home@example.com",
    "ada l@example.com",
    "ada@exam ple.com",
    "ada@exam_ple.com",
    "ada@example.com|example.org",
    "ada,l@example.com",
    "ada@example,com",
    "ada£@example.com",
    "o’hara@example.com",
    "ada”l@example.com",
    "☕@example.com",
    "ada@☕.example",
    "ada@.example.com",
    "ada@example.com.",
    "ada@-example.com",
    "ada@example-.com",
    "ada(l)@example.com",
    "ada[l]@example.com",
    "ada\\l@example.com",
    "ada:l@example.com",
    "ada@example.1",
    "ada@192.0.2.²",
    "ada@192.0.2.①",
    "ada@example.c",
    "ada@xn---example.com",
    "ada@xn--.com",
    "ada@xn--example-.com",
    "ada@" + "e" * 64 + ".com",
    "ada@" + "e." * 130 + "com",
    "a" * 65 + "@example.com",
    "é" * 33 + "@example.com",
    "ada-" + "a" * 320 + "@example.com",
    " ada@example.com",
    "ada@example.com\n",
    "\u200bada@example.com",
    "ada@example.com\u200b",
    "ada\x00@example.com",
    "",
]


@pytest.mark.parametrize("address", POSSIBLE)
def test_addresses_that_can_be_somebodys(address: str) -> None:
    assert address_problem(address) is None


@pytest.mark.parametrize("address", IMPOSSIBLE, ids=lambda a: ascii(a)[:40])
def test_addresses_that_can_be_nobodys(address: str) -> None:
    problem = address_problem(address)
    assert problem == "must be an email address like name@example.com"
