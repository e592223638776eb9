"""The files of a template, and where in them something is wrong."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

DECLARATION: Final = "template.toml"
SUBJECT: Final = "subject.txt"
TEXT: Final = "text.txt"
HTML: Final = "html.html"
SMS: Final = "sms.txt"
JSON: Final = "json.json"
CONTENT: Final = (SUBJECT, TEXT, HTML, SMS, JSON)
SHARED: Final = "_shared"
_MAX_BYTES: Final = 262_144


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One file: its name as templates call it, where it is, and its text."""

    name: str
    path: Path
    text: str

    def at(self, line: int | None, problem: str) -> str:
        place = f"{self.path}:{line}" if line else str(self.path)
        return f"{place}: {problem}"


def read_source(path: Path, name: str, problems: list[str]) -> Source | None:
    try:
        content = path.read_bytes()
    except OSError as error:
        problems.append(f"{path}: cannot be read: {error.strerror}")
        return None
    if len(content) > _MAX_BYTES:
        problems.append(f"{path}: has more than {_MAX_BYTES} bytes")
        return None
    try:
        # As an editor shows it: the same lines on every system.
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        problems.append(f"{path}: is not UTF-8 text at byte {error.start}")
        return None
    return Source(name=name, path=path, text=text)


def read_folder(folder: Path, problems: list[str]) -> dict[str, Source]:
    """The files of one template by name."""
    sources = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.name not in (DECLARATION, *CONTENT):
            known = ", ".join((DECLARATION, *CONTENT))
            problems.append(f"{path}: unknown file; known: {known}")
            continue
        source = read_source(path, path.name, problems)
        if source is not None:
            sources[path.name] = source
    return sources
