"""``notify care``: what is done about dead letters without anybody, and how it is stopped."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import click

from notify.care import Care, preview
from notify.care.digest import command as listing
from notify.care.digest import text
from notify.care.readiness import Readiness
from notify.care.telling import Teller
from notify.cli.context import (
    FAILED,
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.tables import print_table
from notify.config import CareRule, CareSettings
from notify.errors import NotFound, UsageError
from notify.store.care import CareBook, Held, Pause

_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
_STATES: Final = ("waiting", "replaying", "replayed", "held", "refused", "given up", "overtaken")


@click.group()
def care() -> None:
    """What the archiver does about dead letters by itself: rules, and a daily digest."""


@care.command()
@json_option
@pass_context
def show(context: Context, as_json: bool) -> None:
    """Shows the rules, what became of their letters, and what is held for a person."""
    settings = context.settings.care
    with _book(context) as book:
        counts, held, pauses = book.done(_FIRST, _LAST), book.held(), book.pauses()
        leader = book.leader()
    rules = [_rule(rule, counts, pauses) for rule in settings.rules]
    if as_json:
        facts = {"enabled": settings.enabled, "leader": leader, "rules": rules}
        print_json(facts | {"held": [_held(each) for each in held]})
        return
    if not settings.enabled:
        say("care.enabled is false: nothing is done")
    columns = ["rule", "action", *_STATES, "paused by"]
    print_table(columns, [[rule.get(name) for name in columns] for rule in rules])
    for each in held:
        place = f"{each.reason}, {each.channel or 'no channel'}"
        say(f"held by {each.rule}: {each.letters} ({place}), oldest {each.oldest:%Y-%m-%d %H:%M}")
        say(f"  {listing(each)}")


@care.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be done; as without --yes.")
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
@click.pass_context
def run(command: click.Context, context: Context, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Looks at all letters once, as the archiver does by itself, and sends the digest where it
    is time; deletes nothing. Exit code 1 where the archiver is doing so at this moment."""
    if dry_run and yes:
        raise UsageError("--dry-run and --yes exclude one another")
    if not context.settings.care.enabled:
        raise UsageError("care.enabled is false in notify.toml")
    if not yes:
        _preview(context, as_json)
        return
    # What the retention dooms is shown, and deleted, by "notify dead purge".
    done = Care(context.settings, threading.Event()).once(purge=False)
    if done is None:
        say("another process does this at the moment; see notify care show")
        command.exit(FAILED)
    why = {f"{rule}: {reason}": number for (rule, reason), number in done.why.items()}
    taken = {f"{rule}: {state}": number for (rule, state), number in done.taken.items()}
    facts: dict[str, Any] = {"done": True, "looked_at": done.looked_at, "new": taken}
    facts |= {"sent": dict(done.sent), "refused": dict(done.refused), "left": why}
    if as_json:
        print_json(facts)
        return
    say(f"{done.looked_at} new letters looked at")
    for title in ("new", "sent", "refused", "left"):
        for name, number in facts[title].items():
            say(f"{title:>8}  {number:>7}  {name}")


@care.command()
@click.argument("rule", required=False, default="")
@click.option("--by", default=user, help="Who and why, to be shown.")
@pass_context
def pause(context: Context, rule: str, by: str) -> None:
    """Sends nothing more by a rule, or by all of them, until it is resumed."""
    _check_rule(context.settings.care, rule)
    with _book(context) as book:
        book.pause(rule, by)
    say(f"{rule or 'all rules'}: paused; a replay that runs is paused with notify batch pause")


@care.command()
@click.argument("rule", required=False, default="")
@pass_context
def resume(context: Context, rule: str) -> None:
    """Goes on with a rule, or with all that were paused together."""
    with _book(context) as book:
        if not book.resume(rule):
            raise NotFound(f"{rule or 'the whole'} is not paused")
    say(f"{rule or 'all rules'}: resumed")


@care.command()
@json_option
@pass_context
def digest(context: Context, as_json: bool) -> None:
    """Prints what is new since the last daily digest, or of the last day. Sends nothing."""
    with _book(context) as book:
        told = Teller(context.settings, book, None).preview(datetime.now(UTC))
    if as_json:
        print_json(told)
        return
    say(text(told))


def _check_rule(settings: CareSettings, rule: str) -> None:
    names = [each.name for each in settings.rules]
    if rule and rule not in names:
        raise UsageError(f"RULE: must be one of {', '.join(names) or 'none: there are no rules'}")


@contextmanager
def _book(context: Context) -> Iterator[CareBook]:
    with closing(CareBook(context.settings.archive.url)) as book:
        book.create()
        yield book


def _rule(
    rule: CareRule, counts: dict[tuple[str, str], int], pauses: list[Pause]
) -> dict[str, Any]:
    paused = next((each for each in pauses if each.rule in (rule.name, "")), None)
    states = {state: counts.get((rule.name, state), 0) for state in _STATES}
    facts: dict[str, Any] = {"rule": rule.name, "action": rule.action, **states}
    return facts | {
        "match": {k: v for k, v in rule.match.model_dump(mode="json").items() if v},
        "paused by": None if paused is None else paused.by or "somebody",
    }


def _held(held: Held) -> dict[str, Any]:
    return {
        "rule": held.rule,
        "channel": held.channel,
        "reason": held.reason,
        "letters": held.letters,
        "oldest": held.oldest.isoformat(),
        "command": listing(held),
    }


def _preview(context: Context, as_json: bool) -> None:
    """What is new to the rules, and what is due and can, or cannot, be sent again now."""
    settings = context.settings.care
    new: Counter[str] = Counter()
    due: list[dict[str, Any]] = []
    with _book(context) as book, context.limits() as limits:
        readiness = Readiness(context.settings, limits)
        for name, cases in preview(book, settings, datetime.now(UTC)).items():
            new.update(f"{name}: {case.state}" for case in cases)
        for rule in settings.rules:
            for (channel, provider), number in book.places(rule.name).items():
                why = readiness.of(channel, provider).why if rule.when != "always" else ""
                due.append({"rule": rule.name, "letters": number, "provider": provider, "but": why})
    if as_json:
        print_json({"done": False, "new": dict(new), "due": due})
        return
    for name, number in new.items():
        say(f"     new  {number:>7}  {name}")
    for each in due:
        but = f" ({each['but']})" if each["but"] else ""
        say(f"     due  {each['letters']:>7}  {each['rule']}, {each['provider']}{but}")
    say("nothing was sent; repeat with --yes" if new or due else "there is nothing to do")
