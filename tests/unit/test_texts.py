"""Fewer segments for the same words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.segments import count
from notify.texts import TABLE, named, prepare

# text, and how it is written where that is wanted
WRITTEN = [
    ("\u201cHi\u201d, it\u2019s Ada \u2013 call me\u2026", '"Hi", it\'s Ada - call me...'),
    ("\u201eHallo\u201c \u00bbAda\u00ab \u2039x\u203a", '"Hallo" "Ada" \'x\''),
    ("21\u00a0Uhr\u202f30,\u2009Gleis\u20027", "21 Uhr 30, Gleis 7"),
    ("https://a.example/\u200b?q=1\ufeff", "https://a.example/?q=1"),
    ("\u2066Code\u2069\u00ad: \u200e12", "Code: 12"),
    ("\u2022 one\n\u2022 two", "- one\n- two"),
    ("o\ufb03ce, c\u0153ur, \u0133s", "office, coeur, ijs"),
    ("one\ttwo\u2028three", "one two\nthree"),
    ("\u00a9 2027 Notify\u2122", "(c) 2027 NotifyTM"),
    ("2 \u2212 1 = 1, 3 \u00d7 4", "2 - 1 = 1, 3 x 4"),
]
# What is not touched, wanted or not.
KEPT = [
    "",
    "Code: 5521 [a] {b} ~ \u20ac 5 \u00e4\u00f6\u00fc\u00df\u00c7 \r\n\f",
    "\u60a8\u7684\u9a8c\u8bc1\u7801\u662f5521\u3002\u201c\u597d\u201d\u2026\u2026",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u2014 \u201c\u043a\u043e\u0434\u201d",
    "\u0645\u0631\u062d\u0628\u0627\u060c\u00a0\u0631\u0645\u0632\u0643",
    "na\u00efve \u201cfa\u00e7ade\u201d",
    "Done\u2026 \U0001f60e",
    "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "I\u0333F\u0333",
    # A variant of a character that people have in their names.
    "\ufa19\u6751",
    # Nothing would be left.
    "\u200b\ufeff",
]


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_typography_is_written_in_plain_characters(text: str, written: str) -> None:
    prepared = prepare(text, transliterate=True)
    assert prepared.text == written
    assert prepared.segments == count(written)
    assert [c for c, _ in prepared.replaced] == list(count(text).forced_by)
    assert all(TABLE[c] == by for c, by in prepared.replaced)
    as_it_was = prepare(text, transliterate=False)
    assert (as_it_was.text, as_it_was.replaced) == (text, ())


@pytest.mark.parametrize("text", KEPT)
@pytest.mark.parametrize("transliterate", [True, False])
def test_what_would_not_fit_anyway_stays_as_it_is(text: str, transliterate: bool) -> None:
    prepared = prepare(text, transliterate=transliterate)
    assert (prepared.text, prepared.replaced) == (text, ())
    assert prepared.segments == count(text)


def test_a_text_is_not_made_longer() -> None:
    """In UCS-2 it is one segment, in GSM 7-bit it would be two."""
    assert prepare("\u2026" * 70, transliterate=True).text == "\u2026" * 70
    assert prepare("\u2026" * 53, transliterate=True).text == "..." * 53


@pytest.mark.parametrize(
    ("text", "composed"),
    [
        ("Cafe\u0301 Mu\u0308nchen", "Caf\u00e9 M\u00fcnchen"),
        ("\u212bngstr\u00f6m", "\u00c5ngstr\u00f6m"),
        ("\u1112\u1161\u11ab", "\ud55c"),
        ("\ufa19 e\u0301", "\ufa19 \u00e9"),
        # NFC of this is longer.
        ("\u0958", "\u0958"),
    ],
)
def test_letters_and_their_marks_become_one(text: str, composed: str) -> None:
    prepared = prepare(text, transliterate=False)
    assert (prepared.text, prepared.replaced) == (composed, ())
    assert prepared.segments == count(composed)


@pytest.mark.parametrize("character", TABLE, ids=named)
def test_the_table_leads_to_gsm_and_from_elsewhere(character: str) -> None:
    assert len(character) == 1
    assert count(character).forced_by == (character,)
    assert not count(TABLE[character]).forced_by


def test_names() -> None:
    assert named("\u2019") == "U+2019 RIGHT SINGLE QUOTATION MARK"
    assert named("\U0001f60e") == "U+1F60E SMILING FACE WITH SUNGLASSES"
    assert named("\x85") == "U+0085"


TYPICAL = st.sampled_from([*TABLE, *"aA1 \n\u20ac[e\u0301\u0308\u212b\u0958\ufa19\u6751\u2026"])
TEXTS = st.text(TYPICAL | st.characters(), max_size=400)


@given(TEXTS, st.booleans())
def test_never_more_segments_and_only_once(text: str, transliterate: bool) -> None:
    prepared = prepare(text, transliterate=transliterate)
    before, after = count(text), prepared.segments
    assert after == count(prepared.text)
    assert after.segments <= before.segments
    assert not (after.forced_by and not before.forced_by)
    again = prepare(prepared.text, transliterate=transliterate)
    assert (again.text, again.replaced) == (prepared.text, ())
    if transliterate:
        assert prepare(prepare(text, transliterate=False).text, transliterate=True) == prepared
    if prepared.replaced:
        assert not after.forced_by


@given(st.text(st.sampled_from([*"abc \u20ac\u00e4\n[]{}\u00c7\u00e9\f\r@$"]), max_size=400))
def test_what_is_gsm_already_is_not_changed(text: str) -> None:
    assert prepare(text, transliterate=True).text == text


@given(st.text(st.characters(), max_size=60))
def test_without_a_wish_only_what_unicode_calls_equal_changes(text: str) -> None:
    prepared = prepare(text, transliterate=False).text
    assert unicodedata.normalize("NFC", prepared) == unicodedata.normalize("NFC", text)
