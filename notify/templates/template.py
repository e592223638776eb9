"""One template: read and checked as a whole, then rendered as often as you like."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from notify.errors import ConfigError, InvalidNotification
from notify.templates.declaration import Declaration, line_of, read_declaration
from notify.templates.engine import Engine
from notify.templates.filters import Unrenderable
from notify.templates.jsontext import check_json, read_json
from notify.templates.language import Reader
from notify.templates.markup import check_markup
from notify.templates.sources import (
    CONTENT,
    DECLARATION,
    HTML,
    JSON,
    SMS,
    SUBJECT,
    TEXT,
    Source,
    read_folder,
    read_source,
)
from notify.templates.texts import read_texts
from notify.templates.values import Variable, WrongValue, accept_all


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """The content of a notification, and the template that it is from."""

    name: str
    version: str
    subject: str | None = None
    body: str | None = None
    html: str | None = None
    data: Any = None


class Template:
    """What is in one folder. Safe in threads."""

    def __init__(
        self, name: str, declaration: Declaration, sources: Mapping[str, Source], engines: "Engines"
    ) -> None:
        self.name = name
        self.description = declaration.description
        self.variables: Mapping[str, Variable] = declaration.variables
        self.samples: Mapping[str, Any] = declaration.samples
        self.version = _version(sources)
        self._sources = sources
        self._engines = engines

    @property
    def channels(self) -> tuple[str, ...]:
        return _channels(self._sources)

    def files(self, channel: str) -> dict[str, str]:
        """The file of each field of a notification. Raises ``InvalidNotification``."""
        if channel not in self.channels:
            has = ", ".join(self.channels)
            problem = f"{self.name} has nothing for channel {channel}; it has {has}"
            raise InvalidNotification("template", problem)
        files = _FIELDS[channel]
        if channel == "webhook":
            files = {"data": JSON} if JSON in self._sources else files
        return {field: file for field, file in files.items() if file in self._sources}

    def read(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Values that come as text. Raises ``InvalidNotification``, naming the variable."""
        try:
            return read_texts(self.variables, texts)
        except WrongValue as error:
            raise _invalid(error) from None

    def render(self, channel: str, variables: Mapping[str, Any]) -> Rendered:
        """Raises ``InvalidNotification``, naming the variable, never its value."""
        files = self.files(channel)
        try:
            values = accept_all(self.variables, variables)
        except WrongValue as error:
            raise _invalid(error) from None
        content = {field: self._render(file, values) for field, file in files.items()}
        return Rendered(name=self.name, version=self.version, **content)

    def _render(self, file: str, values: Mapping[str, Any]) -> Any:
        try:
            text = self._engines[_suffix(file)].render(self._sources[file], values)
            if file == JSON:
                return _named(file, text)
        except Unrenderable as error:
            raise InvalidNotification("template", f"{self.name}: {error}") from None
        return text


Engines = dict[str, Engine]
_FIELDS: Final[Mapping[str, dict[str, str]]] = {
    "sms": {"body": SMS},
    "email": {"subject": SUBJECT, "body": TEXT, "html": HTML},
    "webhook": {"subject": SUBJECT, "body": TEXT},
}


def load_template(folder: Path, shared: Path) -> Template:
    """Reads a folder, and what it uses of ``shared``. Raises ``ConfigError`` with all problems."""
    problems: list[str] = []
    sources = read_folder(folder, problems)
    declaration = None
    if DECLARATION not in sources:
        problems.append(f"{folder}: {DECLARATION} is missing")
    else:
        declaration = read_declaration(sources[DECLARATION], problems)
    if not problems:
        problems.extend(_missing(folder, sources))
    if declaration is None or problems:
        raise ConfigError(problems)
    engines = {suffix: Engine(sources, suffix) for suffix in {_suffix(name) for name in CONTENT}}
    _Checker(declaration, sources, engines, shared, problems).check()
    if problems:
        raise ConfigError(problems)
    return Template(folder.name, declaration, sources, engines)


class _Checker:
    """Reads each file, then each shared one that it names, as this template will use it."""

    def __init__(
        self,
        declaration: Declaration,
        sources: dict[str, Source],
        engines: Engines,
        shared: Path,
        problems: list[str],
    ) -> None:
        self.variables = declaration.variables
        self.sources = sources
        self.engines = engines
        self.shared = shared
        self.problems = problems
        self.used: set[str] = set()

    def check(self) -> None:
        before = len(self.problems)
        for content in [name for name in CONTENT if name in self.sources]:
            for name in sorted(self._check(content, content)):
                self._check(name, content)
        declared = self.sources[DECLARATION]
        if len(self.problems) > before:
            return
        for name in sorted(self.variables.keys() - self.used):
            key = f"variables.{name}"
            line = line_of(declared.text, key)
            self.problems.append(declared.at(line, f"{key}: is not used by any file"))

    def _check(self, name: str, content: str) -> set[str]:
        source = self.sources.get(name) or self._read_shared(name)
        engine = self.engines[_suffix(content)]
        tree = engine.parse(source, self.problems) if source else None
        if source is None or tree is None:
            return set()
        reader = Reader(source, self.variables, content)
        reader.read(tree)
        problems = [*reader.problems, *_structure(source, reader, content)]
        self.problems.extend(item for item in problems if item not in self.problems)
        if not problems:
            engine.compile(source, self.problems)
        self.used |= reader.used
        return reader.shared

    def _read_shared(self, name: str) -> Source | None:
        source = read_source(self.shared / name.rpartition("/")[2], name, self.problems)
        if source is not None:
            self.sources[name] = source
        return source


def _structure(source: Source, reader: Reader, content: str) -> Iterator[str]:
    if content == HTML:
        yield from check_markup(source, reader.pieces)
    if content == JSON:
        yield from check_json(source, reader.pieces)
    if content == SUBJECT and "\n" in reader.pieces.text:
        yield source.at(reader.pieces.line_at(reader.pieces.text.index("\n")), "has two lines")


def _missing(folder: Path, sources: Mapping[str, Source]) -> Iterator[str]:
    if HTML in sources and SUBJECT not in sources:
        yield f"{folder}: {HTML} needs {SUBJECT} beside it"
    elif not _channels(sources):
        yield f"{folder}: there is nothing to send; add some of {', '.join(CONTENT)}"


def _channels(sources: Mapping[str, Source]) -> tuple[str, ...]:
    written = TEXT in sources or HTML in sources
    there = {
        "sms": SMS in sources,
        "email": SUBJECT in sources and written,
        "webhook": JSON in sources or TEXT in sources,
    }
    return tuple(channel for channel, present in there.items() if present)


def _version(sources: Mapping[str, Source]) -> str:
    """Of all that decides what is rendered, whatever the order and the system."""
    hashed = hashlib.sha256()
    for name, source in sorted(sources.items()):
        for part in (name.encode(), source.text.encode()):
            hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.hexdigest()[:12]


def _named(file: str, text: str) -> Any:
    try:
        return read_json(text)
    except Unrenderable as error:
        raise Unrenderable(f"{file}: {error}") from None


def _invalid(error: WrongValue) -> InvalidNotification:
    place = f"variables.{error.place}" if error.place else "variables"
    return InvalidNotification(place, error.problem)


def _suffix(name: str) -> str:
    return name[name.rindex(".") :]
