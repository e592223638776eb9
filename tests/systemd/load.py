"""Publishes until told to stop, and writes down each id that was confirmed. Runs on the host.

python load.py CONFIRMED STOP
"""

import sys
import time
from pathlib import Path

from notify import Client, Notification, load_settings

_EVERY = 0.05


def main(confirmed: Path, stop: Path) -> None:
    number = 0
    with Client(load_settings()) as client, confirmed.open("w", buffering=1) as out:
        while not stop.exists():
            priority = "urgent" if number % 4 == 0 else "normal"
            notification = Notification(
                channel="sms",
                recipient=f"+4917055{number % 10000:05}",
                body="load",
                priority=priority,
                id=f"load-{number}",
            )
            client.send(notification)
            out.write(f"load-{number}\n")
            number += 1
            time.sleep(_EVERY)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
