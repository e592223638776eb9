"""A replay as people and programs see it: before, while and after it runs."""

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any, Final

from notify.batch import lives
from notify.cli.bars import duration
from notify.cli.context import PARTLY, print_json, say
from notify.cli.running import Started, Watch, run_watched
from notify.replay import WORDS, Desk, Finished, Order, Plan, Why, resume_replay
from notify.replay.running import begin_replay, interrupted
from notify.store.batches import RUNNING
from notify.store.replayrows import SENT, ReplayLetter

_MOST_LINES: Final = 50


def run_order(desk: Desk, order: Order) -> Finished:
    """Begins or goes on, with a bar."""
    name = interrupted(desk, order)
    if name:
        print_note(f"going on with {name}")
    return resume_watched(desk, name or begin_replay(desk, order))


def resume_watched(desk: Desk, name: str) -> Finished:
    before = desk.batches.get(name)
    total, done = (before.total, before.sent + before.rejected) if before else (None, 0)

    def go(watch: Watch, started: Started) -> Finished:
        return resume_replay(desk, name, watch=watch, started=started)

    return run_watched(name, total, done, go)


def print_note(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def plan_facts(plan: Plan, order: Order) -> dict[str, Any]:
    """For programs."""
    facts: dict[str, Any] = {
        "done": False,
        "matching": plan.matching,
        "ready": plan.ready,
        "by_reason": dict(plan.reasons.most_common()),
        "by_channel": dict(plan.channels.most_common()),
        "left_out": {str(why): n for why, n in plan.left_out.most_common()},
        "may_arrive_twice": plan.doubtful,
        "renewed": plan.renewed,
        "waiting_in_other_replays": dict(plan.others.most_common()),
        "edits": dict(plan.edits),
        "rate": order.rate or None,
        "seconds": plan.seconds,
    }
    if plan.verdicts:
        facts["results"] = [
            {"seq": seq, "id": id, "note": note, "ok": why is None}
            for seq, (id, why, note) in plan.verdicts.items()
        ]
    return facts


def tell_plan(plan: Plan, order: Order) -> None:
    """For people."""
    for seq, (id, why, note) in list(plan.verdicts.items())[:_MOST_LINES]:
        say(f"{seq} {id}: {note if why else 'would be replayed'}")
    for line in _plan_lines(plan, order):
        say(line)
    say("nothing was sent; repeat with --yes")


def _plan_lines(plan: Plan, order: Order) -> Iterator[str]:
    yield f"{plan.ready} of {plan.matching} dead letters would be sent again"
    for name, counts in (("reason", plan.reasons), ("channel", plan.channels)):
        for value, number in counts.most_common():
            yield f"  {number} with {name} {value}"
    for why, number in plan.left_out.most_common():
        yield f"  left out: {number}, {why}: {WORDS[why]}"
    if plan.doubtful:
        yield f"  {plan.doubtful} may have arrived already: their recipients may get a second copy"
    yield from _change_lines(plan)
    for run, number in plan.others.most_common():
        yield f"  {number} wait for their turn in {run}: whichever comes first sends them"
    if plan.seconds is not None and plan.ready:
        at = f"at {order.rate:g} a second" if order.rate else "at the configured limits"
        yield f"  {at}: about {duration(plan.seconds)}"


def _change_lines(plan: Plan) -> Iterator[str]:
    if plan.renewed:
        yield f"  {plan.renewed} get a new expires_at"
    for name, change in plan.edits.items():
        pair = isinstance(change, Mapping)
        told = f"{change['old']} -> {change['new']}" if pair else f"{change}"
        yield f"  changed: {name} {told}"


def tell_finish(
    desk: Desk, done: Finished, order: Order | None = None, *, as_json: bool = False
) -> int:
    """How far a run has come, and what came of letters that were named; the exit code."""
    named = order.wanted if order and isinstance(order.wanted, tuple) else ()
    letters = desk.replays.letters(done.run.name, 0, len(named)) if named else []
    if as_json:
        results = {"results": [letter_facts(each) for each in letters]} if named else {}
        print_json({"done": True, **run_facts(done), **results})
    else:
        for each in letters[:_MOST_LINES]:
            said = "replayed" if each.result == SENT else each.note or "not replayed yet"
            say(f"{each.dead_seq} {each.id or ''}: {said}")
        for line in _finish_lines(done):
            say(line)
    return 0 if set(done.results) <= {SENT} else PARTLY


def letter_facts(letter: ReplayLetter) -> dict[str, Any]:
    names = ("number", "id", "generation", "result", "note", "other", "at")
    facts = {name: getattr(letter, name) for name in names}
    return facts | {"seq": letter.dead_seq, "ok": letter.result == SENT}


def _finish_lines(done: Finished) -> Iterator[str]:
    name, total = done.run.name, done.batch.total
    yield f"{name}: {done.sent} of {total} sent again"
    for why, number in done.left_out.items():
        known = why in {str(each) for each in Why}
        yield f"  left out: {number}, {why}: {WORDS[Why(why)] if known else why}"
    for other, number in done.others.items():
        yield f"  {number} were taken by {other}"
    if done.results.get("failed"):
        yield f"  {done.results['failed']} could not be published: notify batch show {name}"
    waiting = done.results.get("", 0)
    if waiting:
        yield f"  {waiting} wait; {name} is {state_of(done)}: notify batch resume {name}"


def state_of(done: Finished) -> str:
    batch = done.batch
    gone = batch.state == RUNNING and not (batch.owner and lives(batch))
    return "interrupted" if gone else batch.state


def run_facts(done: Finished) -> dict[str, Any]:
    """A run, for programs and for a list."""
    run, batch = done.run, done.batch
    return {
        "name": run.name,
        "at": f"{run.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        "actor": run.actor,
        "state": state_of(done),
        "filter": dict(run.wanted),
        "edits": dict(run.edits),
        "rate": batch.rate or None,
        "priority": run.terms.get("priority"),
        "unknown": run.terms.get("unknown"),
        "letters": batch.total,
        "sent": done.sent,
        "left_out": done.left_out,
        "failed": done.results.get("failed", 0),
        "waiting": done.results.get("", 0),
        "taken_by_others": dict(done.others),
    }
