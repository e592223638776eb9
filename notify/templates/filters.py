"""What a template may do to a value: a short list, and none of it makes markup."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

_DIRECTIVE: Final = re.compile(r"%(-?[A-Za-z]|%|$)")
_DATES: Final = {"Y": "{0.year:04}", "m": "{0.month:02}", "d": "{0.day:02}"}
_TIMES: Final = {"H": "{0.hour:02}", "M": "{0.minute:02}", "S": "{0.second:02}"}
_SHORT: Final = {"-m": "{0.month}", "-d": "{0.day}", "y": "{1:02}", "%": "%"}


class Unrenderable(ValueError):
    """A value cannot be shown so; the message never quotes it."""


def show_date(value: Any, format: str = "%Y-%m-%d", zone: str = "UTC") -> str:
    """A date or an instant in ``zone``; only directives that no locale changes."""
    if not isinstance(value, date):
        raise Unrenderable("date: is for dates and times")
    if isinstance(value, datetime):
        value = value.astimezone(_zone(zone))
    known = _DATES | _SHORT | (_TIMES if isinstance(value, datetime) else {})

    def replace(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise Unrenderable(f"date: knows %{' %'.join(known)} here")
        return known[match[1]].format(value, value.year % 100)

    return _DIRECTIVE.sub(replace, format)


def _zone(name: str) -> Any:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, LookupError, TypeError, ValueError):
        raise Unrenderable("date: there is no such time zone") from None


def show_number(value: Any, decimals: int = 0, point: str = ".", thousands: str = "") -> str:
    """Rounded half up, with the separators given."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise Unrenderable("number: is for numbers")
    if not 0 <= decimals <= 15:
        raise Unrenderable("number: shows 0 to 15 decimals")
    with localcontext(prec=40):
        rounded = Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    sign = "-" if rounded < 0 else ""
    whole, _, places = f"{abs(rounded):f}".partition(".")
    grouped = f"{int(whole):,}".replace(",", thousands)
    return f"{sign}{grouped}{point if places else ''}{places}"


def encode(value: Any) -> str:
    """For the query of a link: everything but letters and digits is percent-encoded."""
    return quote(plain(value), safe="")


def join(value: Any, separator: str = ", ") -> str:
    if not isinstance(value, tuple):
        raise Unrenderable("join: is for lists")
    return separator.join(plain(item) for item in value)


def instead(value: Any, other: Any) -> Any:
    """``other`` where nothing was given."""
    return other if value is None or value == "" else value


def length(value: Any) -> int:
    if not isinstance(value, str | tuple):
        raise Unrenderable("length: is for lists and texts")
    return len(value)


def truncate(value: Any, most: int, end: str = "…") -> str:
    text = plain(value)
    return text if len(text) <= most else text[: max(0, most - len(end))].rstrip() + end


def upper(value: Any) -> str:
    return plain(value).upper()


def lower(value: Any) -> str:
    return plain(value).lower()


def trim(value: Any) -> str:
    return plain(value).strip()


def plain(value: Any) -> str:
    """The text form of what has one."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Unrenderable("has no text form: test it with if, or give it a default")


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "date": show_date,
    "default": instead,
    "join": join,
    "length": length,
    "lower": lower,
    "number": show_number,
    "trim": trim,
    "truncate": truncate,
    "upper": upper,
    "urlencode": encode,
}
# A value to try the arguments of a filter with.
_EXAMPLES: Final[Mapping[str, Any]] = {
    "date": datetime(2027, 3, 1, tzinfo=UTC),
    "join": ("a", "b"),
    "number": Decimal(1),
}
# The types that a filter is for; the others take any.
FITS: Final = {"date": {"date", "datetime"}, "number": {"integer", "number"}, "join": {"list"}}


def argument_problem(name: str, arguments: list[Any], named: Mapping[str, Any], kind: str) -> str:
    """What is wrong with the arguments of a filter, or nothing."""
    example = date(2027, 3, 1) if kind == "date" else _EXAMPLES.get(name, "text")
    try:
        FILTERS[name](example, *arguments, **named)
    except Unrenderable as error:
        return str(error)
    except (TypeError, ValueError, AttributeError):
        return f"{name}: takes other arguments"
    return ""
