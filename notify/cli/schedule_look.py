"""``notify schedule list``, ``show``, ``preview``, ``history`` and ``quarantine``."""

from datetime import UTC, datetime
from typing import Any, Final

import click

from notify.cli.context import (
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.schedule_facts import (
    history_facts,
    list_facts,
    preview_facts,
    utc,
)
from notify.cli.schedule_options import given, opened, read_instant, when_options
from notify.cli.tables import print_table
from notify.errors import UsageError
from notify.notification import CHANNELS
from notify.recurrence import parse_recurrence
from notify.recurrence.previews import preview as previews
from notify.schedule.book import BY_NAME, SOONEST
from notify.schedule.listing import Wish, listed
from notify.schedule.spec import COMMAND, FILE, ONCE
from notify.schedule.stored import ACTIVE, ASLEEP, ENDED, QUARANTINED
from notify.store.occurrences import OUTCOMES, Occurrence

_COLUMNS: Final = ("name", "state", "when", "next", "channel", "recipient", "origin", "problem")
_HISTORY: Final = ("planned (UTC)", "actual (UTC)", "lag", "outcome", "count", "ref", "note")
reveal_option = click.option(
    "--reveal", is_flag=True, help="Show recipients and content. Who did so is noted."
)


def note_reveal(context: Context, what: str, number: int) -> None:
    """Before personal data is shown."""
    with context.store() as store:
        store.note_reveal(user(), what, number)


@click.command("list")
@click.option("--prefix", default="", help="Of the name.")
@click.option("--state", type=click.Choice([ACTIVE, ASLEEP, ENDED, QUARANTINED]))
@click.option("--origin", type=click.Choice([COMMAND, FILE, ONCE]))
@click.option("--channel", type=click.Choice(CHANNELS))
@click.option("--once/--not-once", default=None, help="What send --at has made, or all else.")
@click.option("--sort", type=click.Choice([SOONEST, BY_NAME]), help="Filtered: by name.")
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@click.option("--after", default="", help="What follows, as the last list said.")
@reveal_option
@json_option
@pass_context
def list_(
    context: Context,
    /,
    limit: int,
    after: str,
    reveal: bool,
    as_json: bool,
    sort: str | None,
    **wish: Any,
) -> None:
    """Lists schedules, soonest first, a page at a time; filtered ones by name."""
    order = sort or (BY_NAME if any(wish.values()) else SOONEST)
    with opened(context) as truth:
        found, following = listed(truth, Wish(order=order, **wish), after=after, limit=limit)
        counts = truth.book.count()
        if reveal and found:
            note_reveal(context, "schedule list", len(found))
    rows = [list_facts(stored, reveal=reveal) for stored in found]
    numbers = {"stored": counts.stored, "paused": counts.paused, "quarantined": counts.quarantined}
    if as_json:
        print_json({**numbers, "after": following, "schedules": rows})
        return
    shown = [name for name in _COLUMNS if name != "problem" or any(r["problem"] for r in rows)]
    print_table(shown, [[row.get(name) for name in shown] for row in rows])
    more = [f"{number} {what}" for what, number in list(numbers.items())[1:] if number]
    say(f"{len(rows)} of {counts.stored}{f' ({chr(44).join(more)})' if more else ''}")
    if following:
        say(f'more: --after "{following}"')


@click.command()
@click.argument("name", required=False)
@when_options
@click.option("-n", "--number", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.option("--from", "since", help="From this instant on (default: now).")
@json_option
@pass_context
def preview(
    context: Context,
    /,
    name: str | None,
    number: int,
    since: str | None,
    as_json: bool,
    **when: Any,
) -> None:
    """Shows what NAME, or what the options say, plans next: on the clock of its zone.

    Marked are changes of the clock, quiet hours, exclusions, and what a jitter puts off.
    """
    after = read_instant("--from", since) if since else datetime.now(UTC)
    values = given(when)
    if (name is None) == (not values):
        raise UsageError("give NAME, or --cron, --every or --at")
    if name is None:
        if values.pop("jitter", None):
            raise UsageError("--jitter: depends on the name; see it with NAME")
        recurrence = parse_recurrence(values)
        found: list[dict[str, Any]] = [
            {"planned": each.planned, "local": each.local, "due": each.due, "note": each.note}
            for each in previews(recurrence, after, number)
        ]
    else:
        with opened(context) as truth:
            spec = truth.get(name)
        recurrence, found = spec.recurrence, preview_facts(spec, after, number)
    if as_json:
        print_json(found)
        return
    say(recurrence.describe())
    rows = [[each["local"], utc(each["planned"]), each["note"]] for each in found]
    print_table([recurrence.zone, "UTC", ""], rows)


@click.command()
@click.argument("name")
@click.option("--outcome", type=click.Choice(OUTCOMES))
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@click.option("--before", help="What was planned before this instant.")
@json_option
@pass_context
def history(
    context: Context, name: str, outcome: str | None, limit: int, before: str | None, as_json: bool
) -> None:
    """Shows what became of planned instants, also of a schedule that is gone."""
    until = read_instant("--before", before) if before else None
    with opened(context) as truth:
        found = truth.history.of(name, limit=limit, before=until, outcome=outcome)
        counts = truth.history.counts(name)
        if not found and truth.row(name) is None:
            truth.get(name)
    if as_json:
        print_json({"counts": counts, "history": [history_facts(each) for each in found]})
        return
    print_table(_HISTORY, [_history_row(each) for each in found])
    say(", ".join(f"{number} {what}" for what, number in counts.items()) or "nothing yet")


def _history_row(occurrence: Occurrence) -> list[object]:
    lag = f"{occurrence.lag.total_seconds():.1f} s"
    count = occurrence.count if occurrence.count > 1 else ""
    times = (utc(occurrence.planned), utc(occurrence.actual), lag)
    return [*times, occurrence.outcome, count, occurrence.ref, occurrence.note]


@click.command()
@click.option("--release", multiple=True, metavar="NAME", help="Put it back once it is mended.")
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@json_option
@pass_context
def quarantine(context: Context, release: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Lists schedules that could not be used and were set aside, and why."""
    with opened(context) as truth:
        for name in release:
            truth.book.release(name)
        found = truth.book.quarantine(limit=limit)
    if as_json:
        rows = [{"name": q.name, "since": q.since, "reason": q.reason} for q in found]
        print_json({"released": list(release), "quarantine": rows})
        return
    for name in release:
        say(f"{name}: released")
    print_table(
        ["name", "since (UTC)", "reason"], [[q.name, utc(q.since), q.reason] for q in found]
    )
