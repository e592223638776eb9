"""HTML templates: a value stands between tags, or in a quoted attribute made for it.

A grammar narrower than HTML, so that there is one way to read a file that passes; every
browser and mail program reads that one. Statements stand between tags: whichever branch is
taken, what follows begins where the check says it begins.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from notify.templates.pieces import STATEMENT, VALUE, Pieces, Value
from notify.templates.sources import Source

_SPECIAL: Final = re.compile(
    r"(?P<comment><!--(?!-?>)(?P<inner>.*?)-->)"
    r"|(?P<declaration><![^>]*>)"
    r"|(?P<end></[A-Za-z][A-Za-z0-9:-]*\s*>)"
    r"|<(?P<tag>[A-Za-z][A-Za-z0-9:-]*)",
    re.S,
)
_ATTRIBUTE: Final = re.compile(
    r"\s+(?P<name>[A-Za-z_][A-Za-z0-9_:.-]*)"
    r"(?:\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'=<>`]+)))?"
)
_CLOSE: Final = re.compile(r"\s*/?>")
_MARKS: Final = re.compile(f"[{VALUE}{STATEMENT}]")
# What runs, loads, asks, or changes how the rest is read.
_FORBIDDEN: Final = re.compile(
    "applet|base|embed|form|frame|frameset|iframe|listing|math|noembed|noframes|noscript|object"
    "|plaintext|script|select|svg|template|textarea|xmp"
)
_LINKS: Final = {("a", "href"), ("area", "href"), ("img", "src")}
_PLAIN: Final = re.compile(
    "abbr|align|alt|aria-label|class|datetime|dir|height|lang|title|valign|width"
)
# A link whose host is the template's, and whose query is the value's.
_QUERY: Final = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[^?#]*)?\?[^#]*")
_ESCAPES: Final = re.compile(r"[\x00-\x20]*(?:javascript|vbscript|data)[\x00-\x20]*:", re.I)


def check_markup(source: Source, pieces: Pieces) -> Iterator[str]:
    """Every problem with file and line."""
    for position, problem in _Scanner(pieces).scan():
        if problem:
            yield source.at(pieces.line_at(position), problem)


class _Scanner:
    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.text = pieces.text
        self.position = 0

    def scan(self) -> Iterator[tuple[int, str]]:
        while (start := self.text.find("<", self.position)) >= 0:
            self.position = start
            match = _SPECIAL.match(self.text, start)
            if match is None:
                yield start, "is not HTML that can be checked here: write < as &lt;"
                return
            self.position = match.end()
            if match["tag"]:
                yield from self._tag(match["tag"].lower(), start)
            elif not match["end"]:
                yield from self._comment(match, start)
            if self.position < 0:
                return

    def _comment(self, match: re.Match[str], start: int) -> Iterator[tuple[int, str]]:
        if _MARKS.search(match[0]):
            yield start, "a comment cannot contain values or statements"
        if match["declaration"] and match[0].startswith("<!--"):
            yield start, "is not a comment that every program ends at the same place"
        if match["inner"] and ("--!>" in match["inner"] or "<!--" in match["inner"]):
            yield start, "is not a comment that every program ends at the same place"

    def _tag(self, tag: str, start: int) -> Iterator[tuple[int, str]]:
        if _FORBIDDEN.fullmatch(tag):
            yield start, f"element {tag} has no place in a message"
        while attribute := _ATTRIBUTE.match(self.text, self.position):
            yield from self._attribute(tag, attribute)
            self.position = attribute.end()
        close = _CLOSE.match(self.text, self.position)
        if close is None:
            yield self.position, self._unfinished(tag)
            self.position = -1
            return
        self.position = close.end()
        if tag in ("style", "title"):
            yield from self._content(tag, start)

    def _unfinished(self, tag: str) -> str:
        end = self.text.find(">", self.position)
        found = _MARKS.search(self.text, self.position, end if end >= 0 else len(self.text))
        if found and found[0] == STATEMENT:
            return "a statement stands inside a tag: write {{ a if b else c }} in an attribute"
        if found:
            return f"a value stands inside tag {tag}, outside of a quoted attribute"
        return f"tag {tag} is not HTML that can be checked here"

    def _content(self, tag: str, start: int) -> Iterator[tuple[int, str]]:
        """Of an element whose content is no markup: style, and title where values may stand."""
        end = re.compile(rf"</{tag}\s*>", re.I).search(self.text, self.position)
        inner = self.text[self.position : end.start() if end else len(self.text)]
        if end is None:
            yield start, f"element {tag} is not closed"
        if tag == "style" and _MARKS.search(inner):
            yield start, "element style cannot contain values or statements"
        if tag == "title" and "<" in inner:
            yield start, "element title cannot contain tags"
        self.position = end.end() if end else len(self.text)

    def _attribute(self, tag: str, match: re.Match[str]) -> Iterator[tuple[int, str]]:
        name = match["name"].lower()
        quoted = next((g for g in ("double", "single") if match[g] is not None), "bare")
        content = match[quoted] or ""
        if name.startswith("on"):
            yield match.start("name"), f"attribute {name} has no place in a message"
        # As a browser reads it: entities are resolved, line breaks and tabs left out.
        if name in ("href", "src") and _ESCAPES.match(re.sub(r"[\t\r\n]", "", unescape(content))):
            yield match.start("name"), f"attribute {name} runs or embeds what it should link to"
        if _MARKS.search(content):
            yield match.start(quoted), self._misplaced(tag, name, quoted, match)

    def _misplaced(self, tag: str, name: str, quoted: str, match: re.Match[str]) -> str:
        """What is wrong with the marks in this attribute, or nothing."""
        content = match[quoted]
        if STATEMENT in content:
            return "a statement stands inside a tag: write {{ a if b else c }}"
        if quoted == "bare":
            return f"attribute {name} with a value in it must be quoted"
        if (tag, name) in _LINKS:
            values = self.pieces.values_between(match.start(quoted), match.end(quoted))
            return "" if _is_link(content, values) else _LINK_RULE.format(name)
        if not _PLAIN.fullmatch(name):
            return f"attribute {name} of {tag} cannot contain values"
        return ""


_LINK_RULE: Final = (
    "attribute {} takes one variable of type url, or a link with a query in which each value"
    " is given to |urlencode"
)


def _is_link(content: str, values: list[Value]) -> bool:
    if content == VALUE:
        variable = values[0].variable
        return variable is not None and variable.kind == "url"
    before, _, _ = content.partition(VALUE)
    return bool(_QUERY.fullmatch(before)) and all(value.encoded for value in values)
