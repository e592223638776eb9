"""One value for each thread of each process: connections must not be shared by either."""

import os
from collections.abc import Callable
from threading import local
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class PerThread(Generic[T]):
    """Makes a value when a thread first asks for it, and anew in a forked process."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._local = local()

    def get(self) -> T:
        if getattr(self._local, "process", None) != os.getpid():
            self._local.value = self._make()
            self._local.process = os.getpid()
        return cast(T, self._local.value)
