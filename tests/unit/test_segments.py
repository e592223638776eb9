"""How many segments a text takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.segments import Segments, count

# TS 23.038, 6.2.1, row by row; place 0x1b is the escape.
TABLE = (
    "@£$¥èéùìòÇ\nØø\rÅå"
    "Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ"
    " !\"#¤%&'()*+,-./"
    "0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNO"
    "PQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmno"
    "pqrstuvwxyzäöñüà"
)
EXTENSION = {
    0x0A: "\f",
    0x14: "^",
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}
URL = "https://example.com/" + "a" * 120

# text, encoding, segments, units, what forced it
CASES: list[tuple[str, str, int, int, str]] = [
    ("", "gsm-7", 1, 0, ""),
    ("a" * 160, "gsm-7", 1, 160, ""),
    ("a" * 161, "gsm-7", 2, 161, ""),
    ("a" * 306, "gsm-7", 2, 306, ""),
    ("a" * 307, "gsm-7", 3, 307, ""),
    ("€" * 80, "gsm-7", 1, 160, ""),
    ("€" * 81, "gsm-7", 2, 162, ""),
    # 153 is odd: a septet of each segment stays empty.
    ("€" * 152, "gsm-7", 2, 304, ""),
    ("€" * 153, "gsm-7", 3, 306, ""),
    # An escape and its character stay together.
    ("a" * 152 + "€" + "a" * 152, "gsm-7", 3, 306, ""),
    ("a" * 151 + "€" + "a" * 153, "gsm-7", 2, 306, ""),
    ("ж" * 70, "ucs-2", 1, 70, "ж"),
    ("ж" * 71, "ucs-2", 2, 71, "ж"),
    ("ж" * 134, "ucs-2", 2, 134, "ж"),
    ("ж" * 135, "ucs-2", 3, 135, "ж"),
    # UTF-16 units, not code points; 67 is odd, and a pair stays together.
    ("😎" * 35, "ucs-2", 1, 70, "😎"),
    ("😎" * 70, "ucs-2", 3, 140, "😎"),
    ("ж" * 66 + "😎" + "ж" * 66, "ucs-2", 3, 134, "ж😎"),
    # Counted from the text itself, not from how a request spells it.
    ("æøå " + URL, "gsm-7", 1, 144, ""),
    ("æøå " + URL + "b" * 17, "gsm-7", 2, 161, ""),
    # What cannot be seen is named.
    ("I\u0333F\u0333", "ucs-2", 1, 4, "\u0333"),
    ("\u201cHi\u201d", "ucs-2", 1, 4, "\u201c\u201d"),
    ("a\u00a0b\u200bc\u00a0", "ucs-2", 1, 6, "\u00a0\u200b"),
    ("ç", "ucs-2", 1, 1, "ç"),
    ("\x1b", "ucs-2", 1, 1, "\x1b"),
    ("您的验证码是5521", "ucs-2", 1, 10, "您的验证码是"),
    ("您的" * 40, "ucs-2", 2, 80, "您的"),
    ("\ud800" * 70, "ucs-2", 1, 70, "\ud800"),
]


@pytest.mark.parametrize(("text", "encoding", "segments", "units", "forced_by"), CASES)
def test_count(text: str, encoding: str, segments: int, units: int, forced_by: str) -> None:
    counted = count(text)
    assert (counted.encoding, counted.segments, counted.units) == (encoding, segments, units)
    assert counted.forced_by == tuple(forced_by)


def test_the_alphabet_is_the_standard_s() -> None:
    assert len(TABLE) == len(set(TABLE)) == 128
    for place, character in enumerate(TABLE):
        assert (count(character).encoding == "gsm-7") == (place != 0x1B)
        assert count(character).units == 1
    assert all(
        count(c) == Segments(encoding="gsm-7", segments=1, units=2, left=158) for c in extension()
    )


def extension() -> list[str]:
    return list(EXTENSION.values())


def naive(text: str) -> tuple[str, int, int, int]:
    """Writes the units out, and cuts them."""
    if set(text) <= {*TABLE, *extension()} - {"\x1b"}:
        atoms = [
            [0x1B, next(at for at, e in EXTENSION.items() if e == c)]
            if c in extension()
            else [TABLE.index(c)]
            for c in text
        ]
        return "gsm-7", *cut(atoms, 160, 153)
    encoded = [c.encode("utf-16-le", "surrogatepass") for c in text]
    return "ucs-2", *cut([list(e[::2]) for e in encoded], 70, 67)


def cut(atoms: list[list[int]], single: int, joined: int) -> tuple[int, int, int]:
    units = [unit for atom in atoms for unit in atom]
    if len(units) <= single:
        return 1, len(units), single - len(units)
    parts: list[list[int]] = [[]]
    for atom in atoms:
        if len(parts[-1]) + len(atom) > joined:
            parts.append([])
        parts[-1] += atom
    return len(parts), len(units), joined - len(parts[-1])


CHARACTERS = st.sampled_from([*"aé@€[^", "\n"]) | st.characters()


@given(
    st.lists(st.tuples(CHARACTERS | st.sampled_from("a€ж😎"), st.integers(1, 160)), max_size=6).map(
        lambda runs: "".join(c * n for c, n in runs)
    )
)
def test_it_counts_like_one_that_writes_the_units_out(text: str) -> None:
    counted = count(text)
    assert (counted.encoding, counted.segments, counted.units, counted.left) == naive(text)
