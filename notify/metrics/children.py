"""Metrics whose children are found fast: for what is counted with each message."""

from typing import Any, Self

import prometheus_client


class _Remembering:
    """Finds a child by its values as they are given.

    The library makes texts of them, and takes a lock, each time. Nothing is ever removed from
    such a metric: its values are few, and known before anything is counted.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._known: dict[tuple[object, ...], Any] = {}
        super().__init__(*args, **options)

    def labels(self, *values: object, **named: object) -> Self:
        child = None if named else self._known.get(values)
        if child is None:
            child = super().labels(*values, **named)  # type: ignore[misc]
            if not named:
                self._known[values] = child
        return child  # type: ignore[no-any-return]

    def remove(self, *values: object) -> None:
        raise NotImplementedError("counted for ever")

    def remove_by_labels(self, labels: dict[str, str]) -> None:
        raise NotImplementedError("counted for ever")

    def clear(self) -> None:
        raise NotImplementedError("counted for ever")


class Counter(_Remembering, prometheus_client.Counter):
    """Only grows."""


class Histogram(_Remembering, prometheus_client.Histogram):
    """Counts observations by size."""
