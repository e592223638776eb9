"""``notify privacy``: what is known about one person, and erasing it."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

import click

from notify import privacy as persons
from notify.cli.context import (
    FAILED,
    PARTLY,
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.tables import print_table
from notify.notification import CHANNELS
from notify.privacy import Erased, Known, Person
from notify.store.people import People
from notify.telemetry import mask

_recipient = click.argument("recipient")
_channel = click.option(
    "--channel", type=click.Choice(CHANNELS), help="Where the recipient does not tell it."
)
_PLACES: Final = {
    "letters": "dead letters to them",
    "unreadable_messages": "dead letters without a valid recipient that name them",
    "mentions": "dead letters to others that name them",
    "ledger": "records of the ledger, with what providers said",
}


@click.group()
def privacy() -> None:
    """One person in the archive, the ledger and the suppressions: show, export, erase."""


@privacy.command()
@_recipient
@_channel
@click.option("--reveal", is_flag=True, help="Everything with its content, as JSON. It is noted.")
@json_option
@pass_context
def show(
    context: Context, recipient: str, channel: str | None, reveal: bool, as_json: bool
) -> None:
    """Tells what is known about a recipient, and where: counts, or with --reveal all of it.

    Reads the whole archive: a million letters take about a minute.
    """
    person = _person(context, recipient, channel)
    with _opened(context) as (people, ledger, blocked):
        known = persons.find(context.settings, person, people, ledger, blocked)
        if reveal:
            with context.store() as store:
                store.note_reveal(user(), "privacy show", len(known.letters.seqs))
            print_json(persons.everything(known, people))
            return
    if as_json:
        print_json(persons.facts(known))
        return
    _tell(known)


@privacy.command()
@_recipient
@_channel
@click.option("--mentions", is_flag=True, help="Letters to others that name them as well.")
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
@click.pass_context
def erase(
    command: click.Context,
    context: Context,
    recipient: str,
    channel: str | None,
    mentions: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Erases a person for good, and says what it cannot reach; exit code 5 where something is
    left to do.

    Of each letter a stub without recipient and content stays for statistics. A suppression
    stays, as a digest: who opted out gets nothing. What arrives later is there again. A file of
    SQLite is written anew in the end, and the archiver waits meanwhile.
    """
    person = _person(context, recipient, channel)
    with _opened(context) as (people, ledger, blocked):
        known = persons.find(context.settings, person, people, ledger, blocked)
        if not yes:
            _report(known, None, as_json)
            return
        done = persons.erase(known, people, ledger, blocked, actor=user(), mentions=mentions)
    _report(known, done, as_json)
    command.exit(PARTLY if done.left else 0)


@privacy.command()
@_recipient
@_channel
@json_option
@pass_context
@click.pass_context
def erased(
    command: click.Context, context: Context, recipient: str, channel: str | None, as_json: bool
) -> None:
    """Tells whether somebody was erased, and when; exit code 1 where not."""
    person = _person(context, recipient, channel)
    with _people(context) as people:
        found = people.erasures_of(person.key)
    if as_json:
        print_json({"erased": [_erasure(each) for each in found]})
    for each in () if as_json else found:
        say(f"{mask(person.recipient)} was erased at {each.at:%Y-%m-%d %H:%M:%S} UTC")
    if not found and not as_json:
        say(f"{mask(person.recipient)}: no erasure is noted")
    command.exit(0 if found else FAILED)


@privacy.command("log")
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@json_option
@pass_context
def log_(context: Context, limit: int, as_json: bool) -> None:
    """Lists erasures, newest first: when, by whom, how many letters. Whose, nobody can tell."""
    with _people(context) as people:
        rows = [_erasure(each) for each in people.latest_erasures(limit)]
    if as_json:
        print_json({"erasures": rows})
        return
    print_table(("at (UTC)", "by", "letters"), [[r["at"], r["by"], r["letters"]] for r in rows])


def _erasure(found: Any) -> dict[str, Any]:
    return {
        "at": f"{found.at:%Y-%m-%d %H:%M:%S}",
        "by": found.actor,
        "letters": found.letters,
        "details": dict(found.details),
    }


def _person(context: Context, recipient: str, channel: str | None) -> Person:
    return persons.person(recipient, context.settings.texts.default_region, channel)


@contextmanager
def _people(context: Context) -> Iterator[People]:
    with closing(People(context.settings.archive.url)) as people:
        people.create()
        yield people


@contextmanager
def _opened(context: Context) -> Iterator[tuple[People, Any, Any]]:
    with (
        _people(context) as people,
        context.ledger() as ledger,
        context.suppressions() as blocked,
    ):
        yield people, ledger, blocked


def _report(known: Known, done: Erased | None, as_json: bool) -> None:
    if as_json:
        counts = None if done is None else done.counts | {"left": list(done.left)}
        print_json({"done": done is not None, "found": persons.facts(known), "erased": counts})
        return
    _tell(known)
    if done is None:
        say("\nnothing was erased; repeat with --yes")
        return
    say("\nerased for good:")
    for name, number in done.counts.items():
        if number:
            say(f"  {number:>7}  {name}")
    if not done.shredded:
        say("the database may keep old bytes for a while: see the runbook erase-a-person")
    for each in done.left:
        say(f"left to do: {each}")


def _tell(known: Known) -> None:
    facts = persons.facts(known)
    say(f"{known.person.channel} {mask(known.person.recipient)}")
    for name, words in _PLACES.items():
        found = facts[name]
        say(f"  {found if isinstance(found, int) else len(found):>7}  {words}")
    for table, number in facts["texts"].items():
        say(f"  {number:>7}  rows of {table} that name them")
    for name in known.schedules:
        say(f"  schedule {name} names them: notify schedule remove {name}")
    _tell_suppression(known)
    for each in known.erased:
        say(f"  erased before, at {each.at:%Y-%m-%d %H:%M:%S} UTC")
    say("cannot be reached:")
    for place, why in _unreachable(known).items():
        say(f"  {place}: {why}")


def _tell_suppression(known: Known) -> None:
    found = known.elsewhere.suppression
    if found is not None:
        since = f"{found.since:%Y-%m-%d}"
        say(f"  suppressed since {since} ({found.reason}): stays so, by a digest alone")


def _unreachable(known: Known) -> Mapping[str, str]:
    queues = known.elsewhere.queues
    waiting = "RabbitMQ does not say how many messages wait"
    if queues is not None:
        numbers = ", ".join(f"{name} {number}" for name, number in queues.items())
        waiting = f"messages that wait, perhaps none of theirs: {numbers or 'none'}"
    places = {"queues": f"{waiting}; erase again when they are through"}
    if known.files:
        places["files"] = f"rows of batches: {', '.join(known.files)}, and files of rejects"
    return places | dict(persons.UNREACHABLE)
