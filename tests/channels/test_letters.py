from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.channels.letters import Letter, Sender, write_letter
from notify.errors import InvalidNotification
from notify.outcomes import PermanentFailure, Reason

from .values import TEXTS, mail

NOW = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
SENDER = Sender(address="notify@example.org")
INJECTION = "A subject=?UTF-8?Q?=0A?=Bcc: injected@example.com"
LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=300)


def _letter(sender: Sender = SENDER, **changes: Any) -> Letter:
    return write_letter(mail(**changes), sender, NOW)


def _read(letter: Letter) -> EmailMessage:
    message = message_from_bytes(letter.content, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def _text(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    return content.decode()


def _lines(letter: Letter) -> list[bytes]:
    return letter.content.split(b"\r\n")


def test_headers() -> None:
    message = _read(_letter(id="order:1"))
    assert dict(message.items()) == {
        "From": "notify@example.org",
        "To": "ada.lovelace@example.com",
        "Subject": "Code",
        "Date": "Fri, 01 May 2026 12:30:00 +0000",
        "Message-ID": "<order=3A1@example.org>",
        "X-Notification-Id": "order:1",
        "Auto-Submitted": "auto-generated",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "7bit",
        "MIME-Version": "1.0",
    }


@settings(deadline=None)
@given(LINE)
def test_any_subject_arrives(subject: str) -> None:
    letter = _letter(subject=subject)
    assert _read(letter)["Subject"] == subject or "=?" in subject or subject != subject.strip()
    assert max(map(len, _lines(letter))) <= 998


@pytest.mark.parametrize("subject", [*TEXTS, "x" * 900, "订" * 300, "– ’ é" * 60, "a" * 61])
def test_long_and_foreign_subjects(subject: str) -> None:
    letter = _letter(subject=subject)
    assert _read(letter)["Subject"] == subject
    assert max(map(len, _lines(letter))) <= 78


@pytest.mark.parametrize("text", [INJECTION, "=?utf-8?b?Cg==?= Bcc: x@example.com", "=?x?q?y?="])
def test_an_encoded_word_in_a_subject_is_only_text(text: str) -> None:
    message = _read(_letter(subject=text))
    assert "Bcc" not in message
    raw = [line for line in _lines(_letter(subject=text)) if line.startswith(b"Subject: =?utf-8")]
    assert len(raw) == 1


@pytest.mark.parametrize(
    "name", ["Ada", 'Ada "the first" \\ Lovelace', "通知服务" * 12, "a, b <c@d>"]
)
def test_the_senders_name(name: str) -> None:
    header = _read(_letter(Sender(address="notify@example.org", name=name)))["From"]
    assert header.addresses[0].addr_spec == "notify@example.org"
    assert header.addresses[0].display_name.replace(" ", "") == name.replace(" ", "")


@pytest.mark.parametrize("name", ["A\r\nBcc: x@example.com", "A\nB", "A\x00", "A\u2028B"])
def test_a_senders_name_with_a_line_break_is_refused(name: str) -> None:
    with pytest.raises(PermanentFailure, match="a header cannot be encoded safely"):
        _letter(Sender(address="notify@example.org", name=name))


@pytest.mark.parametrize("local", ["=?utf-8?q?=0A?=", "a=?utf-8?b?Cg==?="])
def test_an_encoded_word_in_an_address_is_refused(local: str) -> None:
    with pytest.raises(PermanentFailure, match="a header cannot be encoded safely"):
        _letter(recipient=f"{local}@example.com")


@pytest.mark.parametrize("text", [*TEXTS, "a\nb\r\nc\rd", ".", ".\n..\n", "x" * 3000, "\t a \n\n"])
@pytest.mark.parametrize("kind", ["body", "html"])
def test_content_arrives_with_crlf(text: str, kind: str) -> None:
    changes: dict[str, Any] = {"body": None, kind: text}
    letter = _letter(**changes)
    expected = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n") + "\n"
    found = _text(_read(letter), "html" if kind == "html" else "plain")
    assert found.replace("\r\n", "\n") == expected
    assert max(map(len, _lines(letter))) <= 78
    assert b"\n" not in letter.content.replace(b"\r\n", b"")


@pytest.mark.parametrize("domain", ["☕.example", "i❤.example", "ada_b.example"])
def test_signs_are_no_part_of_a_domain(domain: str) -> None:
    with pytest.raises(InvalidNotification):
        mail(recipient=f"ada@{domain}")


def test_unsubscribing_by_one_click() -> None:
    url = "https://example.com/u?t=abc%20d,e"
    both = _read(_letter(Sender(address="n@example.org", unsubscribe="out@example.org")))
    assert "List-Unsubscribe" not in both
    assert "List-Unsubscribe-Post" not in both
    plain = _read(_letter(unsubscribe=url))
    assert plain["List-Unsubscribe"] == f"<{url}>"
    assert plain["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    sender = Sender(address="n@example.org", unsubscribe="out@example.org")
    both = _read(_letter(sender, unsubscribe=url))
    assert both["List-Unsubscribe"] == f"<{url}>, <mailto:out@example.org>"
    odd = Sender(address="n@example.org", unsubscribe="out+a?b&c@example.org")
    assert (
        "<mailto:out+a%3Fb%26c@example.org>"
        in _read(_letter(odd, unsubscribe=url))["List-Unsubscribe"]
    )
    longest = f"https://example.com/{'a' * 880}"
    letter = _letter(sender, unsubscribe=longest)
    assert max(map(len, _lines(letter))) <= 998


def test_answers_go_where_the_provider_says() -> None:
    message = _read(_letter(Sender(address="n@example.org", reply_to="help@example.org")))
    assert message["Reply-To"] == "help@example.org"


def test_a_repeat_has_the_same_id_and_a_date_of_its_own() -> None:
    notification = mail(id="order:7", body="文")
    first, second = (
        write_letter(notification, SENDER, NOW + timedelta(hours=n)).content for n in (0, 1)
    )
    date = b"Date: Fri, 01 May 2026 12:30:00 +0000"
    assert date in first
    assert second == first.replace(date, date.replace(b"12:30", b"13:30"))


def test_eight_bits_only_where_they_are_asked_for() -> None:
    notification = mail(body="naïve €\n.\n", html="<p>文</p>" + "x" * 990)
    seven = write_letter(notification, SENDER, NOW)
    eight = write_letter(notification, SENDER, NOW, eight_bit=True)
    assert (seven.eight_bit, eight.eight_bit) == (False, True)
    encodings = [part["Content-Transfer-Encoding"] for part in _read(eight).iter_parts()]
    assert encodings == ["8bit", "base64"]
    for kind in ("plain", "html"):
        assert _text(_read(eight), kind) == _text(_read(seven), kind)
    assert "naïve €\r\n.\r\n".encode() in eight.content


def test_both_kinds_of_content() -> None:
    message = _read(_letter(body="plain 文", html="<p>html 文</p>"))
    assert message.get_content_type() == "multipart/alternative"
    assert _text(message, "plain") == "plain 文\r\n"
    assert _text(message, "html") == "<p>html 文</p>\r\n"


@pytest.mark.parametrize(
    ("address", "encoded"),
    [
        ("ada@fass.de", "ada@fass.de"),
        ("ada@例え。テスト", "ada@xn--r8jz45g.xn--zckzah"),
        ("ada@faß.de", "ada@xn--fa-hia.de"),
        ("ada@Bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@例え.jp", "ada@xn--r8jz45g.jp"),
        ("jlópez@bücher.example", "jlópez@xn--bcher-kva.example"),
    ],
)
def test_foreign_domains(address: str, encoded: str) -> None:
    letter = _letter(recipient=address)
    assert (letter.recipient, letter.utf8) == (encoded, not encoded.isascii())
    assert f"\r\nTo: {encoded}\r\n".encode() in letter.content


@pytest.mark.parametrize(
    "domain", ["ü" * 60 + ".example", "aא.example", "\u0301a.example", "a·b.example"]
)
def test_domains_that_cannot_exist(domain: str) -> None:
    with pytest.raises(PermanentFailure) as caught:
        _letter(recipient=f"ada@{domain}")
    assert caught.value.reason is Reason.RECIPIENT_REFUSED
    assert domain not in str(caught.value)
