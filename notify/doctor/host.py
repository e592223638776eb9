"""This machine: files that hold secrets, limits, units, disks, judged."""

import os
import resource
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from notify.doctor.finding import Check, Finding, critical, fine, note, warning

_OTHERS: Final = stat.S_IRWXO
_WRITERS: Final = stat.S_IWGRP | stat.S_IWOTH
_MIB: Final = 1024**2
_SMALL_DISK: Final = 1024 * _MIB
_TINY_DISK: Final = 200 * _MIB
# Connections and files beside those of the sends that are under way.
_BESIDE: Final = 128
_RESTARTS: Final = 5

SECRETS: Final = Check(
    name="secrets-modes",
    why="others on this machine can read passwords, or change what is sent",
    runbook="rotate-a-secret",
)
FILES: Final = Check(
    name="open-files",
    why="a worker that has no file left can neither send nor say so",
    runbook="worker-does-not-start",
)
DISK: Final = Check(
    name="disk",
    why="an archive that cannot be written stops the archiver, and dead letters wait",
    runbook="archive-away",
)
UNITS: Final = Check(
    name="units",
    why="a unit that does not run delivers nothing, and one that is not enabled misses a reboot",
    runbook="worker-does-not-start",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitState:
    """What ``systemctl show`` says of one unit."""

    name: str
    loaded: bool
    active: str
    enabled: bool
    restarts: int = 0
    needs_reload: bool = False


def secrets(paths: Iterable[Path]) -> Iterator[Finding]:
    """``paths`` are the configuration's files, the secrets among them by their folder or key."""
    found, looked = False, 0
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        looked += 1
        if mode & _OTHERS:
            found = True
            yield critical(SECRETS, f"{path}: mode {stat.S_IMODE(mode):04o}, others may use it")
        elif mode & _WRITERS:
            found = True
            yield warning(SECRETS, f"{path}: mode {stat.S_IMODE(mode):04o}, a group may change it")
    if not looked:
        yield note(SECRETS, "no secret stands in a file")
    elif not found:
        yield fine(SECRETS, f"{looked} secrets are closed to others")


def open_files(concurrency: int) -> Iterator[Finding]:
    """For the largest worker: a connection and a file or two for each send that is under way."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _BESIDE + 3 * concurrency
    words = f"{soft} files may be open, a worker of {concurrency} sends needs {needed}"
    enough = soft == resource.RLIM_INFINITY or soft >= needed
    yield fine(FILES, words) if enough else critical(FILES, words)


def disk(directory: Path) -> Iterator[Finding]:
    """That of an archive in SQLite."""
    try:
        free = os.statvfs(directory)
    except OSError as error:
        yield critical(DISK, f"{directory}: {error.strerror}")
        return
    octets = free.f_bavail * free.f_frsize
    words = f"{directory}: {octets / _MIB:.0f} MiB are free"
    if octets < _TINY_DISK:
        yield critical(DISK, words)
    elif octets < _SMALL_DISK:
        yield warning(DISK, words)
    else:
        yield fine(DISK, words)


def units(states: Sequence[UnitState] | None, wanted: Sequence[str]) -> Iterator[Finding]:
    """``wanted`` are those that run everything of this configuration on one host."""
    if states is None:
        yield note(UNITS, "not looked at: this machine is not run by systemd")
        return
    found = [finding for state in states for finding in _unit(state)]
    missing = set(wanted) - {state.name for state in states if state.loaded}
    if missing:
        words = ", ".join(sorted(missing))
        found.append(note(UNITS, f"not installed on this host: {words}"))
    yield from found
    if not any(finding.severity for finding in found):
        yield fine(UNITS, f"{len(states)} units run, and are enabled")


def _unit(state: UnitState) -> Iterator[Finding]:
    if not state.loaded:
        return
    if state.active == "failed":
        yield critical(UNITS, f"{state.name} has failed: systemctl status {state.name}")
    elif state.active not in ("active", "reloading", "activating"):
        yield warning(UNITS, f"{state.name} is {state.active}")
    elif state.restarts > _RESTARTS:
        yield warning(UNITS, f"{state.name} was restarted {state.restarts} times")
    if not state.enabled:
        yield warning(UNITS, f"{state.name} does not start with the machine: it is not enabled")
    if state.needs_reload:
        yield warning(UNITS, f"{state.name}: its file has changed: systemctl daemon-reload")


def read_units(text: str) -> list[UnitState]:
    """The answer of ``systemctl show`` for several units: blocks of KEY=VALUE."""
    blocks = [dict(_pairs(block)) for block in text.strip().split("\n\n") if block.strip()]
    return [_state(block) for block in blocks]


def _pairs(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        key, _, value = line.partition("=")
        yield key, value


def _state(block: Mapping[str, Any]) -> UnitState:
    restarts = str(block.get("NRestarts", ""))
    return UnitState(
        name=block.get("Id", ""),
        loaded=block.get("LoadState") == "loaded",
        active=block.get("ActiveState", ""),
        enabled=block.get("UnitFileState") in ("enabled", "enabled-runtime", "static", "indirect"),
        restarts=int(restarts) if restarts.isdecimal() else 0,
        needs_reload=block.get("NeedDaemonReload") == "yes",
    )
