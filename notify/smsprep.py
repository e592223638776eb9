"""What is done to a text message before it is published: number, words, and what they cost.

It happens before the digest is taken, so that a repeated publish meets the same digest
however its number was written, and what was published is what is sent.
"""

import re
import unicodedata
from typing import Any, Final

from notify import phones
from notify.config import Settings
from notify.config.texts import TextSettings
from notify.errors import InvalidNotification
from notify.notification import Notification
from notify.segments import Segments
from notify.telemetry import mask
from notify.texts import Prepared, named, prepare

_CHANNEL: Final = "sms"
# Of ASCII what GSM 7-bit has, each in one septet, of which a joined segment has so many.
_PLAIN: Final = re.compile(r"[\n\r -Z_a-z]+")
_JOINED: Final = 153
_NAMED: Final = 5


def recipient(channel: str, text: str, settings: Settings) -> str:
    """A recipient as a notification takes it, from what a person wrote.

    Raises ``InvalidNotification`` for field ``recipient``.
    """
    if channel != _CHANNEL:
        return text
    return phones.normalise(text, settings.texts.default_region).number


def prepare_sms(notification: Notification, settings: Settings) -> Notification:
    """The notification as it will be sent; one for another channel is returned as it is.

    A second time changes nothing. Raises ``InvalidNotification`` for a number that is not
    possible, and for a text of more segments than are allowed.
    """
    if notification.channel != _CHANNEL:
        return notification
    number = phones.normalise(notification.recipient).number
    texts = settings.texts
    if number == notification.recipient and _is_plain(notification.body, texts.max_segments):
        return notification
    prepared = _prepared(notification, texts)
    problem = _problem(prepared.segments, texts.max_segments)
    if problem:
        raise InvalidNotification("body", problem)
    if (number, prepared.text) == (notification.recipient, notification.body):
        return notification
    return notification.evolve(recipient=number, body=prepared.text)


def _is_plain(text: str | None, segments: int) -> bool:
    """Whether a look tells that it stays as it is and fits: most texts are so."""
    return text is not None and len(text) <= segments * _JOINED and bool(_PLAIN.fullmatch(text))


def preview_sms(
    notification: Notification, settings: Settings, *, reveal: bool = False
) -> dict[str, Any]:
    """What a text would take and where it would go; ``problem`` says why it is refused."""
    phone = phones.normalise(notification.recipient)
    prepared = _prepared(notification, settings.texts)
    segments = prepared.segments
    return {
        "recipient": phone.number if reveal else mask(phone.number),
        "region": phone.region,
        "kind": phone.kind,
        "valid": phone.valid,
        "warning": phone.warning,
        "encoding": segments.encoding,
        "segments": segments.segments,
        "max_segments": settings.texts.max_segments,
        "units": segments.units,
        "units_left": segments.left,
        "forced_by": [named(character) for character in segments.forced_by],
        "replaced": [{"character": named(c), "by": text} for c, text in prepared.replaced],
        "problem": _problem(segments, settings.texts.max_segments),
    }


def _prepared(notification: Notification, settings: TextSettings) -> Prepared:
    return prepare(notification.body or "", transliterate=settings.transliterate)


def _problem(segments: Segments, most: int) -> str:
    if segments.segments <= most:
        return ""
    return f"needs {segments.segments} segments, at most {most} are allowed{_why(segments)}"


def _why(segments: Segments) -> str:
    """Names signs; letters are content, and an error may stand in a log."""
    signs = [named(c) for c in segments.forced_by if _is_sign(c)]
    letters = len(segments.forced_by) - len(signs)
    causes = signs[:_NAMED]
    if len(signs) > _NAMED:
        causes.append(f"{len(signs) - _NAMED} other signs")
    if letters:
        causes.append(f"{letters} {'letter' if letters == 1 else 'different letters'}")
    *most, last = causes or [""]
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"; UCS-2 because of {listed}" if listed else ""


def _is_sign(character: str) -> bool:
    if unicodedata.category(character)[0] in "PSZC":
        return True
    return unicodedata.name(character, "").startswith(("COMBINING ", "VARIATION SELECTOR"))
