"""What a server's output says about why it did not start."""

import re
from pathlib import Path

HINTS = (
    (
        re.compile(r"eaddrinuse|address already in use", re.IGNORECASE),
        "a port that it needs is in use (start again, another one is chosen)",
    ),
    (re.compile(r"enospc|no space left", re.IGNORECASE), "no space left on the disk"),
    (re.compile(r"emfile|too many open files", re.IGNORECASE), "too many open files (ulimit -n)"),
)
TELLING = re.compile(r"error|fail|fatal|cannot|denied|not found|unsupported", re.IGNORECASE)
LONGEST = 200


def explain(name: str, log: Path) -> str:
    """One line: what happened, the line of output that says most, and where the rest is."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return f"{name} stopped: {_reason(text)}; see {log}"


def _reason(text: str) -> str:
    for pattern, hint in HINTS:
        if pattern.search(text):
            return hint
    lines = [line.strip() for line in text.splitlines() if re.search(r"[A-Za-z]", line)]
    telling = [line for line in lines if TELLING.search(line)]
    last = (telling or lines or ["it said nothing"])[-1]
    return last[:LONGEST]
