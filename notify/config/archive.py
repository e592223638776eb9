"""Where the dead letters are kept."""

import re
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from notify.config.retention import RetentionSettings
from notify.config.types import Duration, SecretFile, Whole

_KNOWN: Final = re.compile(r"sqlite:///.+|postgresql(\+psycopg)?://.+/.+", re.DOTALL)
_SQLITE: Final = "sqlite:"
_PORT: Final = re.compile(r"(?:\[[^\]]*\]|[^\[:/]*):([^/]*)")


def _a_database(url: str) -> str:
    if not _KNOWN.fullmatch(url):
        raise ValueError("must be sqlite:///FILE or postgresql://USER@HOST/DATABASE")
    host = "" if url.startswith(_SQLITE) else url.partition("://")[2].partition("?")[0]
    port = _PORT.match(host.rpartition("@")[2])
    if port and not (port[1].isascii() and port[1].isdecimal() and 0 < int(port[1]) < 65536):
        raise ValueError("must have a number between 1 and 65535 as its port")
    return url


ArchiveUrl = Annotated[str, AfterValidator(_a_database)]


class ArchiveSettings(RetentionSettings):
    """The dead-letter archive."""

    url: ArchiveUrl = Field(default="sqlite:///var/archive.sqlite3", repr=False)
    password_file: SecretFile | None = None
    batch_size: Whole = Field(default=500, ge=1, le=5000)
    batch_wait: Duration = 0.2

    @model_validator(mode="after")
    def _check_password(self) -> Self:
        if self.password_file is not None and self.url.startswith(_SQLITE):
            raise ValueError("password_file is for PostgreSQL; a file of SQLite has no password")
        return self
