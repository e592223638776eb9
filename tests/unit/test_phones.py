"""Phone numbers as people write them."""

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from notify.errors import InvalidNotification
from notify.notification import Notification
from notify.phones import Phone, is_region, normalise

GERMAN = "+491701234567"

# What is written in Germany, each the same number.
WRITTEN = [
    "0170 1234567",
    "(0170) 123-4567",
    "0170/1234567",
    "0170.123.45.67",
    "  0170 1234567\t\n",
    "1701234567",
    "0049 170 1234567",
    "+491701234567",
    "+49 170 1234567",
    "(+49) 170 1234567",
    "+49 (0)170 1234567",
    "+49 0170 1234567",
    # Copied out of documents, web pages and address books.
    "0170\u00a0123\u202f45\u200967",
    "0170\u200b123\u200c45\u206067",
    "\u202a+49 170 1234567\u202c",
    "\u200e+49\u00ad170\u2011123\u20134567",
    "\ufeff+49 170 1234567",
    "\u2066+49 170 123\u22124567\u2069",
    # Other digits.
    "\uff10\uff11\uff17\uff10\u3000\uff11\uff12\uff13\uff0d\uff14\uff15\uff16\uff17",
    "\uff0b\uff14\uff19\uff08\uff10\uff09\uff11\uff17\uff10\uff0f\uff11\uff12\uff13\uff14\uff15\uff16\uff17",
    "+\u0664\u0669\u0661\u0667\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667",
]

# text, region, E.164
ELSEWHERE = [
    ("(202) 555-0123", "US", "+12025550123"),
    ("1 202 555 0123", "US", "+12025550123"),
    ("011 49 170 1234567", "US", GERMAN),
    ("8 (912) 345-67-89", "RU", "+79123456789"),
    ("01 23 45 67 89", "FR", "+33123456789"),
    ("33612345678", "FR", "+33612345678"),
    ("+33 (0)6 12 34 56 78", None, "+33612345678"),
    ("138 0013 8000", "CN", "+8613800138000"),
    ("090-1234-5678", "JP", "+819012345678"),
    ("090\u30fc1234\u30fc5678", "JP", "+819012345678"),
    # In Italy the zero belongs to the number.
    ("06 1234 5678", "IT", "+390612345678"),
    ("+39 06 1234 5678", None, "+390612345678"),
    # A mobile in Argentina, as dialled there and as dialled from abroad.
    ("011 15 1234-5678", "AR", "+5491112345678"),
    # Short, and still all there is to a number there.
    ("221234", "GL", "+299221234"),
    ("+80012345678", "DE", "+80012345678"),
    ("55 1732 9563", "MX", "+525517329563"),
]

LIKE = "must be a phone number like"
CODE = "must be a phone number with its country code"
SHORT = "is too short for a phone number; short codes cannot be reached"
EXTENSION = "must not have an extension"
LETTERS = "must not have letters"
TWO_WAYS = "can be read in two ways"

# text, region, and how the problem begins
REFUSED = [
    ("", "DE", LIKE),
    (" \u200b ", "DE", LIKE),
    ("+", "DE", LIKE),
    ("-", "DE", LIKE),
    ("0", "DE", LIKE),
    ("++491711234567", "DE", LIKE),
    ("+491701234567, +491701234568", "DE", LIKE),
    ("0170 1234567; 0171 1234567", "DE", LIKE),
    ("0170 1234567\u00b2", "DE", LIKE),
    ("*49#", "DE", LIKE),
    ("0170 1234567", None, CODE),
    ("0049 170 1234567", None, CODE),
    ("491711234567", None, CODE),
    # A spreadsheet dropped the plus; in Germany +49 491 701234567 is another number.
    ("491701234567", "DE", TWO_WAYS),
    ("1-800-FLOWERS", "US", LETTERS),
    ("0170 ABCDEF", "DE", LETTERS),
    ("+49 170 1234567 (mobil)", "DE", LETTERS),
    ("tel:+491701234567", "DE", LETTERS),
    ("\u0437\u0432\u043e\u043d\u0438", "DE", LETTERS),
    ("+49 30 123456 ext. 5", "DE", EXTENSION),
    ("+49 30 123456, ext. 5", "DE", EXTENSION),
    ("+1 202 555 0123 x4", "DE", EXTENSION),
    ("+1 (202) 555-0123 (x4)", "DE", EXTENSION),
    ("tel:+4930123456;ext=5", "DE", EXTENSION),
    ("+49 30 123456#12", "DE", EXTENSION),
    ("110", "DE", SHORT),
    ("11833", "DE", SHORT),
    ("72345", "DE", SHORT),
    ("911", "US", SHORT),
    ("12345", "US", SHORT),
    ("60060", "GB", SHORT),
    ("95588", "CN", SHORT),
    ("+960123456", "DE", SHORT),
    ("00", "DE", SHORT),
    ("555 0123", "US", "must have its area code"),
    # What comes of it would be read as yet another number.
    ("+49 00 170 1234567", "DE", "has a prefix after its country code"),
    ("+971 0 052 776 1664", None, "has a prefix after its country code"),
    ("+999123456", "DE", "has a country code that does not exist"),
    ("+0491701234567", "DE", "has a country code that does not exist"),
    ("0170 123456789012345", "DE", "is too long"),
    ("+49 170 12345678901", "DE", "is too long"),
    ("+49170" + "1" * 300, "DE", "is too long"),
    # Was a mobile of Mexico until its plan lost the 1.
    ("+5215517329563", None, "is too long for a phone number of its country"),
    ("1 55 1732 9563", "MX", "is too long for a phone number of its country"),
]


@pytest.mark.parametrize("text", WRITTEN)
def test_however_it_is_written(text: str) -> None:
    assert normalise(text, "DE") == Phone(number=GERMAN, region="DE", kind="mobile")


@pytest.mark.parametrize(("text", "region", "number"), ELSEWHERE)
def test_in_other_countries(text: str, region: str | None, number: str) -> None:
    assert normalise(text, region).number == number


@pytest.mark.parametrize(("text", "region", "problem"), REFUSED)
def test_what_is_refused_and_why(text: str, region: str | None, problem: str) -> None:
    with pytest.raises(InvalidNotification) as caught:
        normalise(text, region)
    assert caught.value.field == "recipient"
    assert caught.value.problem.startswith(problem)
    assert caught.value.__cause__ is None
    digits = "".join(filter(str.isdigit, text))
    assert len(digits) < 3 or digits not in str(caught.value)


@given(st.from_regex(r"\+(1|44|49|61|971|358)0{0,3}[0-9]{5,11}", fullmatch=True))
def test_what_was_read_once_is_read_as_the_same(text: str) -> None:
    try:
        number = normalise(text).number
    except InvalidNotification:
        return
    assert normalise(number).number == number


def test_possible_is_the_gate_and_valid_a_warning() -> None:
    new_range = normalise("+1 555 000 0001")
    assert (new_range.number, new_range.region, new_range.valid) == ("+15550000001", "", False)
    assert "no range" in new_range.warning
    landline = normalise("+49 30 1234567")
    assert (landline.kind, landline.valid) == ("fixed line", True)
    assert landline.warning == "is no mobile number (fixed line): texts may not arrive"
    assert normalise("+1 202 555 0123").warning == ""
    assert normalise(GERMAN).warning == ""


def test_regions() -> None:
    assert is_region("DE")
    assert is_region("GL")
    assert [code for code in ("de", "UK", "001", "", "ZZ", "DEU") if is_region(code)] == []


@pytest.mark.parametrize("region", sorted(phonenumbers.SUPPORTED_REGIONS))
def test_every_country_s_mobile_numbers(region: str) -> None:
    example = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
    if example is None:  # there are none, or none is known
        example = phonenumbers.example_number(region)
    assert example is not None
    number = phonenumbers.format_number(example, PhoneNumberFormat.E164)
    at_home = phonenumbers.format_number(example, PhoneNumberFormat.NATIONAL)
    abroad = phonenumbers.format_number(example, PhoneNumberFormat.INTERNATIONAL)
    found = normalise(number)
    assert found == normalise(at_home, region) == normalise(abroad, "US")
    assert found.number == number
    assert found.valid
    assert Notification(channel="sms", recipient=found.number, body="x").recipient == number


SIGNS = st.sampled_from([*"+0123456789 ()-./x#;,\u00a0\u200b\u202a\uff0b\uff11\u0661\u2013"])
REGIONS = st.sampled_from([None, "DE", "US", "IT", "AR", "MX", "CN", "GL"])


@given(st.text(SIGNS | st.characters(), max_size=80), REGIONS)
def test_any_text_is_a_number_or_refused(text: str, region: str | None) -> None:
    try:
        found = normalise(text, region)
    except InvalidNotification:
        return
    assert Notification(channel="sms", recipient=found.number, body="x").recipient == found.number
    assert normalise(found.number, region) == found
    assert normalise(found.number) == found


@given(st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True))
def test_a_number_in_e164_stays_that_country_s(text: str) -> None:
    try:
        found = normalise(text)
    except InvalidNotification:
        return
    assert found == normalise(text, "US")
    assert text.startswith(found.number[:2])
