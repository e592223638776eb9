"""What a value of each type may be, so that no value can be anything else than itself.

Values are refused, never altered: what a recipient reads is what the caller gave. A problem
never quotes the value.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urlsplit

_LINE_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# What programs turn into a link unasked: a scheme, "www.", or a name with a top-level domain.
# After an ideographic full stop only Latin letters count: others begin the next sentence.
_LINK: Final = re.compile(
    r"[a-z][a-z0-9+-]*:/|mailto:|\bwww[.。．｡]|\w[.．][^\W\d_]{2}|\w[。｡][a-z]{2}", re.I
)
_IN_NAMES: Final = frozenset("'’‘ʼ.-‐‑·・\u200c\u200d")
_URL: Final = re.compile(r"https?://[!#$%&'()*+,/:;=?@\[\]~0-9a-z._-]+", re.I)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
# Exact in a JSON number, and short in a text; a sum of floats has 17 places.
_LARGEST: Final = 10**15
_MOST_PLACES: Final = 30


class WrongValue(ValueError):
    """A value does not fit its type; ``place`` is where in a list it stands."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """One declared variable, or a field of the items of a list.

    ``item`` is what a list consists of: one variable, or ``fields`` by name.
    """

    kind: str
    required: bool = True
    default: Any = None
    max_length: int = 0
    links: bool = False
    hosts: tuple[str, ...] = ()
    item: "Variable | None" = None
    fields: Mapping[str, "Variable"] = field(default_factory=dict)

    def accept(self, value: Any) -> Any:
        """The value as templates see it. Raises ``WrongValue``."""
        return _CHECKS[self.kind](self, value)

    @property
    def always_text(self) -> bool:
        """Whether every value, the one for nothing given too, can stand in a sentence."""
        given = self.required or self.default is not None
        return given and self.kind not in ("boolean", "list")

    @property
    def may_break(self) -> bool:
        """Whether a value can have line breaks."""
        return self.kind == "text" or (self.item is not None and self.item.may_break)


def accept_all(variables: Mapping[str, Variable], given: Mapping[str, Any]) -> dict[str, Any]:
    """Every variable with its value or default. Raises ``WrongValue`` with the name as place."""
    if not isinstance(given, Mapping):
        raise WrongValue("must be values by name")
    for name in given:
        if name not in variables:
            # Shown only where it can be nothing but a name.
            shown = _NAME.fullmatch(name) if isinstance(name, str) else None
            raise WrongValue("is not declared", shown[0] if shown else "")
    return {name: _accept_one(name, variable, given) for name, variable in variables.items()}


def _accept_one(name: str, variable: Variable, given: Mapping[str, Any]) -> Any:
    value = given.get(name)
    if value is None:
        if variable.required:
            raise WrongValue("is required", name)
        return variable.default
    try:
        return variable.accept(value)
    except WrongValue as error:
        raise WrongValue(error.problem, _joined(name, error.place)) from None


def _joined(*places: str) -> str:
    return ".".join(place for place in places if place)


def _string(variable: Variable, value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValue("must be text")
    # Of a subclass only the characters count: markup that calls itself safe is text like any.
    text = str.__str__(value)
    if len(text) > variable.max_length:
        raise WrongValue(f"must have at most {variable.max_length} characters")
    if variable.required and not text.strip():
        raise WrongValue("must not be empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise WrongValue("contains an unpaired surrogate") from None
    return text


def _linkless(variable: Variable, text: str) -> str:
    if not variable.links and _LINK.search(text):
        raise WrongValue("contains what a program may show as a link")
    return text


def _text(variable: Variable, value: Any) -> str:
    text = _string(variable, value)
    if _CONTROLS.search(text):
        raise WrongValue("must not contain control characters")
    return _linkless(variable, text)


def _line(variable: Variable, value: Any) -> str:
    text = _string(variable, value)
    if _LINE_BREAKS.search(text):
        raise WrongValue("must not contain control characters or line breaks")
    return _linkless(variable, text)


def _name(variable: Variable, value: Any) -> str:
    text = _line(variable, value)
    if not all(c in _IN_NAMES or unicodedata.category(c)[0] in "LMZ" for c in text):
        raise WrongValue("must consist of letters, spaces, apostrophes, hyphens and full stops")
    return text


def _url(variable: Variable, value: Any) -> str:
    text = _string(variable, value)
    if not text:
        return text
    host = _host(text)
    if not host:
        raise WrongValue("must be a URL like https://example.com/path, percent-encoded")
    if "*" not in variable.hosts and host not in variable.hosts:
        raise WrongValue("is not at one of the declared hosts")
    return text


def _host(url: str) -> str | None:
    """Of a URL that every program takes apart in the same way."""
    if not _URL.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return None if port == 0 or "@" in parts.netloc else parts.hostname


def _integer(_variable: Variable, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongValue("must be a whole number")
    if abs(value) > _LARGEST:
        raise WrongValue("must have at most 15 digits")
    return int(value)


def _number(variable: Variable, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise WrongValue("must be a number")
    if isinstance(value, int):
        return Decimal(_integer(variable, value))
    number = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or abs(number) > _LARGEST:
        raise WrongValue("must have at most 15 digits")
    exponent = int(number.as_tuple().exponent)
    if exponent < -_MOST_PLACES:
        raise WrongValue(f"must have at most {_MOST_PLACES} decimal places")
    return number if exponent <= 0 else Decimal(int(number))


def _boolean(_variable: Variable, value: Any) -> bool:
    if value is not True and value is not False:
        raise WrongValue("must be true or false")
    return bool(value)


def _date(_variable: Variable, value: Any) -> date:
    if isinstance(value, datetime) or not isinstance(value, date):
        raise WrongValue("must be a date")
    return value


def _datetime(_variable: Variable, value: Any) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise WrongValue("must be a date and time with a UTC offset")
    return value


def _list(variable: Variable, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise WrongValue("must be a list")
    if len(value) > variable.max_length:
        raise WrongValue(f"must have at most {variable.max_length} items")
    if variable.required and not value:
        raise WrongValue("must not be empty")
    return tuple(_item(variable, item, str(number)) for number, item in enumerate(value, 1))


def _item(variable: Variable, value: Any, place: str) -> Any:
    try:
        if variable.item is not None:
            return variable.item.accept(value)
        if not isinstance(value, Mapping):
            raise WrongValue("must have the declared fields")
        # Attributes only: a mapping has methods that a field could be taken for.
        return SimpleNamespace(**accept_all(variable.fields, value))
    except WrongValue as error:
        raise WrongValue(error.problem, _joined(place, error.place)) from None


_CHECKS: Final[Mapping[str, Callable[[Variable, Any], Any]]] = {
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "integer": _integer,
    "line": _line,
    "list": _list,
    "name": _name,
    "number": _number,
    "text": _text,
    "url": _url,
}
KINDS: Final = tuple(_CHECKS)
