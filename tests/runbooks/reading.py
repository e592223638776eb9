"""What stands in the runbooks: commands, in blocks and between words, and links."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "ops" / "runbooks"
INDEX = RUNBOOKS / "README.md"
ALL = sorted(RUNBOOKS.glob("*.md"))

_CODE = re.compile(r" {4,}\S")
# How a block begins that is a part of a file: a section, a key, YAML, a line of /etc/default.
_OF_A_FILE = re.compile(r"\[|[a-zA-Z]+: |[a-zA-Z_]+ ?=(?!\S+ \S)")
_SETTING = re.compile(r"[A-Z_]+=\S+")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One line that a person pastes."""

    runbook: str
    line: str

    @property
    def words(self) -> list[str]:
        """As a shell reads it, up to the first pipe; without what it sets in the environment."""
        lexer = shlex.shlex(self.line, posix=True, punctuation_chars="|;<>")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words: list[str] = []
        for word in lexer:
            if word in ("|", ";", ">", "<", ">>"):
                break
            if words or not _SETTING.fullmatch(word):
                words.append(word)
        return words


def commands(path: Path, section: str = "") -> Iterator[Command]:
    """Of its blocks, perhaps of one section only; those that are parts of files are left out."""
    text = path.read_text(encoding="utf-8")
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    for block in _blocks(text):
        if _OF_A_FILE.match(block[0]):
            continue
        for line in block:
            if not line.startswith("#"):
                yield Command(runbook=path.stem, line=line)


def mentioned(path: Path) -> Iterator[Command]:
    """What stands between words as `notify …`; perhaps with an ellipsis, or without its end."""
    text = " ".join(
        line.strip()
        for line in path.read_text(encoding="utf-8").splitlines()
        if not _CODE.match(line)
    )
    for line in re.findall(r"`(notify [^`]+)`", text):
        yield Command(runbook=path.stem, line=line.replace("…", ""))


def links(path: Path) -> set[str]:
    """The files of this folder to which it links."""
    return set(re.findall(r"\]\(([^)/#:]+\.md)\)", path.read_text(encoding="utf-8")))


def _blocks(text: str) -> Iterator[list[str]]:
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if _CODE.match(line):
            block.append(line.strip())
        elif block:
            yield block
            block = []
