"""A host as an operator knows it: checkouts, units, notifications that arrive."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.systemd.machine import Machine
from tests.waiting import eventually

_ROOT: Final = Path(__file__).parents[2]
_SHIPPED: Final = ("notify", "systemd", "ops", "config", "pyproject.toml", "README.md", "LICENSE")
_LOCKS: Final = ("requirements.lock", "requirements-run.lock")
QUEUES: Final = ("sms-urgent", "sms-normal")
UNITS: Final = (
    "notify-exporter",
    "notify-archiver",
    "notify-beat",
    *(f"notify-worker@{queue}" for queue in QUEUES),
)
RECEIVED: Final = "/var/lib/sandbox/received"
_SANDBOX: Final = f"""
[Service]
StateDirectory=sandbox
ExecStart=/opt/notify/current/bin/python -m notify.sandbox --http-port 8025 --record {RECEIVED}
[Install]
WantedBy=multi-user.target
"""


class Host:
    """What runs on the machine, and what came of it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.run = machine.run
        self.shell = machine.shell

    def checkout(self, name: str, version: str) -> str:
        """A copy of this project as another version; its directory over there."""
        place = self.machine.shared / name
        place.mkdir()
        for each in (*_SHIPPED, *_LOCKS):
            source = _ROOT / each
            if source.is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, place / each, ignore=ignore)
            else:
                shutil.copy2(source, place / each)
        project = place / "pyproject.toml"
        lines = project.read_text().splitlines()
        project.write_text(
            "\n".join(f'version = "{version}"' if x.startswith("version = ") else x for x in lines)
        )
        return f"/srv/shared/{name}"

    def follow(self, lines: list[str], directory: str = "/") -> str:
        """Runs a runbook's commands one after the other; what they print."""
        said = [self.shell(f"cd {directory} && {line}") for line in lines]
        return "".join(said)

    def start_sandbox(self) -> None:
        self.machine.write("/etc/systemd/system/sandbox.service", _SANDBOX)
        self.run("systemctl", "enable", "--quiet", "--now", "sandbox")

    # --- units ---------------------------------------------------------------------------------

    def show(self, unit: str, name: str) -> str:
        return self.run("systemctl", "show", "--property", name, "--value", unit).strip()

    def pid(self, unit: str) -> int:
        return int(self.show(unit, "MainPID"))

    def status(self, unit: str) -> str:
        return self.show(unit, "StatusText")

    def wait_active(self, unit: str, *, other_than: int = 0, seconds: float = 60) -> int:
        """Its process, once it is ready."""

        def ready() -> int:
            pid = self.pid(unit)
            active = self.show(unit, "ActiveState") == "active"
            return pid if active and pid not in (0, other_than) else 0

        return eventually(ready, f"{unit} ready again", seconds=seconds)

    def journal(self, unit: str, *options: str) -> str:
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", unit, *options)

    # --- notifications -------------------------------------------------------------------------

    def send(self, recipient: str, *options: str, body: str = "Hello") -> str:
        """The id."""
        return self.run("notify", "send", "sms", recipient, "--body", body, *options).strip()

    def received(self) -> list[dict[str, Any]]:
        lines = self.shell(f"cat {RECEIVED} 2>/dev/null || true").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    def accepted(self) -> Counter[str]:
        """How often each id was delivered."""
        return Counter(str(each["id"]) for each in self.received() if each["accepted"])

    def wait_delivered(self, *ids: str, seconds: float = 60) -> None:
        eventually(
            lambda: set(ids) <= self.accepted().keys(),
            f"{len(ids)} notifications delivered",
            seconds=seconds,
        )

    def slow(self, recipient: str, seconds: float) -> None:
        """The gateway takes that long to answer for this recipient."""
        script = (
            "from notify.sandbox.client import SandboxClient\n"
            "from notify.sandbox.answers import Answer\n"
            "client = SandboxClient('http://127.0.0.1:8025')\n"
            f"client.script({recipient!r}, then=Answer(delay={seconds}))\n"
        )
        self.run("/opt/notify/current/bin/python", "-c", script)

    def queue(self, name: str) -> dict[str, Any]:
        """As ``notify queues`` shows it."""
        queues = json.loads(self.run("notify", "queues", "--json"))["queues"]
        return next(each for each in queues if each["name"] == name)
