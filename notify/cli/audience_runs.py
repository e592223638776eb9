"""The batch of a schedule's firing, run before somebody's eyes instead of by the beat."""

from collections.abc import Collection
from typing import Any, Final

from notify.batch import lives, where
from notify.cli.context import PARTLY, Context, print_json, say
from notify.cli.running import Started, Watch, run_watched
from notify.errors import UsageError
from notify.schedule.audience.order import is_firing
from notify.schedule.audience.running import Busy, is_over
from notify.schedule.audiences import Audiences
from notify.store.batches import FINISHED, PAUSED, RUNNING, WITH_FAILURES, Batch

_RESUMABLE: Final = (RUNNING, PAUSED, WITH_FAILURES)


def resume_firing(
    context: Context, name: str, path: str | None, *, wait: bool, as_json: bool
) -> int:
    """Goes on with it here, whoever began it, or leaves that to the beat; the exit code."""
    if path is not None:
        raise UsageError(f"--file: {name} has the file of its schedule")
    with Audiences(context.settings) as audiences:
        batch = _resumed(audiences, name, wait)
    if as_json:
        print_json(firing_facts(batch))
    else:
        tell_firing(batch)
    return exit_code(batch)


def _resumed(audiences: Audiences, name: str, wait: bool) -> Batch:
    found = audiences.get(name)
    if found is not None and is_over(found):
        raise UsageError(f"batch {name} is over: none of its rows is left to be published")
    return run_here(audiences, name, only=_RESUMABLE) if wait else audiences.resume(name)


def run_here(audiences: Audiences, name: str, *, only: Collection[str] = (RUNNING,)) -> Batch:
    """To its end, unless the beat or another process has it; the batch as it is then."""
    before = audiences.get(name)
    total, done = (before.total, before.sent + before.rejected) if before else (None, 0)

    def go(watch: Watch, started: Started) -> Batch:
        return audiences.begin(name, only=only, watch=watch, started=started).go()

    try:
        return run_watched(name, total, done, go)
    except Busy:
        found = audiences.get(name)
        if found is None:
            raise
        return found


def find_firing(audiences: Audiences, name: str) -> Batch | None:
    """The batch of that name, if it is one of a schedule."""
    found = audiences.get(name) if name.startswith("schedule-") else None
    return found if found is not None and is_firing(found) else None


def firing_facts(batch: Batch) -> dict[str, Any]:
    return {
        "batch": batch.name,
        "state": batch.state,
        "running": where(batch) if batch.owner and lives(batch) else "",
        "rows": batch.total,
        "published": batch.sent,
        "rejected": batch.rejected,
        "not_published": batch.failed,
        "why": batch.source.get("why", ""),
    }


def tell_firing(batch: Batch) -> None:
    facts = firing_facts(batch)
    if facts["running"]:
        say(f"{batch.name}: runs {facts['running']}; notify batch show {batch.name}")
        return
    state = "waiting" if batch.state == RUNNING else batch.state
    begun = "" if batch.total is None else f"{batch.sent} of {batch.total} published; "
    say(f"{batch.name}: {begun}{state}")
    for number, what in ((batch.rejected, "rejected"), (batch.failed, "not published")):
        if number:
            say(f"  {number} {what}")
    if facts["why"]:
        say(f"  {facts['why']}")
    if batch.state == RUNNING:
        say(f"  the leading beat goes on with it, or: notify batch resume {batch.name}")
    elif batch.state in (PAUSED, WITH_FAILURES) and (batch.failed or batch.state == PAUSED):
        say(f"  to go on: notify batch resume {batch.name}")


def exit_code(batch: Batch) -> int:
    """0 also for what another process has, or the beat will have."""
    return 0 if batch.state in (FINISHED, RUNNING) else PARTLY
