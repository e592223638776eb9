"""How many segments a text message takes, by 3GPP TS 23.038 (alphabets) and 23.040 (joining).

A text whose characters are all in the GSM 7-bit default alphabet or its extension table is
sent in septets: 160 of them, or 153 a segment where the user data header that joins several
takes the rest. Any other text is sent as UCS-2 (in practice UTF-16): 70 units, or 67. What
takes two units is never cut in two. National language shift tables are not used: gateways
rarely send them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

# TS 23.038, 6.2.1; its place 0x1b is the escape to 6.2.1.1.
_BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED: Final = frozenset("\f^{}\\[~]|€")


@dataclass(frozen=True, kw_only=True, slots=True)
class Segments:
    """``units`` are septets or UTF-16 units, and ``left`` are those that the last segment
    still has; ``forced_by`` are the characters, each once and in their order, that GSM
    7-bit does not have."""

    encoding: Literal["gsm-7", "ucs-2"]
    segments: int
    units: int
    left: int
    forced_by: tuple[str, ...] = ()


def count(text: str) -> Segments:
    """What a text takes; an empty one takes a segment too."""
    foreign = tuple(dict.fromkeys(c for c in text if c not in _BASIC and c not in _EXTENDED))
    if foreign:
        widths = [2 if ord(c) > 0xFFFF else 1 for c in text]
    else:
        widths = [2 if c in _EXTENDED else 1 for c in text]
    single, joined = (70, 67) if foreign else (160, 153)
    units = sum(widths)
    segments, left = (1, single - units) if units <= single else _joined(widths, joined)
    return Segments(
        encoding="ucs-2" if foreign else "gsm-7",
        segments=segments,
        units=units,
        left=left,
        forced_by=foreign,
    )


def _joined(widths: Iterable[int], joined: int) -> tuple[int, int]:
    segments, left = 1, joined
    for width in widths:
        if width > left:
            segments, left = segments + 1, joined
        left -= width
    return segments, left
