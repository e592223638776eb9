"""What a text says is kept, how it is written may change: fewer units for the same words.

NFC writes a letter and its marks as one character. Transliteration, if wanted, writes
typography as a typewriter does, by the table below, and only where the whole text then
has the GSM 7-bit alphabet: a text in another script stays as it is.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from notify.segments import Segments, count

_WRITTEN: Final = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a\u02b9\u02bb\u02bc\u02bd\u0060\u00b4",
    '"': "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u02ba\u301d\u301e\u301f",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63"  # dashes
    "\u2022\u2023\u2219\u25aa\u25cf\u25e6",  # bullets
    ".": "\u2024\u00b7",
    "..": "\u2025",
    "...": "\u2026\u22ef",
    "/": "\u2044\u2215",
    "~": "\u223c\u02dc",
    "!!": "\u203c",
    " ": "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000",
    "\n": "\v\u0085\u2028\u2029",
    # Joiners, marks of direction, soft hyphens, selectors of variants: nothing of it is seen.
    "": "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff",
    "ff": "\ufb00",
    "fi": "\ufb01",
    "fl": "\ufb02",
    "ffi": "\ufb03",
    "ffl": "\ufb04",
    "st": "\ufb05\ufb06",
    "ij": "\u0133",
    "IJ": "\u0132",
    "oe": "\u0153",
    "OE": "\u0152",
    "(c)": "\u00a9",
    "(R)": "\u00ae",
    "TM": "\u2122",
    "x": "\u00d7",
}
TABLE: Final = {c: text for text, characters in _WRITTEN.items() for c in characters}
"""What stands for a character that GSM 7-bit does not have."""

# Unicode calls them equal to others that look different, in people's names among them.
_LOOKALIKES: Final = re.compile("([\uf900-\ufaff\U0002f800-\U0002fa1f]+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A text as it will be sent, what it takes, and what was replaced, each once."""

    text: str
    segments: Segments
    replaced: tuple[tuple[str, str], ...] = ()


def prepare(text: str, *, transliterate: bool) -> Prepared:
    """Writes a text with fewer units where that is possible; never with more segments."""
    plain = _composed(text)
    if not transliterate or not plain.segments.forced_by:
        return plain
    replaced = [(c, TABLE[c]) for c in plain.segments.forced_by if c in TABLE]
    candidate = plain.text.translate({ord(c): instead for c, instead in replaced})
    written = Prepared(text=candidate, segments=count(candidate), replaced=tuple(replaced))
    fits = candidate.strip() and not written.segments.forced_by
    return written if fits and written.segments.segments <= plain.segments.segments else plain


def named(character: str) -> str:
    """A character by its code point and name, such as ``U+2019 RIGHT SINGLE QUOTATION MARK``."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def _composed(text: str) -> Prepared:
    """The text, or its NFC where that takes less."""
    parts = _LOOKALIKES.split(text)
    parts[::2] = [unicodedata.normalize("NFC", part) for part in parts[::2]]
    given = Prepared(text=text, segments=count(text))
    joined = "".join(parts)
    if joined == text:
        return given
    composed = Prepared(text=joined, segments=count(joined))
    before, after = given.segments, composed.segments
    freed = before.forced_by and not after.forced_by
    gained = (after.segments, after.units) < (before.segments, before.units)
    return composed if freed or gained else given
