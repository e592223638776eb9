"""On a terminal somebody is asked, after seeing what would be sent."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import NOWHERE
from tests.deployment import ROOT
from tests.unit.configs import SMS, write

LIMITS = '[providers.limits]\nrate = "20/m"\nunit = "segments"\n'
SMALL = "[queues.urgent]\nconcurrency = 1\n[queues.normal]\nconcurrency = 1\n"


def on_a_terminal(directory: Path, answer: str, *arguments: str) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    archive = {"NOTIFY_ARCHIVE_URL": f"sqlite:///{directory}/archive.sqlite3", "TERM": "dumb"}
    environ = dict(os.environ) | NOWHERE | archive | {"NOTIFY_CONFIG": str(directory)}
    process = subprocess.Popen(
        [sys.executable, "-m", "notify", *arguments],
        env=environ,
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    said = b""
    try:
        while chunk := os.read(ours, 4096):
            said += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return process.wait(30), said.decode().replace("\r", "")


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("", 1), ("y", 4)])
def test_what_would_be_sent_is_shown_and_confirmed(tmp_path: Path, answer: str, code: int) -> None:
    main = '[broker]\nconfirm_timeout = "0.5s"\n'
    write(tmp_path, {"channels/sms.toml": SMALL + SMS + LIMITS, "notify.toml": main})
    path = tmp_path / "people.csv"
    row = f"sms,+491701234567,{'x' * 200}\n"
    path.write_text("channel,recipient,body\n" + row * 30)
    command = ("send", "--file", str(path), "--rate", "2/s")
    exited, said = on_a_terminal(tmp_path, answer, *command)
    assert "sms: 30 notifications, 60 segments; about 3 min\n" in said
    assert "29 rows name a recipient that an earlier row names: each is sent\n" in said
    assert "publishing at 2 rows a second: about 15 s\n" in said
    assert "Publish? [y/N]" in said
    assert ("nothing was published" in said) == (answer != "y")
    assert exited == code
