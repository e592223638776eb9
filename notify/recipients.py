"""What can be a recipient, for each channel, as far as nobody needs to be asked. Pure."""

import re
import unicodedata
from typing import Final
from urllib.parse import urlsplit

_E164: Final = re.compile(r"\+[1-9][0-9]{6,14}")
_MAX_ADDRESS: Final = 254
# What RFC 5322 allows without quotes. Beyond ASCII (RFC 6531) letters, marks and digits only:
# other signs are what a word processor made of an apostrophe, and no server knows the address.
_LOCAL_SIGNS: Final = frozenset("!#$%&'*+-/=?^_`{|}~.")
# Joiners and the middle dots that IDNA allows in their places.
_DOMAIN_SIGNS: Final = frozenset("-\u200c\u200d\u00b7\u30fb\u0375\u05f3\u05f4")
_IDEOGRAPHIC_STOPS: Final = re.compile("[\u3002\uff0e\uff61]")
_MAX_URL: Final = 2048
# A URL in a header is not folded, and a line has at most 998 characters.
_MAX_HEADER_URL: Final = 900
_HEADER_URL: Final = re.compile(r"https://[!#-;=?-\[\]_a-z~]+")

# Where heartbeats go, and nobody is: RFC 2606 keeps the name free, and no country has the code.
NULL_RECIPIENTS: Final = {
    "sms": "+9990000000",
    "email": "heartbeat@notify.invalid",
    "webhook": "https://notify.invalid/heartbeat",
}


def phone_problem(recipient: str) -> str | None:
    """What is wrong with a phone number."""
    return None if _E164.fullmatch(recipient) else "must be a phone number like +491701234567"


def address_problem(recipient: str) -> str | None:
    """What is wrong with an email address."""
    local, _, domain = recipient.rpartition("@")
    if len(recipient) <= _MAX_ADDRESS and _is_local_part(local) and _is_domain(domain):
        return None
    return "must be an email address like name@example.com"


def _is_local_part(local: str) -> bool:
    if not 1 <= len(local.encode()) <= 64 or local[0] == "." or local[-1] == "." or ".." in local:
        return False
    return all(_is_word(each) or each in _LOCAL_SIGNS for each in local)


def _is_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _is_domain(domain: str) -> bool:
    # UTS 46 reads these as full stops.
    labels = _IDEOGRAPHIC_STOPS.sub(".", domain).split(".")
    top = labels[-1]
    # UTS 46 reads superscript and circled digits as digits.
    numeric = top.isdigit() or (top.isascii() and len(top) < 2)
    return len(labels) > 1 and not numeric and all(map(_is_label, labels))


def _is_label(label: str) -> bool:
    if not 1 <= len(label) <= 63 or label[0] == "-" or label[-1] == "-":
        return False
    if label[:4].lower() == "xn--" and not _is_punycode(label[4:]):
        return False
    return all(_is_word(each) or each in _DOMAIN_SIGNS for each in label)


def _is_punycode(encoded: str) -> bool:
    try:
        decoded = encoded.lower().encode("ascii").decode("punycode")
        again = decoded.encode("punycode").decode("ascii")
    except ValueError:
        return False
    return again == encoded.lower() and not decoded.isascii()


def url_problem(recipient: str) -> str | None:
    """What is wrong with the URL of a webhook."""
    try:
        parts = urlsplit(recipient)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        return "must be a URL like https://example.com/hook"
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        return "must be a URL like https://example.com/hook"
    if len(recipient) > _MAX_URL or re.search(r"[\s\\]", recipient):
        return f"must be a URL of at most {_MAX_URL} characters without spaces and backslashes"
    if parts.username is not None or "#" in recipient:
        return "must be a URL without user name and fragment"
    return None


def unsubscribe_problem(url: str) -> str | None:
    """What is wrong with the URL that unsubscribes a recipient (RFC 8058)."""
    encoded = _HEADER_URL.fullmatch(url) and "=?" not in url
    if len(url) > _MAX_HEADER_URL or not encoded:
        return (
            f"must be an https URL of at most {_MAX_HEADER_URL} characters, percent-encoded,"
            " without '=?'"
        )
    return url_problem(url)


RECIPIENT_CHECKS: Final = {
    "sms": phone_problem,
    "email": address_problem,
    "webhook": url_problem,
}
