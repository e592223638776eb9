"""Whether a dead letter may be sent again, and if not, why. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from notify.blocklist import Block
from notify.ledger import Known
from notify.notification import Notification
from notify.outcomes import Reason
from notify.replay.values import Order, Why
from notify.store import ArchivedLetter
from notify.store.replayrows import SENT, ReplayLetter

# Its worker died, or nobody knows what the provider did with it.
_MAY_HAVE_ARRIVED: Final = (Reason.UNKNOWN_OUTCOME, Reason.POISON)
_REPLAYED: Final = "replayed"
_CLOCKS_DIFFER: Final = timedelta(seconds=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """All that is known of one dead letter.

    ``notification`` is what would be sent, ``digest`` that of what is archived; ``problem``
    says why there is none. ``latest`` is the highest generation of its id in the archive,
    ``makers`` what became generations of it. ``now_ms`` is the ledger's time.
    """

    row: ArchivedLetter
    notification: Notification | None = None
    digest: str = ""
    problem: str = ""
    known: Known | None = None
    now_ms: int = 0
    latest: int = 0
    makers: Sequence[ReplayLetter] = ()
    block: Block | None = None
    configured: bool = True
    takes: bool = True

    @property
    def generation(self) -> int:
        return self.row.letter.generation

    @property
    def later(self) -> ReplayLetter | None:
        """What replayed it last."""
        later = [each for each in self.makers if (each.generation or 0) > self.generation]
        return max(later, key=lambda each: each.generation or 0, default=None)

    @property
    def left_behind(self) -> bool:
        """Its worker has died without a word."""
        known = self.known
        return known is not None and known.state == "sending" and known.lease_until < self.now_ms

    @property
    def doubtful(self) -> bool:
        """Whether it may have arrived."""
        unknown = self.known is not None and self.known.state == "unknown"
        return unknown or self.left_behind or self.row.letter.reason in _MAY_HAVE_ARRIVED

    @property
    def forgotten(self) -> bool:
        """Whether it was replayed, and nobody knows any more what became of that."""
        replayed = self.row.state == _REPLAYED or self.later is not None
        return self.known is None and replayed


def judge(facts: Facts, order: Order, now: datetime) -> Why | None:
    """Why it is not sent again; None when it is."""
    return next((why for check in _CHECKS if (why := check(facts, order, now))), None)


def _content(facts: Facts, order: Order, now: datetime) -> Why | None:
    letter = facts.row.letter
    if letter.id is None or letter.notification is None:
        return Why.NOT_PARSED
    if not facts.configured:
        return Why.NO_CHANNEL
    return Why.INVALID if facts.notification is None else None


def _conflict(facts: Facts, order: Order, now: datetime) -> Why | None:
    known = facts.known
    other = (
        known is not None
        and known.generation <= facts.generation
        and facts.digest not in known.digests
    )
    return Why.CONFLICT if other or facts.row.letter.reason == Reason.CONFLICT else None


def _taken(facts: Facts, order: Order, now: datetime) -> Why | None:
    later = facts.later
    return Why.TAKEN if later is not None and later.result is None else None


def _since(facts: Facts, order: Order, now: datetime) -> Why | None:
    known = facts.known
    if known is None:
        return None
    if known.state == "sent":
        return Why.DELIVERED
    if known.state in ("sending", "waiting"):
        return Why.ON_ITS_WAY if _on_its_way(facts, known) else None
    return Why.SUPERSEDED if known.generation > facts.generation else None


def _on_its_way(facts: Facts, known: Known) -> bool:
    """Whether a worker has it, or a message for its next attempt is somewhere."""
    if known.generation > facts.generation:
        # A replay that was begun and not finished, by a program that took no note of it.
        begun = known.generation == facts.generation + 1 and known.attempt == 0
        return not (begun and known.state == "waiting" and facts.later is None)
    if known.state == "sending":
        return not facts.left_behind
    stranded = facts.row.letter.attempt > known.attempt
    return not stranded


def _superseded(facts: Facts, order: Order, now: datetime) -> Why | None:
    return Why.SUPERSEDED if facts.latest > facts.generation else None


def _uncertain(facts: Facts, order: Order, now: datetime) -> Why | None:
    if order.unknown:
        return None
    if facts.forgotten:
        return Why.REPLAYED
    return Why.UNKNOWN if facts.doubtful else None


def _deliverable(facts: Facts, order: Order, now: datetime) -> Why | None:
    if facts.notification is not None and facts.notification.expired(now):
        return Why.EXPIRED
    if facts.block is not None:
        return Why.SUPPRESSED
    return None if facts.takes else Why.NO_PROVIDER


def _allowed(facts: Facts, order: Order, now: datetime) -> Why | None:
    most = order.most_generations
    return Why.TOO_OFTEN if most is not None and facts.generation > most else None


_CHECKS: Final[Sequence[Callable[[Facts, Order, datetime], Why | None]]] = (
    *(_content, _conflict, _taken, _since, _superseded),
    *(_uncertain, _deliverable, _allowed),
)


def own(facts: Facts, run: str, number: int) -> ReplayLetter | None:
    """Where this run has taken it already, so that it has to be brought to an end."""
    mine = (each for each in facts.makers if (each.run, each.number) == (run, number))
    return next((each for each in mine if each.result != SENT), None)


def surely_kept(
    taken: ReplayLetter, *, intact_since: datetime | None, retention: float, now: datetime
) -> bool:
    """Whether the ledger would know, had its generation been opened since it was taken."""
    if taken.at is None or intact_since is None:
        return False
    return taken.at - _CLOCKS_DIFFER > intact_since and now - taken.at < timedelta(
        seconds=retention
    )
