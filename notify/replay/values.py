"""What is asked of a replay, and what can keep a letter from being sent again. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from notify.batch.estimate import Load
from notify.store import Filter
from notify.store.batches import Batch
from notify.store.replayrows import ReplayRun

OWN: Final = "own"
"""Each letter with the priority that it had."""


class Why(StrEnum):
    """Why a letter is not sent again."""

    NOT_PARSED = "not parsed"
    INVALID = "invalid"
    CONFLICT = "conflict"
    NO_CHANNEL = "no channel"
    NO_PROVIDER = "no provider"
    EXPIRED = "expired"
    SUPPRESSED = "suppressed"
    DELIVERED = "delivered"
    ON_ITS_WAY = "on its way"
    UNKNOWN = "unknown outcome"
    REPLAYED = "replayed"
    SUPERSEDED = "superseded"
    SAME_ID = "same id"
    TAKEN = "taken"
    TOO_OFTEN = "too often"
    PURGED = "purged"
    CANCELLED = "cancelled"


WORDS: Final[Mapping[Why, str]] = {
    Why.NOT_PARSED: "it could not be parsed, so there is nothing to send",
    Why.INVALID: "the notification is invalid",
    Why.CONFLICT: "its id belongs to other content; publish it under a new id",
    Why.NO_CHANNEL: "its channel is not configured",
    Why.NO_PROVIDER: "the provider is not one of its channel, or takes other recipients only",
    Why.EXPIRED: "its expires_at has passed",
    Why.SUPPRESSED: "its recipient is suppressed, so that it would be archived again",
    Why.DELIVERED: "it has been delivered since",
    Why.ON_ITS_WAY: "it is on its way",
    Why.UNKNOWN: "it may have arrived, so that this may be a second copy (--unknown)",
    Why.REPLAYED: "it was replayed, and nobody knows any more what became of it (--unknown)",
    Why.SUPERSEDED: "it was replayed and has died again: a later dead letter stands for it",
    Why.SAME_ID: "another letter of this replay has its id",
    Why.TAKEN: "another replay has it",
    Why.TOO_OFTEN: "it was replayed as often as is allowed",
    Why.PURGED: "it is no longer in the archive",
    Why.CANCELLED: "the replay was cancelled before its turn",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Edits:
    """What is sent otherwise than before. ``recipient``, ``subject`` and ``body`` are for one
    letter only.

    ``provider`` has it first, and keeps it while it can be used. ``expires_in`` seconds from
    its turn is the new ``expires_at`` of what has one. ``body`` is JSON for a webhook that
    posts ``data``; the HTML part of a mail is left out with it.
    """

    provider: str = ""
    recipient: str | None = None
    subject: str | None = None
    body: str | None = None
    expires_in: float | None = None

    @property
    def content(self) -> dict[str, str]:
        """What replaces something of the letter itself: personal data."""
        values = {name: getattr(self, name) for name in ("recipient", "subject", "body")}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """Which letters are to be sent again, by whom and how.

    ``wanted`` is a filter, whose open letters are meant where it names no state, or the numbers
    of letters. ``unknown`` consents to what may be a second copy; ``priority`` may be ``OWN``.
    ``rate`` is letters per second, 0 for no limit. ``at_most`` are taken, the oldest. Letters
    of more than ``most_generations`` are left out: they were replayed so often less one.
    ``name`` of the run; one is made up where it is empty.
    """

    wanted: Filter | tuple[int, ...]
    actor: str
    edits: Edits = field(default_factory=Edits)
    unknown: bool = False
    priority: str = "normal"
    rate: float = 0.0
    at_most: int | None = None
    most_generations: int | None = None
    name: str = ""

    @property
    def terms(self) -> dict[str, Any]:
        """What a run must know to go on, without personal data."""
        names = ("unknown", "priority", "rate", "most_generations")
        edits = {"provider": self.edits.provider, "expires_in": self.edits.expires_in}
        return {name: getattr(self, name) for name in names} | edits


def order_of(run: ReplayRun) -> Order:
    """As it was given when the run began; its letters are fixed."""
    terms = dict(run.terms)
    edits = {name: terms.pop(name) for name in ("provider", "expires_in")}
    changed = Edits(**edits | dict(run.content or {}))
    return Order(wanted=(), actor=run.actor, name=run.name, edits=changed, **terms)


@dataclass(kw_only=True, slots=True)
class Plan:
    """What a replay would do: ``ready`` of ``matching`` letters would be sent.

    ``left_out`` are letters by ``Why``, ``others`` those that wait in other runs, by their
    names. ``doubtful`` of the ready ones may be second copies, and ``renewed`` ones would be
    expired without ``expires_in``. ``verdicts`` are by number of the letter, of the first few.
    """

    matching: int = 0
    ready: int = 0
    doubtful: int = 0
    renewed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    channels: Counter[str] = field(default_factory=Counter)
    left_out: Counter[Why] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    loads: dict[str, Load] = field(default_factory=dict)
    verdicts: dict[int, tuple[str, Why | None, str]] = field(default_factory=dict)
    edits: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    """About how long it takes at the rate and the configured limits; None: nothing limits it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A run as far as it has come. ``results`` are letters by result: ``sent``, ``failed``, a
    ``Why``, or "" for those whose turn has not come; ``others`` are those that another run
    had taken, by its name."""

    run: ReplayRun
    batch: Batch
    results: Mapping[str, int]
    others: Mapping[str, int]

    @property
    def sent(self) -> int:
        return self.results.get("sent", 0)

    @property
    def left_out(self) -> dict[str, int]:
        return {why: n for why, n in self.results.items() if why not in ("sent", "failed", "")}
