"""The schema of an archive: which one it has, and how it gets the one that is needed.

Alembic's version table holds the schema's number. The table ``meta`` holds it too: programs
from before there were migrations look there, and must not work on what they do not know.
"""

from importlib.resources import files
from threading import Lock
from typing import Final

from sqlalchemy import Connection, func, inspect, select, text, update

from notify.errors import StoreUnavailable
from notify.store.engine import Database, be_patient
from notify.store.schema import META, VERSION

_VERSIONS: Final = "alembic_version"
_LOCK: Final = 0x6E6F7469  # any number that is only ours
# Alembic's proxies are one for the whole process.
_one_at_a_time: Final = Lock()


def version(connection: Connection) -> int | None:
    """The number of its schema; None for an archive without tables."""
    tables = inspect(connection).get_table_names()
    if _VERSIONS in tables:
        return _number(connection.execute(text(f"SELECT version_num FROM {_VERSIONS}")).scalar())
    if META.name in tables:
        query = select(META.c.value).where(META.c.name == "schema")
        return connection.execute(query).scalar()
    return None


def _number(found: str | None) -> int | None:
    if found is not None and not found.isdecimal():
        raise StoreUnavailable("the archive's version table was not written by this program")
    return None if found is None else int(found)


def check_version(found: int | None) -> None:
    """Raises ``StoreUnavailable`` for a schema that is not the one of this program."""
    if found != VERSION:
        raise StoreUnavailable(
            f"the archive has schema {found}, and this program knows only {VERSION}"
        )


def make_newest(database: Database) -> None:
    """Any number of processes may do so at once: all or nothing, and the first does it."""
    with database.reading() as connection:
        found = version(connection)
    if found != VERSION:
        with database.writing() as connection:
            _migrate(connection)


def _migrate(connection: Connection) -> None:
    """Makes the schema the newest, inside the connection's transaction."""
    # A migration of a million letters takes minutes, and so does waiting for who does it.
    be_patient(connection)
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    found = version(connection)
    if found is not None and found >= VERSION:
        check_version(found)
        return
    with _one_at_a_time:
        _upgrade(connection, found)


def _upgrade(connection: Connection, found: int | None) -> None:
    # Alembic takes a while to load, and is needed once in the life of an archive.
    from alembic import command
    from alembic.config import Config

    config = Config()
    location = str(files("notify").joinpath("store", "migrations"))
    config.set_main_option("script_location", location.replace("%", "%%"))
    config.attributes["connection"] = connection
    if found is not None and _VERSIONS not in inspect(connection).get_table_names():
        command.stamp(config, str(found))
    command.upgrade(config, str(VERSION))
    connection.execute(update(META).where(META.c.name == "schema").values(value=VERSION))
    check_version(version(connection))
