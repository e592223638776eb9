"""``notify dead list`` and ``count``, and the options that say which letters are meant."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from notify.cli.context import (
    Context,
    json_option,
    pairs,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.tables import print_table
from notify.config.types import parse_duration
from notify.deadstory import list_facts
from notify.errors import UsageError
from notify.notification import CHANNELS
from notify.outcomes import Reason
from notify.store import COUNTABLE, LABEL, SPANS, ArchivedLetter, Filter, Store

# More are not counted for a list: people do not need to know, and a million takes a while.
_COUNTED: Final = 10_000
_COLUMNS: Final = {
    "seq": "no.",
    "dead_at": "dead at (UTC)",
    "channel": "channel",
    "recipient": "recipient",
    "provider": "provider",
    "reason": "reason",
    "code": "code",
    "id": "id",
    "state": "state",
}


class _When(click.ParamType[datetime]):
    """An instant, in UTC where it does not say, or how long ago."""

    name = "when"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            return datetime.now(UTC) - timedelta(seconds=parse_duration(value))
        except (ValueError, OverflowError):
            pass
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail("must be like 2027-03-01, 2027-03-01T09:00, or 24h for a day ago", param, ctx)
        return time if time.utcoffset() is not None else time.replace(tzinfo=UTC)


_OPTIONS: Final = (
    click.option("--id", help="Of the notification."),
    click.option("--channel", type=click.Choice(CHANNELS)),
    click.option("--provider", help="Of the last attempt."),
    click.option("--reason", type=click.Choice([str(reason) for reason in Reason])),
    click.option("--code", help="Of the last attempt, as the provider gave it."),
    click.option("--label", multiple=True, metavar="NAME=VALUE", help="Several: with all of them."),
    click.option("--schedule", help="Name of a schedule."),
    click.option("--batch", help="Name of a batch, or the label batch."),
    click.option("--template"),
    click.option("--recipient", help="However it is written."),
    click.option("--since", type=_When(), help="In UTC, or how long ago."),
    click.option("--until", type=_When(), help="In UTC, or how long ago."),
    click.option("--state", type=click.Choice(["open", "replayed", "erased"])),
    click.option("--text", help="In subject, body, data or detail; looks at every letter."),
)

Function = Callable[..., Any]
reveal_option = click.option(
    "--reveal", is_flag=True, help="Show recipients in full. Who did so is noted."
)


def filter_options(function: Function) -> Function:
    """Adds the options; their values come as ``wanted``, to be read by ``chosen``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def chosen(wanted: dict[str, Any], **others: Any) -> Filter:
    """The filter that the options describe. Raises ``UsageError``."""
    if wanted["text"] == "":
        # Every letter has it: whoever meant a variable that is empty would be surprised.
        raise UsageError("--text: must not be empty")
    others["labels"] = _labels(wanted["label"])
    return Filter(**{name: each for name, each in wanted.items() if name != "label"} | others)


def _labels(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for each in given for pair in pairs([each], "--label").items())


def note_reveal(store: Store, command: str, rows: Sequence[ArchivedLetter]) -> None:
    """Before personal data is shown, notes whose: by the letters' numbers."""
    numbers = [str(row.seq) for row in rows]
    more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
    store.note_reveal(user(), f"{command} {', '.join(numbers[:10])}{more}".strip(), len(rows))


@click.command("list")
@filter_options
@click.option("--sort", type=click.Choice(["newest", "oldest"]), default="newest")
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@click.option("--page", type=click.IntRange(1), default=1, help="Of so many letters each.")
@click.option("--after", type=click.IntRange(1), metavar="NO.", help="What follows this one.")
@reveal_option
@json_option
@pass_context
def list_(
    context: Context,
    /,
    sort: str,
    limit: int,
    page: int,
    after: int | None,
    reveal: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Lists dead letters, newest first.

    --page counts from the start; --after goes on where a list ended, however long it is.
    """
    # One more than is shown tells whether there are more.
    place = {"limit": limit + 1, "offset": (page - 1) * limit, "after": after}
    meant = chosen(wanted, oldest=sort == "oldest", **place)
    with context.store() as store:
        found, total = store.find(meant), store.count(meant, _COUNTED + 1)
        rows = found[:limit]
        if reveal:
            note_reveal(store, "dead list", rows)
    facts = [list_facts(row, reveal) for row in rows]
    if as_json:
        capped = {"total_is_a_minimum": True} if total > _COUNTED else {}
        print_json({"total": min(total, _COUNTED), **capped, "dead_letters": facts})
        return
    print_table(list(_COLUMNS.values()), [[row[name] for name in _COLUMNS] for row in facts])
    say(f"{len(rows)} of {f'more than {_COUNTED}' if total > _COUNTED else total}")
    if len(found) > limit:
        say(f"more: --after {rows[-1].seq}")


@click.command()
@click.option(
    "--by",
    "field",
    default="reason",
    show_default=True,
    metavar="|".join((*COUNTABLE, *SPANS, f"{LABEL}NAME")),
)
@filter_options
@json_option
@pass_context
def count(context: Context, /, field: str, as_json: bool, **wanted: Any) -> None:
    """Counts dead letters by what they have in common, the most first."""
    if field not in (*COUNTABLE, *SPANS) and not field.startswith(LABEL):
        raise UsageError(f"--by: must be one of {', '.join((*COUNTABLE, *SPANS))}, {LABEL}NAME")
    with context.store() as store:
        counts = store.counts_by(field, chosen(wanted))
    total = sum(counts.values())
    if as_json:
        print_json({"by": field, "total": total, "counts": counts})
        return
    print_table([field, "letters"], [[value or "(none)", n] for value, n in counts.items()])
    say(f"{total} in all")
