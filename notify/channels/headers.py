"""The one place where headers of mails are written, those of MIME parts included.

Python's own header folding has turned an encoded word in a subject into a header line
(python/cpython#121650). So every header is encoded here and written as it is. One that is not
of printable ASCII alone, or has more than encoded words, is read back before it is used. Pure.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from email.header import decode_header, make_header
from email.message import Message
from email.parser import Parser
from email.policy import compat32
from email.utils import collapse_rfc2231_value
from functools import partial
from typing import Any, Final

from notify.outcomes import PermanentFailure, Reason

_PLAIN: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_FOLDED: Final = re.compile(r"[!-~]+(?:(?:\r\n)? [!-~]+)*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NO_ADDRESS: Final = re.compile(rf"{_CONTROL.pattern}|[\s<>,;:\"()\\]|=\?")
_WORD: Final = re.compile(r"=\?utf-8\?b\?([A-Za-z0-9+/=]+)\?=")
_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
_LONGEST_PLAIN: Final = 60
# A line with an encoded word has at most 76 characters: 64 for the word leave room for the name.
_WORD_BYTES: Final = 39
_LONGEST_FOLDED: Final = 76
LONGEST_LINE: Final = 998
# What RFC 2231 lets stand for itself, and how much of a value goes into one line.
_ATTRIBUTE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PARAMETER_CHARS: Final = 48


class Header:
    """One header as it is sent: ``written``, and the whole ``line``, which may be folded.

    Raises ``PermanentFailure`` unless a reader finds this header in it and no other; with
    ``text``, or a ``parameter`` and its value, that text and none else.
    """

    __slots__ = ("line", "name", "written")

    def __init__(
        self,
        name: str,
        written: str,
        text: str | None = None,
        parameter: tuple[str, str] | None = None,
    ) -> None:
        line = f"{name}: {written}\r\n"
        if not _NAME.fullmatch(name):
            raise unsafe()
        if not (_is_evident(written, text, parameter) or _reads_back(line, text, parameter)):
            raise unsafe()
        # A character has at most 4 bytes.
        if len(line) * 4 > LONGEST_LINE and _longest(line) > LONGEST_LINE:
            raise unsafe()
        self.name: Final = name
        self.written: Final = written
        self.line: Final = line


def exact(name: str, value: str) -> Header:
    """A header that is written as it is: dates, ids, URLs."""
    if not _PLAIN.fullmatch(value) or "=?" in value:
        raise unsafe()
    return Header(name, value)


def unstructured(name: str, text: str) -> Header:
    """A header of text."""
    _check_text(text)
    return Header(name, _text(text), text=text)


def mailbox(name: str, address: str, display: str = "") -> Header:
    """A header with an address, and the name shown with it."""
    if _NO_ADDRESS.search(address):
        raise unsafe()
    if not display:
        return Header(name, address)
    _check_text(display)
    phrase = _phrase(display)
    gap = "\r\n " if len(phrase) + len(address) > _LONGEST_PLAIN else " "
    return Header(name, f"{phrase}{gap}<{address}>")


def with_parameter(name: str, value: str, parameter: str, text: str) -> Header:
    """A header whose parameter is any text (RFC 2231)."""
    _check_text(text)
    exact(name, value)
    pieces = list(_parameters(parameter, text))
    return Header(name, ";\r\n ".join([value, *pieces]), parameter=(parameter, text))


def unsafe() -> PermanentFailure:
    """What becomes of a mail whose headers cannot be trusted."""
    return PermanentFailure(Reason.REFUSED, "a header cannot be encoded safely")


def head(headers: Iterable[Header]) -> bytes:
    """The headers as they are sent. Raises ``PermanentFailure`` if one stands twice."""
    given = list(headers)
    if len({each.name.lower() for each in given}) < len(given):
        raise unsafe()
    return "".join([each.line for each in given]).encode()


def _longest(lines: str) -> int:
    return max(map(len, lines.encode().split(b"\r\n")))


def _is_evident(written: str, text: str | None, parameter: tuple[str, str] | None) -> bool:
    """Whether nobody can read it in two ways: printable ASCII with nothing in it encoded, or
    encoded words alone, which say its text."""
    if parameter is not None or not _FOLDED.fullmatch(written):
        return False
    if "=?" not in written:
        return text is None or text == written
    return text is not None and _said(written) == text


def _said(words: str) -> str | None:
    """What encoded words say, if there is nothing else, and no character that is none."""
    found = [_WORD.fullmatch(word) for word in words.split("\r\n ")]
    try:
        pieces = [b64decode(word[1], validate=True).decode() for word in found if word]
    except ValueError:
        return None
    said = "".join(pieces)
    return said if len(pieces) == len(found) and not _CONTROL.search(said) else None


def _reads_back(line: str, text: str | None, parameter: tuple[str, str] | None) -> bool:
    name, _, written = line.removesuffix("\r\n").partition(": ")
    if not _is_clean(written):
        return False
    parsed = _parse(f"{line}\r\n")
    if [(found, _unfolded(value)) for found, value in parsed.items()] != [
        (name, _unfolded(written))
    ]:
        return False
    return _means(parsed, name, text, parameter)


def _is_clean(written: str) -> bool:
    """Whether each line, folded by us, is one, and encoded words hide no other."""
    lines = written.split("\r\n ")
    if not all(map(str.strip, lines)):
        return False
    try:
        words = "".join(b64decode(word).decode() for word in _WORD.findall(written))
    except ValueError:
        return False
    rest = map(partial(_WORD.sub, ""), lines)
    return not _CONTROL.search("".join([*lines, words])) and not any("=?" in line for line in rest)


def _parse(head: str) -> "Message[str, str]":
    return Parser(policy=compat32).parsestr(head, headersonly=True)


def _means(
    parsed: "Message[str, str]", name: str, text: str | None, parameter: tuple[str, str] | None
) -> bool:
    if text is not None:
        found = decode_header(_unfolded(parsed[name]))
        return str(make_header(found)) == text
    if parameter is not None:
        key, wanted = parameter
        value = parsed.get_param(key, header=name)
        return isinstance(value, str | tuple) and collapse_rfc2231_value(value) == wanted
    return True


def _unfolded(value: object) -> str:
    return re.sub(r"\r?\n[ \t]", " ", str(value))


def _check_text(text: str) -> None:
    if _CONTROL.search(text):
        raise unsafe()


def _text(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and len(value) <= _LONGEST_PLAIN and "=?" not in value
    return value if plain else _encoded(value)


def _phrase(name: str) -> str:
    if _text(name) != name:
        return _encoded(name)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _encoded(value: str) -> str:
    """Encoded words (RFC 2047), none of which ends within a character."""
    words = (b64encode(piece.encode()).decode() for piece in _pieces(value, _WORD_BYTES, _bytes))
    return "\r\n ".join(f"=?utf-8?b?{word}?=" for word in words)


def _parameters(name: str, text: str) -> Iterator[str]:
    plain = _PLAIN.fullmatch(text) and not re.search(r"[\"\\%]|=\?", text)
    if plain and len(text) <= _PARAMETER_CHARS:
        yield f'{name}="{text}"'
        return
    pieces = list(_pieces(text, _PARAMETER_CHARS, _percent))
    if len(pieces) == 1:
        yield f"{name}*=utf-8''{_percent(text)}"
        return
    for number, piece in enumerate(pieces):
        charset = "" if number else "utf-8''"
        yield f"{name}*{number}*={charset}{_percent(piece)}"


def _percent(text: str) -> str:
    return "".join(
        each if each in _ATTRIBUTE else "".join(f"%{byte:02X}" for byte in each.encode())
        for each in text
    )


def _bytes(text: str) -> bytes:
    return text.encode()


def _pieces(text: str, most: int, encode: Any) -> Iterator[str]:
    """The text in pieces that are short enough when encoded, no character split."""
    piece, size = "", 0
    for character in text:
        more = len(encode(character))
        if size + more > most:
            yield piece
            piece, size = "", 0
        piece, size = piece + character, size + more
    yield piece
