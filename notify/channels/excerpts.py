"""What may be kept of a gateway's answer: its beginning, without anything that is not its own.

Answers quote what they were sent: the recipient, the text, now and then the credentials. All of
that is replaced by asterisks, in the encodings in which it is usually quoted. Nobody can know
every way to quote, which is why an excerpt is for the record of an attempt and never for a log.
"""

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from notify.notification import Notification

READ: Final = 2000
KEPT: Final = 300
_MASK: Final = "***"
_SHORTEST: Final = 3
# So many characters in common with a text are no coincidence.
_RUN: Final = 12
_SEARCHED: Final = 20_000
_LEAVES: Final = 100
_WORD: Final = re.compile(r"\w*[0-9]\w*")
_SHORTEST_CODE: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Private:
    """What must not be kept: short ``secrets`` as a whole, ``texts`` also in part."""

    secrets: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def private_to(notification: Notification, secrets: Iterable[str] = ()) -> Private:
    """Recipient and content of a notification, and the secrets of its provider."""
    texts = (
        notification.subject,
        notification.body,
        notification.html,
        notification.unsubscribe,
        *(each.name for each in notification.attachments),
    )
    leaves = list(_leaves(notification.data))
    return Private(
        secrets=(*secrets, *names(notification.recipient)),
        texts=(*(text for text in texts if text), *leaves[:_LEAVES], "\n".join(leaves[_LEAVES:])),
    )


def excerpt(answer: bytes, private: Private) -> str:
    """At most 300 printable characters from the first 2,000 bytes of an answer."""
    text = answer[:READ].decode(errors="replace")
    texts = [each for each in private.texts if len(each) <= READ]
    text = _hide_whole(text, [*_forms(private.secrets), *_forms(texts)])
    if len(answer) > READ:
        text = _hide_start(text, _forms(private.secrets))
    text = _hide_codes(_hide_runs(text, private), private)
    return "".join(map(_printable, text[:KEPT]))[:KEPT]


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text without these, in whatever form they are quoted."""
    return _hide_whole(text, _forms(secrets))


def _hide_whole(text: str, forms: Iterable[str]) -> str:
    folded = text.lower()
    found = {form for form in forms if form.lower() in folded}
    if not found:
        return text
    either = "|".join(re.escape(form) for form in sorted(found, key=len, reverse=True))
    return re.sub(either, _MASK, text, flags=re.IGNORECASE)


def _hide_start(text: str, forms: Iterable[str]) -> str:
    """Without the start of a secret that the end of the excerpt cuts in two."""
    folded = text.lower()
    for form in forms:
        for size in range(min(len(form) - 1, len(text)), _SHORTEST, -1):
            if folded.endswith(form[:size].lower()):
                return text[:-size] + _MASK
    return text


def _hide_runs(text: str, private: Private) -> str:
    """Without the stretches that it shares with a text, which may be quoted in part."""
    sources = [source[:_SEARCHED] for source in private.texts]
    shared = [False] * len(text)
    for start in range(len(text) - _RUN + 1):
        if any(text[start : start + _RUN] in source for source in sources):
            shared[start : start + _RUN] = [True] * _RUN
    pieces = [
        character if not hidden else "" if start and shared[start - 1] else _MASK
        for start, (character, hidden) in enumerate(zip(text, shared, strict=True))
    ]
    return "".join(pieces)


def _hide_codes(text: str, private: Private) -> str:
    """Without words with digits that stand in a text: codes, numbers of orders."""

    def hide(match: re.Match[str]) -> str:
        word = match[0]
        known = len(word) >= _SHORTEST_CODE and any(word in source for source in private.texts)
        return _MASK if known else word

    return _WORD.sub(hide, text)


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def _forms(values: Iterable[str]) -> Iterator[str]:
    for value in values:
        if len(value) >= _SHORTEST:
            yield value
            yield json.dumps(value, ensure_ascii=False)[1:-1]
            yield from _escaped(json.dumps(value)[1:-1])
            yield from (quote(value), quote(value, safe=""), quote_plus(value))
            yield html.escape(value)
            yield b64encode(value.encode()).decode().rstrip("=")


def _escaped(text: str) -> Iterator[str]:
    """A text in JSON, and as PHP, Go and .NET write it there."""
    yield text
    yield text.replace("/", "\\/")
    for signs in ("[&<>]", "[&<>+'`]"):
        yield re.sub(signs, lambda found: f"\\u{ord(found[0]):04x}", text)


def names(recipient: str) -> Iterator[str]:
    """A recipient, and the parts by which it is known too."""
    yield recipient
    if recipient.startswith("+"):
        yield recipient[1:]
    local, at, _ = recipient.rpartition("@")
    if at and "://" not in recipient:
        yield local
    if "://" in recipient:
        parts = urlsplit(recipient)
        yield f"{parts.path}?{parts.query}"
        yield parts.path
        yield parts.netloc
        yield unquote(parts.password or "")
        yield parts.query
        yield from (value for _, value in parse_qsl(parts.query))
        yield from (piece for piece in parts.path.split("/") if len(piece) > _SHORTEST)


def _leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a JSON value, however deep."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, dict):
            rest.extend(item.values())
        elif isinstance(item, list):
            rest.extend(item)
        elif item is not None and not isinstance(item, bool):
            yield str(item)
