"""What is done to a text message before it is published."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.config import Settings
from notify.config.models import SmsSettings
from notify.errors import InvalidNotification
from notify.notification import Notification
from notify.segments import count
from notify.smsprep import prepare_sms, preview_sms, recipient
from notify.texts import prepare
from tests.unit.configs import EMAIL, SMS, load

PHONE = "+491701234567"
PROVIDER = {"name": "texts", "type": "http-sms", "url": "http://127.0.0.1/"}


def configured(**texts: Any) -> Settings:
    sms = SmsSettings.model_validate({"texts": texts, "providers": [PROVIDER]})
    return Settings(channels={"sms": sms})


def sms(body: str, **changes: Any) -> Notification:
    return Notification(**{"channel": "sms", "recipient": PHONE, "body": body} | changes)


def refused(notification: Notification, settings: Settings) -> InvalidNotification:
    with pytest.raises(InvalidNotification) as caught:
        prepare_sms(notification, settings)
    return caught.value


def test_recipients_as_people_write_them() -> None:
    german = configured(default_region="DE")
    assert recipient("sms", "0170 1234567", german) == PHONE
    assert recipient("email", " Ada@example.com", german) == " Ada@example.com"
    assert recipient("webhook", "0170 1234567", german) == "0170 1234567"
    with pytest.raises(InvalidNotification, match="no default region is configured"):
        recipient("sms", "0170 1234567", configured())
    assert recipient("sms", "+49 170 1234567", Settings()) == PHONE


def test_the_same_text_has_the_same_digest_however_it_was_written() -> None:
    settings = configured(transliterate=True)
    written = sms("It\u2019s cafe\u0301", recipient="+4901701234567", id="n-1")
    prepared = prepare_sms(written, settings)
    assert (prepared.recipient, prepared.body) == (PHONE, "It's caf\u00e9")
    assert prepared.digest == prepare_sms(sms("It's caf\u00e9"), settings).digest
    assert (prepared.id, prepared.created_at) == ("n-1", written.created_at)
    assert prepare_sms(prepared, settings) is prepared


def test_transliteration_is_a_wish() -> None:
    text = sms("It\u2019s")
    assert prepare_sms(text, configured()) is text
    assert prepare_sms(text, Settings()) is text


def test_other_channels_are_left_alone() -> None:
    mail = Notification(
        channel="email", recipient="a@example.com", subject="\u2019", body="e\u0301" * 9000
    )
    assert prepare_sms(mail, configured(transliterate=True, max_segments=1)) is mail


def test_a_number_that_is_not_possible() -> None:
    error = refused(sms("x", recipient="+5215517329563"), configured())
    assert str(error) == "recipient: is too long for a phone number of its country"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("a" * 1000, "needs 7 segments, at most 6 are allowed"),
        (
            "\u2019" + "a" * 600,
            "needs 9 segments, at most 6 are allowed;"
            " UCS-2 because of U+2019 RIGHT SINGLE QUOTATION MARK",
        ),
        (
            "\u2019\U0001f60e" + "a" * 600,
            "needs 9 segments, at most 6 are allowed; UCS-2 because of U+2019 RIGHT SINGLE"
            " QUOTATION MARK and U+1F60E SMILING FACE WITH SUNGLASSES",
        ),
        (
            "I\u0333" + "a" * 600,
            "needs 9 segments, at most 6 are allowed; UCS-2 because of U+0333 COMBINING"
            " DOUBLE LOW LINE",
        ),
        # Letters are what somebody wrote: counted, not named.
        (
            "\u60a8\u7684" * 300,
            "needs 9 segments, at most 6 are allowed; UCS-2 because of 2 different letters",
        ),
        (
            "\u0915\u093f\u00a0" * 200,
            "needs 9 segments, at most 6 are allowed; UCS-2 because of U+00A0 NO-BREAK SPACE"
            " and 2 different letters",
        ),
    ],
)
def test_a_text_of_too_many_segments(body: str, problem: str) -> None:
    error = refused(sms(body), configured())
    assert (error.field, error.problem) == ("body", problem)


def test_at_most_five_characters_are_named() -> None:
    body = "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u017c" + "a" * 600
    problem = refused(sms(body), configured()).problem
    assert problem.count("U+") == 5
    assert problem.endswith("U+2013 EN DASH, 2 other signs and 1 letter")


def test_segments_are_counted_after_transliteration() -> None:
    body = "\u2019" + "a" * 600
    assert prepare_sms(sms(body), configured(transliterate=True)).body == "'" + "a" * 600
    assert refused(sms(body), configured(transliterate=True, max_segments=3))


def test_preview() -> None:
    settings = configured(transliterate=True, max_segments=2)
    assert preview_sms(sms("It\u2019s \u20ac 5"), settings) == {
        "recipient": "+49***67",
        "region": "DE",
        "kind": "mobile",
        "valid": True,
        "warning": "",
        "encoding": "gsm-7",
        "segments": 1,
        "max_segments": 2,
        "units": 9,
        "units_left": 151,
        "forced_by": [],
        "replaced": [{"character": "U+2019 RIGHT SINGLE QUOTATION MARK", "by": "'"}],
        "problem": "",
    }


def test_preview_of_what_would_be_refused() -> None:
    text = sms("\u60a8" * 100, recipient="+4930123456")
    shown = preview_sms(text, configured(max_segments=1), reveal=True)
    assert shown["recipient"] == "+4930123456"
    assert shown["warning"] == "is no mobile number (fixed line): texts may not arrive"
    assert (shown["encoding"], shown["segments"], shown["units_left"]) == ("ucs-2", 2, 34)
    assert shown["forced_by"] == ["U+60A8 CJK UNIFIED IDEOGRAPH-60A8"]
    assert shown["problem"].startswith("needs 2 segments, at most 1 are allowed")
    json.dumps(shown)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_text_is_prepared_or_refused(body: str) -> None:
    settings = configured(transliterate=True, max_segments=255)
    prepared = prepare_sms(sms(body), settings)
    assert prepare_sms(prepared, settings) is prepared
    assert preview_sms(sms(body), settings)["problem"] == ""


def test_the_section_of_the_configuration(tmp_path: Path) -> None:
    assert load(tmp_path, {}).texts.max_segments == 6
    text = f'[texts]\ndefault_region = "AT"\nmax_segments = 2\ntransliterate = true\n{SMS}'
    texts = load(tmp_path, {"channels/sms.toml": text, "channels/email.toml": EMAIL}).texts
    assert (texts.default_region, texts.max_segments, texts.transliterate) == ("AT", 2, True)


@given(
    st.text(st.characters(max_codepoint=0x7F), min_size=1, max_size=400)
    | st.text(st.sampled_from("Ax 1€[\n\r\u00e9e\u0301\u2019"), min_size=1, max_size=400),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_plain_text_is_let_through_as_a_close_look_would(
    body: str, segments: int, transliterate: bool
) -> None:
    if "\x00" in body:
        return
    settings, text = configured(max_segments=segments, transliterate=transliterate), sms(body)
    close = prepare(body, transliterate=transliterate)
    if close.segments.segments > segments:
        refused(text, settings)
    else:
        assert prepare_sms(text, settings).body == close.text


@pytest.mark.parametrize("character", [chr(code) for code in range(1, 0x80)], ids=ascii)
def test_what_is_plain_has_one_septet(character: str) -> None:
    full = sms(character * 153 * 2)
    plain = count(character * 153 * 2)
    if (plain.encoding, plain.segments) == ("gsm-7", 2):
        assert prepare_sms(full, configured(max_segments=2)) is full
    else:
        refused(full, configured(max_segments=2))
