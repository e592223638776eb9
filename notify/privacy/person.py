"""Who is meant, however they are written, and where a text names them. Pure."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from notify import phones
from notify.errors import InvalidInput, InvalidNotification
from notify.recipients import RECIPIENT_CHECKS
from notify.spelling import canonical, digest

ERASED: Final = "[erased]"
# What stands between the digits of a number: not so much that two numbers become one.
_BETWEEN: Final = r"[ \u00a0().\-/]{0,3}"
_SIGNS: Final = dict.fromkeys(map(ord, " \u00a0().-/"))
# With or without country code, and whatever is dialled before, a number ends the same.
_HINT: Final = 6
_WORD: Final = r"[\w.+\-]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """One recipient of one channel; ``patterns`` find them in texts, and what lacks the
    ``hint`` need not be searched: for a number, in what is left without the signs in between."""

    channel: str
    recipient: str
    patterns: tuple[re.Pattern[str], ...]
    hint: str

    @property
    def key(self) -> str:
        """What the archive finds their letters by."""
        return digest(self.channel, self.recipient)

    @property
    def keys(self) -> list[str]:
        """The same, and for letters whose channel is not known."""
        return [self.key, digest("", self.recipient)]

    def is_in(self, text: str) -> bool:
        """Whether a text names them, in any spelling."""
        folded = text if text.isascii() else unicodedata.normalize("NFC", text)
        number = self.channel == "sms"
        if self.hint not in (folded.translate(_SIGNS) if number else folded.casefold()):
            return False
        return any(pattern.search(folded) for pattern in self.patterns)

    def without(self, text: str) -> str:
        """The text with their name taken out."""
        folded = unicodedata.normalize("NFC", text)
        for pattern in self.patterns:
            folded = pattern.sub(ERASED, folded)
        return folded


def person(recipient: str, region: str | None = None, channel: str | None = None) -> Person:
    """From what somebody typed; ``region`` is where numbers lack a country code.

    Raises ``InvalidInput``.
    """
    channel = channel or _channel(recipient)
    if channel == "sms":
        try:
            recipient = phones.normalise(recipient, region).number
        except InvalidNotification as error:
            raise InvalidInput(f"recipient: {error.problem}") from None
    else:
        recipient = canonical(channel, recipient.strip())
        problem = RECIPIENT_CHECKS[channel](recipient)
        if problem:
            raise InvalidInput(f"recipient: {problem}")
    makers: dict[str, Callable[[str], Iterator[str]]] = {
        "sms": _of_number,
        "email": _of_address,
        "webhook": _of_url,
    }
    patterns = (re.compile(each, re.IGNORECASE) for each in makers[channel](recipient))
    return Person(
        channel=channel,
        recipient=recipient,
        patterns=tuple(patterns),
        hint=_hint(channel, recipient),
    )


def _hint(channel: str, recipient: str) -> str:
    if channel == "sms":
        return recipient[-_HINT:]
    part = recipient.rpartition("@")[0] if channel == "email" else urlsplit(recipient).netloc
    return part.casefold()


def _channel(recipient: str) -> str:
    if "://" in recipient:
        return "webhook"
    return "email" if "@" in recipient else "sms"


def _of_number(number: str) -> Iterator[str]:
    """With its country code after +, 00 or nothing, or as it is dialled within its country."""
    digits = number.removeprefix("+")
    yield rf"(?<!\d)(?:\+|00)?{_BETWEEN.join(digits)}(?!\d)"
    national = phones.national(number)
    if len(national) >= 7:
        yield rf"(?<![\d+]){_BETWEEN.join(national)}(?!\d)"


def _of_address(address: str) -> Iterator[str]:
    """Before and after it nothing that would make it another address; the domain in both of
    its forms, and the sign as URLs and forms write it."""
    local, _, domain = address.rpartition("@")
    for form in {domain, _unicode(domain)}:
        at = f"(?:@|%40|{re.escape('&#64;')})"
        yield rf"(?<!{_WORD}){re.escape(local)}{at}{re.escape(form)}(?![\w\-]|\.\w)"


def _unicode(domain: str) -> str:
    try:
        return domain.encode("ascii").decode("idna")
    except UnicodeError:
        return domain


def _of_url(url: str) -> Iterator[str]:
    """Paths differ by case, and what goes on is another URL; a sentence may end behind it."""
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc}"
    rest = re.escape(url[len(place) :]) if url != f"{place}/" else "/?"
    yield rf"(?-i:(?i:{re.escape(place)}){rest})(?!\w|[\-/=&%~+]|[.,:;!?@$*]+[\w/])"
