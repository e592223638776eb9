"""A database's failures in our words, without values from its rows."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from notify.errors import StoreUnavailable

# Classes of PostgreSQL's errors whose first line names tables, roles, files and limits only:
# connections, transactions, logins, names, resources, states, operators, the system.
_HARMLESS: Final = ("08", "25", "28", "3D", "40", "42", "53", "55", "57", "58")
_MAX: Final = 300


@contextmanager
def translated() -> Iterator[None]:
    """Every failure of the database as ``StoreUnavailable``."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreUnavailable(f"the archive cannot be used: {_explain(error)}") from error
    except sqlite3.Error as error:  # while a connection is set up
        raise StoreUnavailable(f"the archive cannot be used: {error}") from error
    except ImportError as error:
        raise StoreUnavailable(f"the archive needs a Python package: {error.name}") from error
    except OSError as error:
        raise StoreUnavailable(f"the archive cannot be used: {error.strerror}") from error


def _explain(error: SQLAlchemyError) -> str:
    original = error.orig if isinstance(error, DBAPIError) else None
    if original is None:
        return type(error).__name__
    return _of_sqlite(original) or _of_postgresql(error, original) or type(original).__name__


def _of_sqlite(original: BaseException) -> str | None:
    """SQLite never quotes values."""
    return str(original).partition("\n")[0] if isinstance(original, sqlite3.Error) else None


def _of_postgresql(error: SQLAlchemyError, original: Any) -> str | None:
    """The server's first line; before there is a connection, what the client library says."""
    state = getattr(original, "sqlstate", None)
    if state is None:
        wrong_url = str(original).startswith("invalid connection option")
        known = wrong_url or isinstance(error, OperationalError)
        return " ".join(str(original).split())[:_MAX] if known else None
    line = getattr(original.diag, "message_primary", None) if state[:2] in _HARMLESS else None
    return f"{line or type(original).__name__} (SQLSTATE {state})"
