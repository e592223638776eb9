"""Phone numbers: what people type becomes E.164, by the metadata of ``phonenumbers``.

The gate is that a number is *possible*: networks open new ranges before metadata knows
them, so that a number which is possible but not *valid* is only worth a warning. No
error quotes a number.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberType, ValidationResult

from notify.errors import InvalidNotification

METADATA: Final = phonenumbers.__version__
"""The version of the numbering plans."""

_LIKE: Final = "must be a phone number like +491701234567"
_CODE_NEEDED: Final = (
    "must be a phone number with its country code, like +491701234567:"
    " no default region is configured"
)
_SHORT: Final = "is too short for a phone number; short codes cannot be reached"
_LONG: Final = "is too long for a phone number"
_LONGEST_TEXT: Final = 64
# E.164 allows 15 digits with the country code; below 7 there is nothing to send to.
_DIGITS: Final = range(7, 16)
_SHORT_CODE: Final = 6

_CLEAN: Final = re.compile(r"\+[0-9]+")
_ALLOWED: Final = re.compile(r"\(?\+?[0-9 ().\-/]*")
_EXTENSION: Final = re.compile(
    r"[0-9][\s.()]*[;,]?\s*(?:[#;,x]|ext)[^0-9+]*[0-9]{1,6}[\s)]*$", re.IGNORECASE
)
_DASHES: Final = "\u2212\u30fc\uff70"
_UNPARSEABLE: Final = {
    NumberParseException.INVALID_COUNTRY_CODE: "has a country code that does not exist",
    NumberParseException.TOO_SHORT_AFTER_IDD: _SHORT,
    NumberParseException.TOO_SHORT_NSN: _SHORT,
    NumberParseException.TOO_LONG: _LONG,
}
_IMPOSSIBLE: Final = {
    ValidationResult.IS_POSSIBLE_LOCAL_ONLY: "must have its area code",
    ValidationResult.INVALID_COUNTRY_CODE: "has a country code that does not exist",
    ValidationResult.TOO_SHORT: _SHORT,
    ValidationResult.TOO_LONG: "is too long for a phone number of its country",
    ValidationResult.INVALID_LENGTH: "has a length that no number of its country has",
}
_KINDS: Final = {
    PhoneNumberType.FIXED_LINE: "fixed line",
    PhoneNumberType.MOBILE: "mobile",
    PhoneNumberType.FIXED_LINE_OR_MOBILE: "fixed line or mobile",
    PhoneNumberType.TOLL_FREE: "toll free",
    PhoneNumberType.PREMIUM_RATE: "premium rate",
    PhoneNumberType.SHARED_COST: "shared cost",
    PhoneNumberType.VOIP: "voice over IP",
    PhoneNumberType.PERSONAL_NUMBER: "personal number",
    PhoneNumberType.PAGER: "pager",
    PhoneNumberType.UAN: "company number",
    PhoneNumberType.VOICEMAIL: "voicemail",
}
_TEXTED: Final = ("mobile", "fixed line or mobile", "personal number", "pager", "voice over IP")


@dataclass(frozen=True, kw_only=True, slots=True)
class Phone:
    """A possible number: ``number`` in E.164, ``region`` as in ISO 3166 (empty where it is
    not known or no country's), and what ``kind`` of line it is."""

    number: str
    region: str
    kind: str

    @property
    def valid(self) -> bool:
        """Whether the numbering plan, as far as it is known, has assigned its range."""
        return self.kind != "unknown"

    @property
    def warning(self) -> str:
        """Why a text may not arrive; empty where nothing is known against it."""
        if not self.valid:
            return "is in no range that its numbering plan is known to use"
        texted = self.kind in _TEXTED
        return "" if texted else f"is no mobile number ({self.kind}): texts may not arrive"


def is_region(code: str) -> bool:
    """Whether ``code`` is a country or territory of ISO 3166 (two letters) with numbers."""
    return code in phonenumbers.SUPPORTED_REGIONS


def national(number: str) -> str:
    """The digits of a number in E.164 as it is dialled within its country."""
    parsed = phonenumbers.parse(number)
    written = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.NATIONAL)
    return "".join(filter(str.isdigit, written))


def normalise(text: str, region: str | None = None) -> Phone:
    """Reads a number as people write it; ``region`` is where it is written without country.

    Raises ``InvalidNotification`` for field ``recipient``.
    """
    if len(text) > _LONGEST_TEXT:
        raise _refused(_LONG)
    cleaned = text if _CLEAN.fullmatch(text) else _cleaned(text)
    return _read(cleaned, None if cleaned.startswith("+") else region)


def _refused(problem: str) -> InvalidNotification:
    return InvalidNotification("recipient", problem)


def _cleaned(text: str) -> str:
    """ASCII only, without what cannot be seen and comes with copy and paste."""
    cleaned = "".join(map(_plain, text)).strip()
    if _ALLOWED.fullmatch(cleaned):
        return cleaned
    if _EXTENSION.search(cleaned):
        raise _refused("must not have an extension: texts cannot be sent to one")
    if any(map(str.isalpha, cleaned)):
        raise _refused("must not have letters: write the digits")
    raise _refused(_LIKE)


def _plain(character: str) -> str:
    if character.isascii():
        return " " if character.isspace() else character
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Cf":
        return ""
    if category == "Pd" or character in _DASHES:
        return "-"
    if "\uff01" <= character <= "\uff5e":
        return chr(ord(character) - 0xFEE0)
    return " " if character.isspace() else character


@lru_cache(maxsize=1024)
def _read(cleaned: str, region: str | None) -> Phone:
    # Otherwise numbers of many countries take 20 times longer: Python keeps 512 patterns.
    phonenumbers.enable_pattern_cache()
    parsed = _parsed(cleaned, region)
    kind = _KINDS.get(phonenumbers.number_type(parsed), "unknown")
    number = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
    digits = "".join(filter(str.isdigit, cleaned))
    if "+" not in cleaned and kind == "unknown" and len(digits) <= _SHORT_CODE:
        raise _refused(_SHORT)
    _check_possible(parsed, number)
    if "+" not in cleaned and _reads_otherwise(parsed, number, digits):
        raise _refused("can be read in two ways: write it with + and its country code")
    if "+" not in cleaned or cleaned != number:
        _check_stable(number)
    code = phonenumbers.region_code_for_number(parsed) or ""
    return Phone(number=number, region=code if code.isalpha() else "", kind=kind)


def _parsed(cleaned: str, region: str | None) -> PhoneNumber:
    try:
        return phonenumbers.parse(cleaned, region)
    except NumberParseException as error:
        local = region is None and "+" not in cleaned and any(map(str.isdigit, cleaned))
        problem = _CODE_NEEDED if local else _UNPARSEABLE.get(error.error_type, _LIKE)
    raise _refused(problem)


def _check_possible(parsed: PhoneNumber, number: str) -> None:
    result = phonenumbers.is_possible_number_with_reason(parsed)
    if result != ValidationResult.IS_POSSIBLE:
        raise _refused(_IMPOSSIBLE.get(result, _LIKE))
    if len(number) - 1 not in _DIGITS:
        raise _refused(_SHORT if len(number) <= _DIGITS.start else _LONG)


def _check_stable(number: str) -> None:
    """A prefix too many (+49 00 170) would be dropped by the next who reads the number."""
    again = _parsed(number, None)
    if phonenumbers.format_number(again, phonenumbers.PhoneNumberFormat.E164) != number:
        raise _refused("has a prefix after its country code that is dialled within it only")


def _reads_otherwise(parsed: PhoneNumber, number: str, digits: str) -> bool:
    """Spreadsheets drop the plus, and what is left may be another number of this country."""
    if f"+{digits}" == number or not digits.startswith(str(parsed.country_code)):
        return False
    try:
        other = phonenumbers.parse(f"+{digits}")
    except NumberParseException:
        return False
    return phonenumbers.is_valid_number(other)
