"""Fills the placeholders of a profile's texts, each in the way its place asks for. Pure.

A text that is nothing but one placeholder without a value is left out, with its name.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from notify.config.profiles import PLACEHOLDER
from notify.outcomes import PermanentFailure, Reason

Filling = Mapping[str, Any]
_MISSING: Final = object()
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_UNSENDABLE: Final = re.compile(r"[\r\n\x00]|^\s|\s$")


def encode_json(value: Any) -> bytes:
    """The bytes in which we send a JSON value."""
    return _ENCODER.encode(value).encode()


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else encode_json(value).decode()


def _plain(text: str) -> str:
    return text


def fill_text(template: str, filling: Filling, encode: Callable[[str], str] = _plain) -> str | None:
    """The text, with what is filled in encoded; None if it only stands for what is missing."""
    whole = PLACEHOLDER.fullmatch(template)
    if whole and filling.get(whole[1]) is None:
        return None
    return PLACEHOLDER.sub(lambda found: encode(as_text(filling.get(found[1]))), template)


def fill_json(template: Any, filling: Filling) -> Any:
    """The value; a text that is only a placeholder becomes what it stands for, of any type."""
    filled = _fill(template, filling)
    return None if filled is _MISSING else filled


def _fill(template: Any, filling: Filling) -> Any:
    if isinstance(template, str):
        whole = PLACEHOLDER.fullmatch(template)
        value = filling.get(whole[1]) if whole else fill_text(template, filling)
        return _MISSING if value is None else value
    if isinstance(template, dict):
        filled = {name: _fill(item, filling) for name, item in template.items()}
        return {name: item for name, item in filled.items() if item is not _MISSING}
    if isinstance(template, list):
        items = [_fill(item, filling) for item in template]
        return [item for item in items if item is not _MISSING]
    return template


def fill_pairs(template: Mapping[str, str], filling: Filling) -> dict[str, str]:
    """Names and texts that are encoded later, all together."""
    filled = {name: fill_text(text, filling) for name, text in template.items()}
    return {name: text for name, text in filled.items() if text is not None}


def fill_headers(template: Mapping[str, str], filling: Filling) -> dict[str, str]:
    """Raises ``PermanentFailure`` where a text cannot be the value of a header."""
    filled = fill_pairs(template, filling)
    for name, text in filled.items():
        if _UNSENDABLE.search(text):
            raise PermanentFailure(Reason.INVALID, f"header {name}: cannot carry such a text")
    return filled


def fill_url(template: str, filling: Filling) -> str:
    """A URL. A placeholder it begins with is a URL itself; others are parts of its path.

    Raises ``PermanentFailure`` where a text would lead to another path.
    """
    start = PLACEHOLDER.match(template)
    base = as_text(filling.get(start[1])) if start else ""
    rest = template[start.end() :] if start else template
    return base + (fill_text(rest, filling, _segment) or "")


def _segment(text: str) -> str:
    if text in (".", ".."):
        raise PermanentFailure(Reason.INVALID, "the URL cannot carry such a text")
    return quote(text, safe="")


def add_query(url: str, pairs: Mapping[str, str]) -> str:
    """The URL with further pairs; what it has already stays as it is."""
    if not pairs:
        return url
    query = urlencode(pairs, quote_via=quote, safe="")
    if "?" not in url:
        return f"{url}?{query}"
    return f"{url}{query}" if url.endswith(("?", "&")) else f"{url}&{query}"
