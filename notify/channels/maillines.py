"""Connections to a mail server that rest between two mails, for all threads together."""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from notify.channels.mailline import MailLine


class MailLines:
    """There are as many as there were mails under way at once, and what rests too long is closed.

    The one used last is taken first: with one for each thread, many threads with little to do
    would find theirs closed by the server.
    """

    def __init__(self, make: Callable[[], MailLine]) -> None:
        self._make = make
        self._resting: deque[MailLine] = deque()
        self._process = os.getpid()

    def take(self) -> MailLine:
        """One that rested, or one that is not open yet."""
        if self._process != os.getpid():
            # A fork: those are our parent's.
            self._resting, self._process = deque(), os.getpid()
        try:
            return self._resting.pop()
        except IndexError:
            return self._make()

    def give_back(self, line: MailLine) -> None:
        """Keep it for another mail, if it is good for one."""
        if not line.usable:
            line.close()
            return
        self._resting.append(line)
        if len(self._resting) > 1:
            self._close_the_oldest()

    def _close_the_oldest(self) -> None:
        """If it is no longer usable; others may take them all meanwhile."""
        with suppress(IndexError):
            oldest = self._resting.popleft()
            if oldest.usable:
                self._resting.appendleft(oldest)
            else:
                oldest.close()
