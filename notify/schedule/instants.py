"""Instants as Redis keeps them: whole microseconds since 1970, so that none is rounded."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int | str) -> datetime:
    """Raises ``ValueError`` or ``OverflowError``."""
    return _EPOCH + int(micros) * _MICROSECOND


def listed(instants: Iterable[datetime]) -> str:
    return ",".join(str(to_micros(each)) for each in instants)


def read_list(text: str) -> tuple[datetime, ...]:
    return tuple(from_micros(each) for each in text.split(",") if each)
