"""``template.toml``: what a template is for, and its variables with types and samples."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from keyword import iskeyword
from typing import Any, Final

from notify.templates.sources import Source
from notify.templates.values import KINDS, Variable, WrongValue

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
# Words of the template language, and names that it gives a meaning to.
_RESERVED: Final = frozenset(
    ("loop", "self", "super", "caller", "varargs", "kwargs", "true", "false", "none", "context")
)
_LENGTHS: Final = {"text": 10_000, "line": 200, "name": 100, "url": 2048, "list": 100}
_LONGEST: Final = {"text": 100_000, "line": 1000, "name": 200, "url": 2048, "list": 500}
_OPTIONS: Final = {
    "text": {"max_length", "links"},
    "line": {"max_length", "links"},
    "name": {"max_length"},
    "url": {"max_length", "hosts"},
    "list": {"max_length", "of", "fields"},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """What ``template.toml`` says; ``samples`` are values that fit."""

    description: str
    variables: Mapping[str, Variable]
    samples: Mapping[str, Any]


def read_declaration(source: Source, problems: list[str]) -> Declaration | None:
    """Adds every problem with file and line; None when it cannot be used."""
    try:
        values = tomllib.loads(source.text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError, ArithmeticError) as error:
        problems.append(source.at(None, f"is not valid TOML: {error}"))
        return None
    return _Reader(source, problems).read(values)


class _Reader:
    def __init__(self, source: Source, problems: list[str]) -> None:
        self.source = source
        self.problems = problems
        self.before = len(problems)
        self.samples: dict[str, Any] = {}

    def read(self, values: dict[str, Any]) -> Declaration | None:
        self._only(values, {"description", "variables"}, "")
        description = values.get("description")
        if not isinstance(description, str) or not description.strip():
            self._problem("description", "is required: one sentence on what this is for")
        variables = self._variables(values.get("variables", {}), "variables", samples=True)
        if len(self.problems) > self.before:
            return None
        return Declaration(
            description=str(description).strip(), variables=variables, samples=self.samples
        )

    def _variables(self, tables: Any, place: str, *, samples: bool) -> dict[str, Variable]:
        if not isinstance(tables, dict):
            self._problem(place, "must be tables, one for each variable")
            return {}
        found = {}
        for name, table in tables.items():
            variable = self._named(f"{place}.{name}", name, table, samples)
            if variable is not None:
                found[name] = variable
        return found

    def _named(self, place: str, name: str, table: Any, samples: bool) -> Variable | None:
        if not _NAME.fullmatch(name) or name in _RESERVED or iskeyword(name):
            self._problem(place, "must be named by lower-case letters, digits and '_'")
            return None
        if not isinstance(table, dict):
            self._problem(place, "must be a table with a type")
            return None
        variable = self._variable(table, place, {"sample"} if samples else set())
        if variable is not None and samples:
            self._sample(place, name, table, variable)
        return variable

    def _variable(self, table: dict[str, Any], place: str, more: set[str]) -> Variable | None:
        kind = table.get("type")
        if not isinstance(kind, str) or kind not in KINDS:
            self._problem(f"{place}.type", f"must be one of {', '.join(KINDS)}")
            return None
        known = {"type", "required", "default"} | _OPTIONS.get(kind, set()) | more
        self._only(table, known, place)
        default = table.get("default")
        required = self._flag(table, "required", place, default is None)
        if required and default is not None:
            self._problem(f"{place}.default", "is never used: it is required")
        variable = Variable(
            kind=kind,
            required=required,
            max_length=self._length(table, kind, place),
            links=self._flag(table, "links", place, False),
            hosts=self._hosts(table, place) if kind == "url" else (),
        )
        if kind == "list":
            variable = self._with_items(variable, table, place)
        return self._with_default(variable, default, place)

    def _with_items(self, variable: Variable, table: dict[str, Any], place: str) -> Variable:
        if ("of" in table) == ("fields" in table):
            self._problem(place, "a list needs either of, a type, or fields, a table for each")
        if "of" in table:
            of = table["of"] if isinstance(table["of"], dict) else {"type": table["of"]}
            if of.get("type") == "list":
                self._problem(f"{place}.of", "must not be a list")
                return variable
            return replace(variable, item=self._variable(of, f"{place}.of", set()))
        fields = self._variables(table.get("fields", {}), f"{place}.fields", samples=False)
        for name, field in fields.items():
            if field.kind == "list":
                self._problem(f"{place}.fields.{name}.type", "must not be a list")
        return replace(variable, fields=fields)

    def _with_default(self, variable: Variable, default: Any, place: str) -> Variable:
        if default is None:
            return variable
        try:
            return replace(variable, default=variable.accept(default))
        except WrongValue as error:
            self._problem(f"{place}.default", error.problem)
            return variable

    def _sample(self, place: str, name: str, table: dict[str, Any], variable: Variable) -> None:
        if "sample" not in table:
            self._problem(f"{place}.sample", "is required")
            return
        try:
            variable.accept(table["sample"])
        except WrongValue as error:
            at = f" (item {error.place})" if error.place else ""
            self._problem(f"{place}.sample", f"{error.problem}{at}")
        self.samples[name] = table["sample"]

    def _flag(self, table: dict[str, Any], key: str, place: str, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            self._problem(f"{place}.{key}", "must be true or false")
        return value is True

    def _length(self, table: dict[str, Any], kind: str, place: str) -> int:
        longest = _LONGEST.get(kind, 0)
        value = table.get("max_length", _LENGTHS.get(kind, 0))
        whole = isinstance(value, int) and not isinstance(value, bool)
        if kind in _LONGEST and not (whole and 1 <= value <= longest):
            self._problem(f"{place}.max_length", f"must be a number from 1 to {longest}")
            return longest
        return int(value) if whole else 0

    def _hosts(self, table: dict[str, Any], place: str) -> tuple[str, ...]:
        hosts = table.get("hosts")
        texts = isinstance(hosts, list) and all(isinstance(host, str) for host in hosts)
        if not texts or not hosts or any(host != host.lower() for host in hosts):
            self._problem(
                f"{place}.hosts", 'is required: host names a link may lead to, or ["*"] for any'
            )
            return ()
        return tuple(hosts)

    def _only(self, table: dict[str, Any], known: set[str], place: str) -> None:
        for key in table:
            if key not in known:
                at = f"{place}.{key}" if place else key
                self._problem(at, f"unknown key; known: {', '.join(sorted(known))}")

    def _problem(self, key: str, problem: str) -> None:
        self.problems.append(self.source.at(line_of(self.source.text, key), f"{key}: {problem}"))


def line_of(text: str, key: str) -> int | None:
    """Where a key or its table stands, or else what it belongs to."""
    table, _, last = key.rpartition(".")
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            inside = header[1]
            if inside == key:
                return number
        elif inside == table and re.match(rf"\s*{re.escape(last)}\s*[=.]", line):
            return number
    return line_of(text, table) if table else None
