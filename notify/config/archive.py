"""Where the dead letters are kept."""

import re
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from notify.config.retention import RetentionSettings
from notify.config.types import Duration, SecretFile, Whole

_KNOWN: Final = re.compile(r"sqlite:///.+|postgresql(\+psycopg)?://.+/.+", re.DOTALL)
_SQLITE: Final = "sqlite:"


def _a_database(url: str) -> str:
    if not _KNOWN.fullmatch(url):
        raise ValueError("must be sqlite:///FILE or postgresql://USER@HOST/DATABASE")
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
