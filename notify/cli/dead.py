"""``notify dead``: the dead-letter archive."""

import getpass
from datetime import UTC, datetime
from typing import Any

import click

from notify.cli.context import (
    PARTLY,
    Context,
    json_option,
    pass_context,
    print_json,
    print_table,
    say,
)
from notify.errors import InvalidInput, NotFound
from notify.notification import CHANNELS, PRIORITIES
from notify.outcomes import Reason
from notify.replay import Replayed, Replayer
from notify.store import ArchivedLetter, Filter, Store
from notify.telemetry import mask


@click.group()
def dead() -> None:
    """Notifications that could not be delivered: find, understand, send again."""


@dead.command("list")
@click.option("--channel", type=click.Choice(CHANNELS))
@click.option("--reason", type=click.Choice([str(reason) for reason in Reason]))
@click.option("--state", type=click.Choice(["open", "replayed"]))
@click.option("--since", type=click.DateTime(), help="In UTC.")
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@click.option("--reveal", is_flag=True, help="Show recipients in full.")
@json_option
@pass_context
def list_(
    context: Context,
    channel: str | None,
    reason: str | None,
    state: str | None,
    since: datetime | None,
    limit: int,
    reveal: bool,
    as_json: bool,
) -> None:
    """Lists dead letters, newest first."""
    chosen = Filter(channel=channel, reason=reason, state=state, since=_utc(since), limit=limit)
    with context.store() as store:
        rows, total = store.find(chosen), store.count(chosen)
    if as_json:
        print_json({"total": total, "dead_letters": [_facts(row, reveal) for row in rows]})
        return
    columns = ["no.", "dead at (UTC)", "channel", "recipient", "reason", "id", "state"]
    print_table(columns, [_line(row, reveal) for row in rows])
    say(f"{len(rows)} of {total}")


@dead.command()
@click.argument("key", metavar="ID|NO.")
@click.option("--reveal", is_flag=True, help="Show recipient and content.")
@json_option
@pass_context
def show(context: Context, key: str, reveal: bool, as_json: bool) -> None:
    """Shows a dead letter with every attempt, by notification id or number."""
    with context.store() as store:
        facts = [_facts(row, reveal, full=True) for row in _rows(store, key)]
    if as_json:
        print_json(facts)
        return
    for item in facts:
        attempts = item.pop("attempts")
        say(
            "\n".join(
                f"{name:12} {value}" for name, value in item.items() if value not in ("", None)
            )
        )
        columns = ["attempt", "at", "provider", "outcome", "reason", "code", "ms", "answer"]
        print_table(columns, [[a.get(c, "") for c in columns] for a in attempts])


@dead.command()
@click.argument("keys", nargs=-1, required=True, metavar="ID|NO. ...")
@click.option("--priority", type=click.Choice(PRIORITIES), default="normal", show_default=True)
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
@click.pass_context
def replay(
    command: click.Context,
    context: Context,
    keys: tuple[str, ...],
    priority: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Sends dead letters again under a new generation: once, whoever asks how often."""
    with (
        context.store() as store,
        context.ledger() as ledger,
        context.publisher() as publisher,
        context.blocklist() as blocklist,
    ):
        rows = [_latest(store, key) for key in keys]
        results = [
            (_replay if yes else _preview)(
                Replayer(
                    store=store,
                    ledger=ledger,
                    publisher=publisher,
                    blocklist=blocklist,
                    retention=_retention(context, row),
                    actor=getpass.getuser(),
                    priority=priority,
                ),
                row,
            )
            for row in rows
        ]
    _report(results, yes, as_json)
    command.exit(0 if all(result.ok for result in results) else PARTLY)


def _replay(replayer: Replayer, row: ArchivedLetter) -> Replayed:
    return replayer.replay(row)


def _preview(replayer: Replayer, row: ArchivedLetter) -> Replayed:
    return Replayed(seq=row.seq, id=row.letter.id or "", note=replayer.refusal(row))


def _report(results: list[Replayed], done: bool, as_json: bool) -> None:
    if as_json:
        keys = ("seq", "id", "generation", "note", "ok")
        print_json({"done": done, "results": [{k: getattr(r, k) for k in keys} for r in results]})
        return
    words = "replayed" if done else "would be replayed"
    for result in results:
        say(f"{result.seq} {result.id}: {result.note or words}")
    if not done:
        say("nothing was sent; repeat with --yes")


def _rows(store: Store, key: str) -> list[ArchivedLetter]:
    # An id may consist of digits too; what is so long is no number of a row.
    is_number = key.isdecimal() and len(key) <= 18
    rows = (store.get(int(key)) if is_number else []) or store.get(key)
    if not rows:
        raise NotFound(f"there is no dead letter {key!r}")
    return rows


def _latest(store: Store, key: str) -> ArchivedLetter:
    return max(_rows(store, key), key=lambda row: (row.letter.generation, row.seq))


def _retention(context: Context, row: ArchivedLetter) -> float:
    channels = context.settings.channels
    if row.letter.channel not in channels:
        raise InvalidInput(f"dead letter {row.seq}: its channel is not configured")
    return context.settings.channel(row.letter.channel).send.retention


def _line(row: ArchivedLetter, reveal: bool) -> tuple[object, ...]:
    facts = _facts(row, reveal)
    names = ("seq", "dead_at", "channel", "recipient", "reason", "id", "state")
    return tuple(facts[name] for name in names)


def _facts(row: ArchivedLetter, reveal: bool, full: bool = False) -> dict[str, Any]:
    letter = row.letter
    recipient = letter.recipient or ""
    facts: dict[str, Any] = {
        "seq": row.seq,
        "id": letter.id,
        "generation": letter.generation,
        "channel": letter.channel,
        "priority": letter.priority,
        "recipient": recipient if reveal else mask(recipient) if recipient else "",
        "reason": letter.reason,
        "detail": letter.detail,
        "dead_at": f"{letter.dead_at:%Y-%m-%d %H:%M:%S}",
        "state": row.state,
        "count": row.count,
    }
    if full:
        facts |= {"labels": dict(letter.labels), "attempts": list(letter.attempts)}
    if full and reveal:
        facts |= {"notification": letter.notification, "raw": letter.raw}
    return facts


def _utc(value: datetime | None) -> datetime | None:
    return value.replace(tzinfo=UTC) if value else None


COMMANDS = (dead,)
