"""A Debian that boots in systemd-nspawn: its own init, units, journal and reboots.

The image is read-only below an overlay, so that each run begins with the same system. It has no
network but its loopback.
"""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.waiting import eventually

_BOOT: Final = 90.0
_WANTS_REBOOT: Final = 133
# The overlay is mounted where only nspawn sees it, and goes away with it. SIGTERM powers it off.
_BOOTED: Final = """
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
exec setpriv --pdeathsig TERM systemd-nspawn -q -D "$2/root" --bind="$2/shared:/srv/shared" \
    --bind-ro="$3:/srv/wheels" \
    --machine=notify-test --register=no --keep-unit --private-network --console=pipe --boot
"""


def _remove_left(scratch: Path) -> None:
    """What tests left that were killed: the name begins with their process."""
    for place in scratch.iterdir():
        if not Path("/proc", place.name.partition("-")[0]).exists():
            shutil.rmtree(place, ignore_errors=True)


class Machine:
    """A context manager: booted inside, gone afterwards."""

    def __init__(self, image: Path) -> None:
        self._image = image
        scratch = image.parent.with_suffix(".scratch")
        _remove_left(scratch)
        self._place = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=scratch))
        self.shared = self._place / "shared"
        """Is /srv/shared in there."""
        self._leader = 0
        self._nspawn: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        for name in ("upper", "work", "root", "shared"):
            (self._place / name).mkdir(mode=0o755)
        try:
            self._boot()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        """Like a power cut: nothing of it is kept."""
        assert self._nspawn is not None
        if self._leader:
            with suppress(ProcessLookupError):
                os.kill(self._leader, signal.SIGKILL)
        else:
            self._nspawn.terminate()
        self._nspawn.wait(60)
        shutil.rmtree(self._place, ignore_errors=True)

    def _boot(self) -> None:
        places = ["boot", str(self._image), str(self._place), str(self._image.parent / "wheels")]
        with (self._place / "console").open("ab") as console:
            self._nspawn = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "bash", "-c", _BOOTED, *places],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
            )
        eventually(self._find_leader, f"booting; see {self._place}/console", seconds=_BOOT)
        eventually(self._has_started, "the system's own start", seconds=_BOOT)

    def _find_leader(self) -> bool:
        """Its init, which is another process after each boot."""
        assert self._nspawn is not None
        console = self._place / "console"
        assert self._nspawn.poll() is None, console.read_text(errors="replace")
        children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children")
        found = [int(pid) for pid in children.read_text().split()]
        self._leader = found[0] if found else 0
        return bool(found) and self.ask("test", "-S", "/run/systemd/private")

    def _has_started(self) -> bool:
        state = self.run("systemctl", "is-system-running", check=False).strip()
        assert state != "degraded", self.run("systemctl", "--failed", "--no-pager")
        return state == "running"

    def ask(self, *command: str) -> bool:
        """Whether that succeeds."""
        return self.call(command).returncode == 0

    def run(self, *command: str, check: bool = True, stdin: str = "") -> str:
        """What it prints, errors included."""
        ended = self.call(command, stdin=stdin)
        assert not check or ended.returncode == 0, f"{shlex.join(command)}: {ended.stdout}"
        return ended.stdout

    def shell(self, script: str, *, check: bool = True) -> str:
        return self.run("bash", "-c", script, check=check)

    def call(self, command: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._inside(command),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """In the background."""
        return subprocess.Popen(
            self._inside(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _inside(self, command: Sequence[str]) -> list[str]:
        """With the environment of a root's login there, not ours."""
        environment = [
            "HOME=/",
            "LC_ALL=C.UTF-8",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PIP_NO_INDEX=1",
            "PIP_FIND_LINKS=/srv/wheels",
        ]
        enter = ["nsenter", "--all", f"--target={self._leader}", "--wdns=/"]
        return [*enter, "env", "-i", *environment, *command]

    def reboot(self) -> None:
        """Of its own accord; nspawn ends then, and says that it wants to be started again."""
        assert self._nspawn is not None
        self.run("systemctl", "reboot", check=False)
        assert self._nspawn.wait(_BOOT) == _WANTS_REBOOT
        self._boot()

    def write(self, path: str, text: str) -> None:
        self.run("bash", "-c", 'mkdir -p "$(dirname "$1")"; cat >"$1"', "write", path, stdin=text)

    def read(self, path: str) -> str:
        return self.run("cat", path)
