"""What was done with a dead letter after it died, and what became of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from notify.errors import LedgerUnavailable
from notify.ledger import Ledger, Record
from notify.store import ArchivedLetter, Replay, Store
from notify.store.replayrows import FAILED, SENT, ReplayLetter, ReplayRun
from notify.store.replays import Replays

_STATES = {SENT: "published", FAILED: "failed"}


def replays_of(row: ArchivedLetter, store: Store, replays: Replays) -> list[Replay]:
    """The replays of one letter, the first one first. Raises ``StoreUnavailable``."""
    runs = (_of_run(each, row, replays) for each in replays.of_letter(row.seq))
    return store.replays_of(row.seq) + list(runs)


def made_by(row: ArchivedLetter, replays: Replays) -> str:
    """Which replay this letter's generation comes from, and what that changed, in words."""
    letter = row.letter
    maker = replays.maker(letter.id, letter.generation) if letter.id else None
    run = replays.get(maker.run) if maker else None
    if maker is None or run is None:
        return ""
    return (
        f"{run.name} by {run.actor or 'somebody'}{_changed(run)}, of dead letter {maker.dead_seq}"
    )


def became(row: ArchivedLetter, ledger: Ledger) -> str:
    """What became of a notification since it died, in words; empty where nothing did."""
    letter = row.letter
    if letter.id is None:
        return ""
    try:
        record = ledger.record(letter.id)
    except LedgerUnavailable:
        return "not known: Redis does not answer"
    if record is None or (record.generation <= letter.generation and record.state != "sent"):
        return ""
    return _now(record)


def _now(record: Record) -> str:
    at, generation = f"{record.changed_at:%Y-%m-%d %H:%M:%S}", f"generation {record.generation}"
    if record.state == "sent":
        via = f" through {record.provider}" if record.provider else ""
        return f"delivered{via} at {at}, {generation}"
    if record.state in ("sending", "waiting"):
        return f"on its way, {generation}"
    return f"dead again since {at}, {generation}"


def _of_run(each: ReplayLetter, row: ArchivedLetter, replays: Replays) -> Replay:
    run = replays.get(each.run)
    waiting = "publishing" if each.generation is not None else "waiting"
    state = waiting if each.result is None else _STATES.get(each.result, "left out")
    note = f"{each.run}{_changed(run) if run and state == 'published' else ''}"
    return Replay(
        seq=each.number,
        dead_seq=each.dead_seq,
        at=each.at or (run.at if run else row.archived_at),
        actor=run.actor if run else "",
        from_generation=row.letter.generation,
        new_generation=each.generation or row.letter.generation,
        state=state,
        note=f"{each.note} ({note})" if each.note else note,
    )


def _changed(run: ReplayRun) -> str:
    parts = list(_changes(run.edits))
    return f", with another {', another '.join(parts)}" if parts else ""


def _changes(edits: Mapping[str, Any]) -> Iterator[str]:
    for name, change in edits.items():
        if isinstance(change, Mapping):
            yield f"{name} ({change.get('old')} -> {change.get('new')})"
        elif name == "provider":
            yield f"provider ({change})"
        else:
            yield f"expires_at ({change:g} s from its turn)"
