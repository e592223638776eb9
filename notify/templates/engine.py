"""Jinja2, as narrow as it gets: sandboxed, strict, without globals and loaders of its own."""

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS as ALL_TESTS
from markupsafe import Markup

from notify.templates.filters import FILTERS, Unrenderable, plain
from notify.templates.language import TESTS
from notify.templates.pieces import STATEMENT, VALUE
from notify.templates.sources import Source

# What a rendered file may have: more is a mistake in the values, or an attack with them.
MAX_CHARACTERS: Final = 1_000_000
# A filter that no template can name.
_JOINED: Final = "~"


class Engine:
    """Renders the files of one kind: plain text, HTML or JSON."""

    def __init__(self, sources: Mapping[str, Source], suffix: str) -> None:
        self._sources = sources
        self._environment = _Environment(
            autoescape=suffix == ".html",
            undefined=jinja2.StrictUndefined,
            finalize=_to_json if suffix == ".json" else _to_text,
            loader=jinja2.FunctionLoader(self._load),
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.clear()
        self._environment.filters = {**FILTERS, _JOINED: plain}
        self._environment.tests = {name: ALL_TESTS[name] for name in TESTS}

    def parse(self, source: Source, problems: list[str]) -> nodes.Template | None:
        if VALUE in source.text or STATEMENT in source.text:
            problems.append(source.at(None, "contains a character from a private range"))
            return None
        try:
            return self._environment.parse(source.text, source.name, str(source.path))
        except jinja2.TemplateSyntaxError as error:
            problems.append(source.at(error.lineno, error.message or "cannot be read"))
        except (ArithmeticError, RecursionError, ValueError):
            problems.append(source.at(None, "cannot be read"))
        return None

    def compile(self, source: Source, problems: list[str]) -> None:
        """Once, so that rendering does not; what the compiler refuses is a problem."""
        try:
            self._environment.get_template(source.name)
        except (jinja2.TemplateError, RecursionError, SyntaxError, MemoryError):
            problems.append(source.at(None, "cannot be compiled"))

    def render(self, source: Source, values: Mapping[str, Any]) -> str:
        """Raises ``Unrenderable``, saying where and never with which value."""
        parts: list[str] = []
        size = 0
        try:
            for part in self._environment.get_template(source.name).generate(values):
                size += len(part)
                if size > MAX_CHARACTERS:
                    break
                parts.append(part)
        except Unrenderable as error:
            raise Unrenderable(f"{self._place(source, error)}: {error}") from None
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            place = self._place(source, error)
            raise Unrenderable(f"{place}: cannot be rendered with these values") from None
        if size > MAX_CHARACTERS:
            raise Unrenderable(f"{source.name}: has more than {MAX_CHARACTERS} characters")
        return "".join(parts)

    def _load(self, name: str) -> tuple[str, str, None] | None:
        source = self._sources.get(name)
        return None if source is None else (source.text, str(source.path), None)

    def _place(self, source: Source, error: Exception) -> str:
        names = {str(item.path): item.name for item in self._sources.values()}
        place = source.name
        trace = error.__traceback__
        while trace is not None:
            name = names.get(trace.tb_frame.f_code.co_filename)
            place = f"{name}:{trace.tb_lineno}" if name else place
            trace = trace.tb_next
        return place


class _Environment(ImmutableSandboxedEnvironment):
    def _generate(self, source: nodes.Template, *args: Any, **named: Any) -> str:
        """``~`` joins what ``{{ }}`` shows; Python's own text of a number may be 1E-7."""
        for joined in list(source.find_all(nodes.Concat)):
            joined.nodes = [
                nodes.Filter(each, _JOINED, [], [], None, None, lineno=each.lineno)
                for each in joined.nodes
            ]
        return super()._generate(source, *args, **named)


def _to_text(value: Any) -> str:
    # Only the engine makes markup, of what the template's author wrote.
    return value if isinstance(value, Markup) else plain(value)


def _to_json(value: Any) -> str:
    """One JSON value, with spaces that keep it from growing together with its neighbours.

    Its texts are marked as values, so that none becomes the name of a field.
    """
    return f" {json.dumps(_encodable(value), ensure_ascii=False, allow_nan=False)} "


def _encodable(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date):
        return VALUE + value.isoformat()
    if isinstance(value, tuple | list):
        return [_encodable(item) for item in value]
    if isinstance(value, SimpleNamespace):
        return {name: _encodable(item) for name, item in vars(value).items()}
    return VALUE + plain(value)
