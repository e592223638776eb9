"""A file of rows: CSV or JSON Lines, perhaps compressed, read as often as it is needed."""

import codecs
import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Final, Self, cast

from notify import smsprep
from notify.config import Settings
from notify.errors import InvalidInput, UsageError
from notify.notification import Notification
from notify.rendering import from_template
from notify.rows import Maker, Row, bounded, read_objects, read_table
from notify.templates import Templates

STDIN: Final = "-"
_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 16
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSpec:
    """Which file, and how it is read; ``defaults`` are cells by column, where a row has none."""

    path: str
    encoding: str = ""
    defaults: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"defaults": dict(self.defaults)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{name: values[name] for name in ("path", "encoding", "defaults")})

    def check(self) -> None:
        """Raises ``UsageError`` for an encoding that Python does not know."""
        try:
            known = not self.encoding or bool("a".encode(self.encoding))
        except (LookupError, ValueError):
            known = False
        if not known:
            raise UsageError("--encoding: is no encoding of text that is known here")


class FileSource:
    """The rows of a file. Errors name file, line and column, and quote nothing."""

    def __init__(
        self, spec: FileSpec, file: BinaryIO, settings: Settings, templates: Templates
    ) -> None:
        self._spec = spec
        self._file = file
        self._templates = templates
        self._settings = settings
        self._hash, self._stamp = self._hashed(), self._stamped()
        self.batch = f"file-{self.fingerprint[:16]}"

    @property
    def name(self) -> str:
        """As errors call it."""
        return "standard input" if self._spec.path == STDIN else self._spec.path

    @property
    def fingerprint(self) -> str:
        """Of the content, and of what else decides what the rows become."""
        how = {k: v for k, v in self._how().items() if v}
        if not how:
            return self._hash
        text = json.dumps([self._hash, how], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def named(self, batch: str) -> Self:
        """Rows get their ids from this name."""
        self.batch = batch
        return self

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Raises ``InvalidInput`` where the file cannot be read on."""
        maker = Maker(batch=self.batch, render=self._render, normalise=self._normalise)
        defaults = self._spec.defaults
        with self._text() as (text, is_json):
            lines = bounded(text)
            if is_json:
                yield from read_objects(lines, maker, defaults=defaults, after=after)
            else:
                yield from read_table(lines, self.name, maker, defaults=defaults, after=after)
        if self._stamped() != self._stamp:
            raise InvalidInput(f"{self.name}: was changed while it was read")

    def _how(self) -> dict[str, Any]:
        name = self._spec.defaults.get("template")
        version = self._templates.get(name).version if name else ""
        given = {k: v for k, v in self._spec.defaults.items() if v}
        return {"encoding": self._spec.encoding, "defaults": given, "version": version}

    def _render(
        self, template: str, variables: Mapping[str, Any], /, **fields: Any
    ) -> Notification:
        """Values that are text are read as the template declares them."""
        texts = {k: v for k, v in variables.items() if isinstance(v, str)}
        others = {k: v for k, v in variables.items() if k not in texts}
        values = self._templates.get(template).read(texts) | others
        return from_template(self._templates, template, values, **fields)

    def _normalise(self, channel: str, recipient: str) -> str:
        return smsprep.recipient(channel, recipient, self._settings)

    @contextmanager
    def _text(self) -> Iterator[tuple[io.TextIOWrapper, bool]]:
        """The file as text, and whether its rows are JSON."""
        with self._translated(), self._opened() as plain:
            start = plain.peek(_CHUNK)[:_CHUNK]
            encoding = self._spec.encoding or "utf-8-sig"
            if start.startswith(_UTF_16) and not self._spec.encoding:
                raise InvalidInput(f"{self.name}: is not UTF-8; try --encoding utf-16")
            text = io.TextIOWrapper(
                cast(IO[bytes], plain), encoding, errors="surrogateescape", newline=""
            )
            try:
                yield text, _begins(start, encoding).startswith("{")
            finally:
                text.detach()

    @contextmanager
    def _opened(self) -> Iterator[io.BufferedReader]:
        raw = self._rewound()
        try:
            if raw.peek(2)[:2] == _GZIP:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield io.BufferedReader(unpacked, _CHUNK)
            else:
                yield raw
        finally:
            raw.close()

    def _rewound(self) -> io.BufferedReader:
        """The file from its beginning, to be closed; one at a time."""
        descriptor = os.dup(self._file.fileno())
        os.lseek(descriptor, 0, os.SEEK_SET)
        return io.BufferedReader(io.FileIO(descriptor), _CHUNK)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeError as error:
            problem = f"cannot be read as {self._spec.encoding or 'UTF-8'}"
            raise InvalidInput(f"{self.name}: {problem}") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InvalidInput(f"{self.name}: is a damaged gzip file") from error
        except OSError as error:
            raise InvalidInput(f"{self.name}: cannot be read: {error.strerror}") from error

    def _hashed(self) -> str:
        hashed = hashlib.sha256()
        with self._translated(), self._rewound() as file:
            while chunk := file.read(_CHUNK):
                hashed.update(chunk)
        return hashed.hexdigest()

    def _stamped(self) -> tuple[int, int]:
        stat = os.fstat(self._file.fileno())
        return stat.st_size, stat.st_mtime_ns


def _begins(start: bytes, encoding: str) -> str:
    return start.decode(encoding, errors="ignore").lstrip()


@contextmanager
def open_file(
    spec: FileSpec, stdin: BinaryIO, settings: Settings, templates: Templates
) -> Iterator[FileSource]:
    """The rows of a file. What comes through a pipe is kept on disk, without a name there,
    because it is read more than once. Raises ``InvalidInput``."""
    spec.check()
    try:
        file = _spooled(stdin) if spec.path == STDIN else Path(spec.path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise InvalidInput(f"{spec.path}: cannot be read: {error.strerror}") from error
    with file:
        yield FileSource(spec, cast(BinaryIO, file), settings, templates)


def _spooled(stdin: BinaryIO) -> IO[bytes]:
    file = TemporaryFile("w+b")  # noqa: SIM115
    try:
        while chunk := stdin.read(_CHUNK):
            file.write(chunk)
        file.flush()
    except BaseException:
        file.close()
        raise
    return file
