"""What is told while it runs goes beside the results."""

import sys


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def put(text: str) -> None:
    """A result."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
