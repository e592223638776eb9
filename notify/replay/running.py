"""Runs of replays: begun, gone on with, brought to an end."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Final

from notify.batch import Engine, Knobs, Progress, check_name, lives, run, where
from notify.errors import NotFound, UsageError
from notify.replay.desk import Desk
from notify.replay.editing import check_order
from notify.replay.letters import Letters
from notify.replay.planning import changes_of, meant
from notify.replay.resending import Resending
from notify.replay.results import Results
from notify.replay.values import WORDS, Finished, Order, Why, order_of
from notify.rows import Row
from notify.store import Filter
from notify.store.batches import CANCELLED, PAUSED, Batch
from notify.store.replayrows import ReplayLetter, ReplayRun
from notify.telemetry import mask

_KIND: Final = {"replay": True}
_PRIVATE: Final = ("text",)
# Where a list is, not what is in it.
_PLACES: Final = ("begin", "limit", "offset", "after", "oldest")


def run_replay(
    desk: Desk,
    order: Order,
    *,
    watch: Callable[[Progress], None] = lambda _: None,
    started: Callable[[Engine], None] = lambda _: None,
    knobs: Knobs | None = None,
) -> Finished:
    """Begins a run and brings it to its end, or goes on with the one of the same order that was
    interrupted. ``watch`` is told of its progress, ``started`` of the engine.

    Raises ``NotFound`` where nothing matches, ``UsageError``, and ``Unavailable`` or
    ``PublishError`` when nothing could be done for long: then ``resume_replay`` goes on.
    """
    name = interrupted(desk, order) or begin_replay(desk, order)
    return resume_replay(desk, name, watch=watch, started=started, knobs=knobs)


def begin_replay(desk: Desk, order: Order) -> str:
    """Fixes which letters are replayed, and sends none; the name of the run."""
    check_order(order, desk.settings)
    now = datetime.now(UTC)
    name = order.name or f"replay-{now:%Y%m%d-%H%M%S}-{token_hex(2)}"
    check_name(name)
    _refuse_repeat(desk.batches.get(name), order)
    replay = ReplayRun(
        name=name,
        actor=order.actor,
        at=now,
        wanted=shown(order),
        terms=order.terms,
        edits=changes_of(desk, order),
        content=order.edits.content or None,
    )
    batch = Batch(
        name=name,
        source=_KIND,
        rate=order.rate,
        actor=order.actor,
        fingerprint=fingerprint(order),
    )
    # Another letter may have come that matches, and the change is of one.
    at_most = 1 if order.edits.content else order.at_most
    desk.replays.begin(replay, batch, meant(order), at_most)
    return name


def _refuse_repeat(batch: Batch | None, order: Order) -> None:
    if batch is None:
        return
    if not is_replay(batch) or batch.fingerprint != fingerprint(order):
        text = f"there is a batch {batch.name} already, of another order; take another name"
    elif batch.owner and lives(batch):
        text = f"replay {batch.name} runs already {where(batch)}"
    elif batch.state == PAUSED:
        text = f"replay {batch.name} is paused: notify batch resume {batch.name}"
    else:
        text = f"replay {batch.name} is {batch.state}; take another name"
    raise UsageError(text)


def resume_replay(
    desk: Desk,
    name: str,
    *,
    watch: Callable[[Progress], None] = lambda _: None,
    started: Callable[[Engine], None] = lambda _: None,
    knobs: Knobs | None = None,
) -> Finished:
    """Goes on with a run that was paused, stopped or killed; one that is over is returned as it
    is. Raises as ``run_replay``."""
    replay = _found(desk, name)
    order = order_of(replay)
    results = Results(desk.replays, name)
    batch = run(
        desk.settings,
        desk.batches,
        name,
        Letters(desk, name, order, results),
        watch=watch,
        started=started,
        knobs=knobs,
        outlet=Resending(desk, name, order, results),
    )
    if batch.state == CANCELLED:
        _bring_to_an_end(desk, replay)
    elif not desk.replays.counts(name).keys() & {"", "failed"}:
        desk.replays.forget(name)
    return finished(desk, name)


def cancel_replay(desk: Desk, name: str) -> None:
    """Brings a run to an end whose batch was cancelled, unless a process does so.

    Whatever it had in its hands is sent or given back. Raises ``Unavailable``; then it is to be
    done again.
    """
    batch = desk.batches.get(name)
    if batch is not None and batch.state == CANCELLED and not (batch.owner and lives(batch)):
        _bring_to_an_end(desk, _found(desk, name))


def is_replay(batch: Batch) -> bool:
    """Whether the rows of a batch are dead letters."""
    return batch.source == _KIND


def finished(desk: Desk, name: str) -> Finished:
    """A run as far as it has come."""
    batch = desk.batches.get(name)
    assert batch is not None
    return Finished(
        run=_found(desk, name),
        batch=batch,
        results=desk.replays.counts(name),
        others=desk.replays.others(name),
    )


def interrupted(desk: Desk, order: Order) -> str:
    """The run of the same order that was killed or stopped, if there is one; its name."""
    given = fingerprint(order)
    for batch in reversed(desk.batches.unfinished()):
        same = is_replay(batch) and batch.fingerprint == given
        if same and not (batch.owner and lives(batch)):
            return batch.name
    return ""


def fingerprint(order: Order) -> str:
    """The same for the same order of the same person. One that has a name is known by that: the
    time in "since 6h" is another one each time it is said."""
    wanted = order.wanted
    if order.name and isinstance(wanted, Filter):
        order = replace(order, wanted=replace(wanted, since=None, until=None))
    text = json.dumps(asdict(order), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def shown(order: Order) -> dict[str, Any]:
    """What was asked for, without what tells who is meant."""
    wanted = meant(order)
    if not isinstance(wanted, Filter):
        return {"letters": len(wanted)}
    given = {k: v for k, v in asdict(wanted).items() if v not in (None, ()) and k not in _PLACES}
    given |= {name: "…" for name in _PRIVATE if name in given}
    if "recipient" in given:
        given["recipient"] = mask(str(given["recipient"]))
    if "labels" in given:
        given["labels"] = [f"{name}={value}" for name, value in given["labels"]]
    times = {k: v.isoformat() for k, v in given.items() if isinstance(v, datetime)}
    at_most = {} if order.at_most is None else {"at_most": order.at_most}
    return given | times | at_most


def _found(desk: Desk, name: str) -> ReplayRun:
    replay = desk.replays.get(name)
    if replay is None:
        raise NotFound(f"there is no replay {name}")
    return replay


def _bring_to_an_end(desk: Desk, replay: ReplayRun) -> None:
    name, order = replay.name, order_of(replay)
    results = Results(desk.replays, name)
    letters = Letters(desk, name, order, results)
    outlet = Resending(desk, name, order, results)
    while held := desk.replays.open_letters(name):
        _settle(desk, held, letters, outlet, results)
        results.save()
    desk.replays.leave_out_rest(name, Why.CANCELLED, WORDS[Why.CANCELLED])
    desk.replays.forget(name)


def _settle(
    desk: Desk,
    held: list[ReplayLetter],
    letters: Letters,
    outlet: Resending,
    results: Results,
) -> None:
    """What the ledger has opened is sent; the rest is given back."""
    known, _ = desk.ledger.known([each.id for each in held if each.id is not None])
    rows = []
    for letter, verdict in letters.examined(held):
        record = known.get(letter.id or "")
        opened = record is not None and record.generation >= (letter.generation or 0)
        if verdict is not None and verdict.lost:
            why, kept = Why.REPLAYED, letter.generation
            results.add(letter.number, letter.dead_seq, why, WORDS[why], generation=kept)
        elif verdict is None or not opened:
            why = Why.PURGED if verdict is None else Why.CANCELLED
            results.add(letter.number, letter.dead_seq, why, WORDS[why])
        elif verdict.facts.notification is None:
            results.add(letter.number, letter.dead_seq, Why.INVALID, verdict.note)
        else:
            results.expect(letter.number, verdict)
            rows.append(Row(number=letter.number, notification=verdict.notification))
    errors = [done.error for done in outlet.send(rows, window=len(rows) + 1) if done.error]
    results.save()
    if errors:
        raise errors[0]
