"""Schedules in files: ``config/schedules/*.toml``, and what was exported as TOML or JSON Lines.

A TOML file has a table for each schedule, whose name is the schedule's. A line of JSON is one
schedule, with its ``name`` among its keys.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from notify.config import Settings
from notify.errors import NotifyError
from notify.schedule.checking import read_schedule
from notify.schedule.spec import COMMAND, FILE, ScheduleSpec
from notify.templates import Templates

# Files are checked as they are, whenever that is: what is over is no mistake.
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LINES: Final = (".jsonl", ".ndjson")


@dataclass(frozen=True, kw_only=True, slots=True)
class Filed:
    """A schedule in a file. ``rests`` is whether that says if it is paused; ``over``, whether
    nothing follows any more."""

    spec: ScheduleSpec
    source: str
    rests: bool
    over: bool

    @property
    def name(self) -> str:
        return self.spec.name


class Files:
    """Reads files and remembers what is wrong with them; a schedule is in one of them only."""

    def __init__(self, settings: Settings, templates: Templates, now: datetime | None = None):
        self._settings = settings
        self._templates = templates
        self._now = now or datetime.now(UTC)
        self._places: dict[str, str] = {}
        self.problems: list[str] = []

    def folder(self) -> list[Filed]:
        """Those of the configuration."""
        return [
            filed
            for path in sorted(folder(self._settings).glob("*.toml"))
            for filed in self._toml(path, path.name, FILE)
        ]

    def file(self, path: Path) -> Iterator[Filed]:
        """Those of one file, as they come."""
        if path.suffix in _LINES:
            yield from self._lines(path)
        else:
            yield from self._toml(path, "", COMMAND)

    def _toml(self, path: Path, source: str, origin: str) -> Iterator[Filed]:
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            self.problems.append(f"{path}: cannot be read: {error.strerror}")
            return
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self.problems.append(f"{path}: is not valid TOML: {error}")
            return
        except RecursionError:
            self.problems.append(f"{path}: is nested too deeply")
            return
        for name, values in tables.items():
            if not isinstance(values, dict):
                self.problems.append(f"{path}: {name}: must stand in the table of a schedule")
                continue
            yield from self._read(f"{path}: {name}", name, values, source, origin)

    def _lines(self, path: Path) -> Iterator[Filed]:
        try:
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        yield from self._line(f"{path}: line {number}", line)
        except OSError as error:
            self.problems.append(f"{path}: cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            self.problems.append(f"{path}: is not UTF-8 text")

    def _line(self, place: str, line: str) -> Iterator[Filed]:
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict) or not isinstance(values.get("name"), str):
            self.problems.append(f"{place}: must be a JSON object with a name")
            return
        yield from self._read(place, values["name"], values, "", COMMAND)

    def _read(
        self, place: str, name: str, values: Mapping[str, Any], source: str, origin: str
    ) -> Iterator[Filed]:
        first = self._places.setdefault(name, place)
        if first != place:
            self.problems.append(f"{place}: is in {first} already")
            return
        try:
            spec = read_schedule(
                self._settings, self._templates, name, values, origin=origin, now=_EVER
            )
        except NotifyError as error:
            self.problems += [f"{place}.{line}" for line in str(error).split("\n")]
            return
        over = spec.recurrence.next_after(self._now) is None
        yield Filed(spec=spec, source=source, rests="paused" in values, over=over)


def folder(settings: Settings) -> Path:
    """Where the configuration has its schedules: beside the templates."""
    return settings.templates.with_name("schedules")


def check_files(settings: Settings, templates: Templates) -> tuple[list[str], list[str]]:
    """The names of the schedules in the configuration, and what is wrong there."""
    files = Files(settings, templates)
    names = [filed.name for filed in files.folder()]
    return names, files.problems
