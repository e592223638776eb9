"""Erasing a person: for good, everywhere that is ours, and saying what is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from notify.errors import StoreUnavailable
from notify.privacy.knowing import Known
from notify.privacy.places import Blocked, Books
from notify.store.people import People

# Letters that come while the others are erased; whoever gets more is being sent to right now.
_ROUNDS: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """How much of which was erased. ``left`` is what somebody has yet to do, with commands;
    ``shredded``: whether the database's own files are known to hold nothing of it."""

    letters: int
    messages: int
    mentions: int
    texts: Mapping[str, int]
    records: int
    suppressed: bool
    shredded: bool
    left: Sequence[str] = field(default_factory=tuple)

    @property
    def counts(self) -> dict[str, int]:
        numbers = {"letters": self.letters, "messages": self.messages, "mentions": self.mentions}
        numbers |= {"records": self.records, "suppressions": int(self.suppressed)}
        return numbers | {f"texts: {name}": number for name, number in self.texts.items()}


def erase(
    known: Known, people: People, ledger: Books, blocked: Blocked, *, actor: str, mentions: bool
) -> Erased:
    """Once more changes nothing. With ``mentions``, letters to others that name the person lose
    their content too, and cannot be sent again.

    Raises ``StoreUnavailable`` and ``LedgerUnavailable``; then what was not done is done by the
    next call.
    """
    person = known.person
    # The archive forgets the ids, so that the ledger comes first.
    ids = dict.fromkeys(record.id for record in known.elsewhere.records)
    records = sum(ledger.erase(id) for id in ids)
    letters = _erase_letters(known, people, ledger)
    others = [each.seq for each in known.mentions if each.theirs]
    named = [each.seq for each in known.mentions if not each.theirs]
    done = Erased(
        letters=letters,
        messages=people.erase(others),
        mentions=people.erase(named) if mentions else 0,
        texts=people.scrub(person.is_in, person.without),
        records=records,
        suppressed=blocked.erase(person.channel, person.recipient),
        shredded=people.shred(),
        left=_left(known, mentions),
    )
    if not (known.nothing and known.erased):
        people.note_erasure(person.key, actor, done.letters, done.counts)
    return done


def _erase_letters(known: Known, people: People, ledger: Books) -> int:
    total = people.erase(known.letters.seqs)
    for _ in range(_ROUNDS):
        rows = list(people.letters(known.person.keys))
        if not rows:
            return total
        for id in (row.letter.id for row in rows if row.letter.id is not None):
            ledger.erase(id)
        total += people.erase([row.seq for row in rows])
    raise StoreUnavailable("letters to this recipient keep arriving: stop sending, then go on")


def _left(known: Known, mentions: bool) -> list[str]:
    """What this did not do, and how it is done."""
    left = [
        f"schedule {name} names them: notify schedule remove {name}" for name in known.schedules
    ]
    named = [str(each.seq) for each in known.mentions if not each.theirs]
    if named and not mentions:
        numbers = ", ".join(named[:10]) + (" and more" if len(named) > 10 else "")
        left.append(f"{len(named)} letters to others name them ({numbers}): --mentions erases them")
    return left
