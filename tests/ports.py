"""Ports for processes that count on from a first one."""

from notify.local.ports import choose, is_free

_TRIES = 100


def first_of(size: int) -> int:
    """The first of so many free ports in a row."""
    for _ in range(_TRIES):
        first = choose(["first"])["first"]
        if all(is_free(port) for port in range(first, first + size)):
            return first
    raise OSError(f"no {size} free ports in a row")
