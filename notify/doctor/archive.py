"""The archive's database and the schedules, judged. Pure: ``asking`` gets the facts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from notify.doctor.finding import Check, Finding, critical, fine, note, warning

_WAITING: Final = 10_000
# Seconds within which another beat has taken over.
BEHIND: Final = 60.0

ANSWERS: Final = Check(
    name="archive-answers",
    why="without its database the archiver stops, and dead letters wait in RabbitMQ",
    runbook="archive-away",
)
SCHEMA: Final = Check(
    name="archive-schema",
    why="a program of another version refuses the archive, or lacks what it looks for",
    runbook="archive-away",
)
BACKLOG: Final = Check(
    name="archive-backlog",
    why="what died is not found in the archive yet, and RabbitMQ's disk fills",
    runbook="archiver-late",
)
SHARED: Final = Check(
    name="archive-shared",
    why="a file of SQLite is this host's alone: other hosts have other letters and schedules",
    runbook="move-to-postgresql",
)
RETENTION: Final = Check(
    name="archive-retention",
    why="personal data that is kept without an end, and a database that only grows",
    runbook="go-live",
)
BEAT: Final = Check(
    name="beat-leads",
    why="no schedule is fired while no beat leads",
    runbook="beat-without-leader",
)
OURS: Final = Check(
    name="schedules-ours",
    why="of the schedules in another database nobody knows here, and the beat restores none",
    runbook="schedules",
)
QUARANTINE: Final = Check(
    name="schedules-quarantined",
    why="what is in quarantine is not fired",
    runbook="schedule-quarantined",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveFacts:
    """``version`` is None where no table was made yet; ``waiting`` are dead letters not yet
    archived, None where RabbitMQ does not say."""

    version: int | None
    newest: int
    embedded: bool
    retention: bool
    waiting: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleFacts:
    """``behind``: what was due ``BEHIND`` seconds ago has not been looked at since.
    ``foreign``: the schedules in Redis are of another database; None where that is not known."""

    schedules: int
    quarantined: int
    leader: str
    behind: bool = False
    foreign: bool | None = False


def judge(facts: ArchiveFacts) -> Iterator[Finding]:
    if facts.version is None:
        yield note(SCHEMA, "the archive is empty: the archiver makes its tables at its first start")
    elif facts.version != facts.newest:
        words = f"the archive has schema {facts.version}, this program makes {facts.newest}"
        yield critical(SCHEMA, words)
    else:
        yield fine(SCHEMA, f"schema {facts.version}")
    if facts.waiting is None:
        yield note(BACKLOG, "not looked at: RabbitMQ does not answer")
    elif facts.waiting > _WAITING:
        yield warning(BACKLOG, f"{facts.waiting} dead letters wait for the archiver")
    else:
        yield fine(BACKLOG, f"{facts.waiting} dead letters wait for the archiver")


def judge_go_live(facts: ArchiveFacts) -> Iterator[Finding]:
    if facts.embedded:
        yield note(SHARED, "SQLite: right for one host; for several take PostgreSQL")
    else:
        yield fine(SHARED, "PostgreSQL")
    if facts.retention:
        yield fine(RETENTION, "letters are kept for a time that is configured")
    else:
        yield warning(RETENTION, "neither archive.keep nor archive.keep_most is set")


def judge_schedules(facts: ScheduleFacts) -> Iterator[Finding]:
    if facts.leader and facts.behind:
        words = f"{facts.leader} leads, and has not fired what was due {BEHIND:g} s ago"
        yield critical(BEAT, words)
    elif facts.leader:
        yield fine(BEAT, f"{facts.leader} leads; {facts.schedules} schedules")
    elif facts.schedules:
        yield critical(BEAT, f"no beat leads, and there are {facts.schedules} schedules")
    else:
        yield note(BEAT, "no beat leads; there is no schedule either")
    if facts.foreign:
        yield critical(OURS, "Redis has the schedules of another database than archive.url")
    elif facts.foreign is None:
        yield note(OURS, "not looked at: the archive does not answer, or has no tables yet")
    else:
        yield fine(OURS, "Redis has no other database's schedules")
    if facts.quarantined:
        yield critical(QUARANTINE, f"{facts.quarantined} schedules are in quarantine")
    else:
        yield fine(QUARANTINE, "none")
