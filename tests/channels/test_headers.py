"""Whatever is put into a header, what is sent has the headers that were meant and no others."""

import subprocess
from email.header import decode_header, make_header
from email.parser import BytesParser
from email.policy import compat32, default
from email.utils import collapse_rfc2231_value
from pathlib import Path
from typing import Any

import idna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.channels.headers import (
    Header,
    exact,
    head,
    mailbox,
    unstructured,
    with_parameter,
)
from notify.outcomes import PermanentFailure, Reason

from .every_python import FRAGMENTS, check_all

ROOT = Path(__file__).parents[2]
CONTROLS = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029"]
HOSTILE = st.lists(
    st.sampled_from([*FRAGMENTS, "\r\n", "\n", "\r", "\x00", "\t", "\x0b", "\x0c", "\x1c", "\x85"])
    | st.text(max_size=8),
    max_size=10,
).map("".join)
MAKERS: dict[str, Any] = {
    "exact": lambda text: exact("X-Test", text),
    "unstructured": lambda text: unstructured("Subject", text),
    "address": lambda text: mailbox("To", text),
    "display": lambda text: mailbox("From", "a@example.org", text),
    "parameter": lambda text: with_parameter("Content-Type", "a/b", "name", text),
    "raw": lambda text: Header("X-Test", text),
    "name": lambda text: Header(text, "x"),
}


def _sent(*headers: Header) -> bytes:
    return head(headers) + b"\r\ncontent\r\n"


@pytest.mark.parametrize("kind", MAKERS)
@settings(deadline=None)
@given(text=HOSTILE)
def test_no_text_becomes_another_header(kind: str, text: str) -> None:
    try:
        header = MAKERS[kind](text)
        content = _sent(Header("X-First", "1"), header, Header("X-Last", "1"))
    except PermanentFailure as failure:
        assert failure.reason is Reason.REFUSED
        assert str(failure) == "refused: a header cannot be encoded safely"
        return
    for policy in (compat32, default):
        message: Any = BytesParser(policy=policy).parsebytes(content)
        assert message.keys() == ["X-First", header.name, "X-Last"]
        assert message.get_payload() == "content\r\n"
    assert max(map(len, content.split(b"\r\n"))) <= 998


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
@pytest.mark.parametrize("kind", MAKERS)
def test_control_characters_are_refused(kind: str, control: str) -> None:
    for text in (f"a{control}b", control, f"a{control}Bcc: x@example.com", f"a\r\n {control}b"):
        with pytest.raises(PermanentFailure, match="a header cannot be encoded safely"):
            _sent(MAKERS[kind](text))


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=300)
)
def test_any_text_arrives_as_it_is(text: str) -> None:
    content = _sent(
        unstructured("Subject", text), with_parameter("Content-Type", "a/b", "name", text)
    )
    message: Any = BytesParser(policy=compat32).parsebytes(content)
    unfolded = message["Subject"].replace("\r\n ", " ")
    assert str(make_header(decode_header(unfolded))) == text
    assert collapse_rfc2231_value(message.get_param("name")) == text
    assert max(map(len, content.split(b"\r\n"))) <= 78


@pytest.mark.parametrize("sign", FRAGMENTS)
def test_encoded_words_never_stand_side_by_side(sign: str) -> None:
    """Some receivers refuse "?==?", which folding has produced (python/cpython#144156)."""
    sent = _sent(unstructured("Subject", sign * 40)).partition(b"\r\n\r\n")[0]
    words = sent.removeprefix(b"Subject: ").split(b"\r\n ")
    assert all(word.count(b"=?utf-8?b?") <= 1 for word in words)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1\r\nBcc: x", None),
        ("1\r\n\r\nx", None),
        ("1\r\n", None),
        ("1\r\n \r\n 2", None),
        (" 1", None),
        ("a", "b"),
        ("=?utf-8?b?QQ==?=", "B"),
        ("=?utf-8?b?QQ==?=", "=?utf-8?b?QQ==?="),
        ("=?utf-8?b?Q=Q=?=", "A"),
        ("=?utf-8?b?/w==?=", "\ufffd"),
        ("=?utf-8?b?Cg==?=", "\n"),
        ("x" * 999, None),
        ("é" * 499, None),
    ],
)
def test_what_a_reader_would_take_for_something_else_is_refused(
    written: str, text: str | None
) -> None:
    with pytest.raises(PermanentFailure, match="a header cannot be encoded safely"):
        head([Header("Subject", written, text=text)])


def test_a_header_stands_once() -> None:
    for second in ("Subject", "SUBJECT"):
        with pytest.raises(PermanentFailure):
            head([unstructured("Subject", "a"), Header(second, "a")])


def test_hostile_mails_on_this_python() -> None:
    assert check_all(60) > 90


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_hostile_mails_on_every_python(version: str, tmp_path: Path) -> None:
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"Python {version} is not here")
    (tmp_path / "idna").symlink_to(Path(idna.__file__).parent)
    program = Path(__file__).with_name("every_python.py")
    done = subprocess.run(
        [found[-1], "-W", "error", program, ROOT, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" mails\n")
