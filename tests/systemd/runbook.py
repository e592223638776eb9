"""The commands of a runbook, to be run as they stand there."""

import re
from pathlib import Path

_RUNBOOKS = Path(__file__).parents[2] / "ops" / "runbooks"


def commands(name: str, part: str) -> list[str]:
    """The lines that a person pastes, in the part that begins with ``**part.**``."""
    text = (_RUNBOOKS / name).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^\*\*{part}\.\*\*(.*?)(?=^\*\*|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip() for line in found.splitlines() if line.startswith("    ")]
    assert lines, f"{name}: {part}: no command"
    return lines
