"""The one place where headers of mails are written, those of MIME parts included.

Python's own header folding has turned an encoded word in a subject into a header line
(python/cpython#121650). So every header is encoded here, stored and written as it is, and
read back before it is used. Pure.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.header import decode_header, make_header
from email.message import EmailMessage, Message
from email.parser import Parser
from email.policy import EmailPolicy, compat32
from email.utils import collapse_rfc2231_value
from functools import partial
from typing import Any, Final

from notify.outcomes import PermanentFailure, Reason

_PLAIN: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
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


@dataclass(frozen=True, slots=True)
class Header:
    """One header: as it is written, and what a reader must find in it, where that differs."""

    name: str
    written: str
    text: str | None = None
    parameter: tuple[str, str] | None = None


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
    _check_text(display)
    if _CONTROL.search(address) or "=?" in address or re.search(r"[\s<>,;:\"()\\]", address):
        raise unsafe()
    if not display:
        return Header(name, address)
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


class _Verbatim(EmailPolicy):
    """Headers are kept and written as they were encoded above."""

    def header_store_parse(self, name: str, value: Any) -> tuple[str, Any]:
        return name, value

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        return value

    def fold(self, name: str, value: Any) -> str:
        return f"{name}: {value}\r\n"

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode()


VERBATIM: Final = _Verbatim(linesep="\r\n", cte_type="8bit")


def entity(headers: Iterable[Header]) -> EmailMessage:
    """A message or a part of one, with these headers and still without content."""
    given = list(headers)
    _read_back(given)
    made = EmailMessage(policy=VERBATIM)
    for each in given:
        made[each.name] = each.written
    return made


def check_head(content: bytes, made: Mapping[str, str]) -> None:
    """Whether the bytes that will be sent begin with these headers and no others."""
    head, _, _ = content.partition(b"\r\n\r\n")
    parsed = _parse(f"{head.decode()}\r\n\r\n")
    if [(name, _unfolded(value)) for name, value in parsed.items()] != [
        (name, _unfolded(value)) for name, value in made.items()
    ]:
        raise unsafe()


def _read_back(headers: list[Header]) -> None:
    if len({each.name.lower() for each in headers}) < len(headers):
        raise unsafe()
    if not all(_NAME.fullmatch(each.name) and _is_clean(each.written) for each in headers):
        raise unsafe()
    parsed = _parse("".join(f"{each.name}: {each.written}\r\n" for each in headers) + "\r\n")
    found = [(name, _unfolded(value)) for name, value in parsed.items()]
    if found != [(each.name, _unfolded(each.written)) for each in headers]:
        raise unsafe()
    if not all(_means(parsed, each) for each in headers):
        raise unsafe()


def _is_clean(written: str) -> bool:
    """Whether each line, folded by us, is one, and encoded words hide no other."""
    lines = written.split("\r\n ")
    try:
        words = "".join(b64decode(word).decode() for word in _WORD.findall(written))
    except ValueError:
        return False
    rest = map(partial(_WORD.sub, ""), lines)
    return not _CONTROL.search("".join([*lines, words])) and not any("=?" in line for line in rest)


def _parse(head: str) -> "Message[str, str]":
    if max(map(len, head.encode().split(b"\r\n"))) > LONGEST_LINE:
        raise unsafe()
    return Parser(policy=compat32).parsestr(head, headersonly=True)


def _means(parsed: "Message[str, str]", header: Header) -> bool:
    if header.text is not None:
        found = decode_header(_unfolded(parsed[header.name]))
        return str(make_header(found)) == header.text
    if header.parameter is not None:
        name, text = header.parameter
        value = parsed.get_param(name, header=header.name)
        return isinstance(value, str | tuple) and collapse_rfc2231_value(value) == text
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
