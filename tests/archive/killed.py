"""An archiver that kills itself between commit and acknowledgement.

python -m tests.archive.killed BROKER_URL STORE_URL
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence

from notify.archiver import Archiver
from notify.deadletter import DeadLetter
from notify.store import Store
from tests.archive.running import Settings


class Deadly(Store):
    """Dies when the third batch is safely stored."""

    batches = 0

    def add(self, letters: Sequence[DeadLetter]) -> int:
        added = super().add(letters)
        self.batches += bool(letters)
        if self.batches == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return added


if __name__ == "__main__":
    settings = Settings(urls=(sys.argv[1],))
    stop = threading.Event()
    Archiver(settings, Deadly(sys.argv[2]), stop=stop, batch_size=20, batch_wait=0.05).run()
