"""Notify as it is shipped: its configuration with few changes, and its processes."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benching.children import ROOT, Child, python
from benching.values import Broken
from notify import Client, load_settings

READY: Final = '"event":"ready"'
# Everything on, and nothing limited by it: the limiter is asked about each message.
LIMITS: Final = {"rate": '"100000/s"', "concurrency": "1000"}
RUNGS: Final = "rungs = [1, 5, 20, 80, 320, 1280, 3600]"


class Ours:
    """One configuration, and what runs with it.

    ``limits`` and ``changes`` are values by key, for the first table of ``sms.toml`` and of
    ``email.toml`` that has the key.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        concurrency: int,
        limits: Mapping[str, str] = LIMITS,
        changes: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        config = folder / "config"
        shutil.copytree(ROOT / "config", config)
        _set(config / "notify.toml", {r"rungs = .*": RUNGS})
        values = {r"concurrency = \d+": f"concurrency = {concurrency}"}
        values |= {rf"# {key} = .*": f"{key} = {value}" for key, value in limits.items()}
        others = (changes or {}).items()
        values |= {rf"(?:# )?{key} = .*": f"{key} = {value}" for key, value in others}
        for channel in ("sms", "email"):
            _set(config / "channels" / f"{channel}.toml", values)
        self.environ = {
            **os.environ,
            **environ,
            "NOTIFY_CONFIG": str(config),
            "NOTIFY_ARCHIVE_URL": f"sqlite:///{folder}/archive.sqlite3",
            "NOTIFY_LOG_FORMAT": "json",
        }
        self._started = 0

    def client(self) -> Client:
        return Client(load_settings(environ=self.environ))

    def declare(self) -> None:
        command = python("notify", "topology", "declare")
        done = subprocess.run(
            command, env=self.environ, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Broken(f"notify topology declare: {done.stderr}")

    def worker(self, queue: str = "sms-normal", *, prefix: str, url: str = "") -> Child:
        """A worker of a queue, such as "sms-urgent" or "sms-normal.2".

        ``prefix`` is that of its keys in Redis: with a new one the same ids can be sent again.
        ``url`` is the gateway's, where it is another.
        """
        self._started += 1
        environ = self.environ | {"NOTIFY_REDIS_PREFIX": prefix}
        if url:
            environ["NOTIFY_SANDBOX_HTTP"] = url
        log = self._folder / f"worker-{self._started}.log"
        return Child(python("notify", "worker", queue), environ, log)


def _set(path: Path, values: Mapping[str, str]) -> None:
    """Lines that match, each pattern where it is first found; "concurrency" of both queues."""
    text = path.read_text(encoding="utf-8")
    for pattern, line in values.items():
        everywhere = 0 if pattern.startswith("concurrency") else 1
        text, found = re.subn(rf"^{pattern}$", line, text, count=everywhere, flags=re.MULTILINE)
        if not found:
            raise Broken(f"{path.name} has no line {pattern!r}")
    path.write_text(text, encoding="utf-8")
