"""Rules send again through the replay engine: each look is a run, which ``notify batch`` shows.

The name of a run is noted before it begins. One that was killed is gone on with, and tells what
came of its letters, before anything else is sent.
"""

import json
import logging
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Final

from notify.batch import Engine, Progress
from notify.care.carer import Answer
from notify.config import CareRule, Settings
from notify.errors import NotFound, UsageError
from notify.replay import WORDS, Desk, Order, Why, open_desk, resume_replay, run_replay
from notify.store import ArchivedLetter
from notify.store.batches import PAUSED, RUNNING, Batch, BatchProgress
from notify.store.care import CareBook
from notify.store.replayrows import FAILED, SENT, ReplayLetter
from notify.telemetry import event

log = logging.getLogger(__name__)

ACTOR: Final = "care"
_RUNS: Final = "runs"
# They may be open again when the other run is over.
_LATER: Final = (Why.TAKEN,)


class Resender:
    """Replays letters for rules, until ``stop``. Raises ``Unavailable`` and ``PublishError``;
    opens nothing before it is needed."""

    def __init__(self, settings: Settings, book: CareBook, stop: Callable[[], bool]) -> None:
        self._settings = settings
        self._book = book
        self._stop = stop
        self._stack = ExitStack()
        self._opened: Desk | None = None
        self._engine: Engine | None = None

    def recover(self) -> Mapping[int, Answer]:
        """What came of the letters of runs that were noted; killed ones are gone on with."""
        found: dict[int, Answer] = {}
        for name in self._noted():
            batch = self._desk.batches.get(name)
            if batch is None:
                # Whoever noted it was killed, or the archive went away, before it began.
                self._forget(name)
                continue
            going_on = self._resumed(batch) if batch.state == RUNNING else batch
            if going_on is not None:
                found |= self._over(going_on)
        return found

    def __call__(self, rows: Sequence[ArchivedLetter], rule: CareRule) -> Mapping[int, Answer]:
        if not rows:
            return {}
        name = f"care-{rule.name[:40]}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
        self._note([*self._noted(), name])
        order = Order(
            wanted=tuple(row.seq for row in rows),
            actor=f"{ACTOR}: {rule.name}",
            unknown=rule.may_repeat,
            rate=rule.rate,
            most_generations=rule.most,
            name=name,
        )
        try:
            done = run_replay(self._desk, order, watch=self._watch, started=self._started)
        except NotFound:
            # All of them were purged or erased meanwhile.
            self._forget(name)
            return {row.seq: Answer(note=WORDS[Why.PURGED]) for row in rows}
        return self._over(done.batch)

    def close(self) -> None:
        self._stack.close()

    @property
    def _desk(self) -> Desk:
        if self._opened is None:
            self._opened = self._stack.enter_context(open_desk(self._settings))
        return self._opened

    def _resumed(self, batch: Batch) -> Batch | None:
        """None while another process runs it, or one that did so cannot be seen to be gone."""
        name = batch.name
        try:
            self._give_up(batch)
            return resume_replay(self._desk, name, watch=self._watch, started=self._started).batch
        except UsageError as error:
            log.warning("replay not gone on with", extra=event(run=name, problem=str(error)))
            return None

    def _give_up(self, batch: Batch) -> None:
        """What this process ran when the archive went away is its own still, and is no more."""
        who = json.loads(batch.owner or "{}")
        if (who.get("host"), who.get("pid")) == (socket.gethostname(), os.getpid()):
            progress = BatchProgress(
                cursor=batch.cursor, published=batch.published, rejected=batch.rejected
            )
            self._desk.batches.save(batch.name, batch.owner or "", progress, leave="")

    def _started(self, engine: Engine) -> None:
        self._engine = engine

    def _watch(self, _: Progress) -> None:
        if self._engine is not None and self._stop():
            self._engine.stop()

    def _over(self, batch: Batch) -> dict[int, Answer]:
        """Its letters' answers; it is forgotten, unless it is to be gone on with."""
        if batch.state != RUNNING:
            self._forget(batch.name)
        return self._answers(batch)

    def _noted(self) -> list[str]:
        found: list[str] = json.loads(self._book.noted(_RUNS) or "[]")
        return found

    def _forget(self, name: str) -> None:
        self._note([each for each in self._noted() if each != name])

    def _note(self, names: list[str]) -> None:
        self._book.note(_RUNS, json.dumps(names))

    def _answers(self, batch: Batch) -> dict[int, Answer]:
        found: dict[int, Answer] = {}
        after = 0
        while letters := self._desk.replays.letters(batch.name, after):
            given = {each.dead_seq: answer(each, batch) for each in letters}
            found |= {seq: each for seq, each in given.items() if each is not None}
            after = letters[-1].number
        return found


def answer(letter: ReplayLetter, batch: Batch) -> Answer | None:
    """What a run made of a letter; None where it is to go on with it."""
    if letter.result == SENT:
        return Answer()
    if letter.result is None and batch.state == RUNNING:
        return None
    if letter.result is None and batch.state == PAUSED:
        return Answer(note=f"its replay is paused: notify batch resume {batch.name}")
    if letter.result is None or letter.result == FAILED:
        return Answer(note=letter.note or "it was not published", later=True)
    why = Why(letter.result)
    return Answer(note=WORDS[why], later=why in _LATER)
