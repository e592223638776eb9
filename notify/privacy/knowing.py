"""What is known about a person: counts by place, and everything for who has a right to it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from notify.config import Settings
from notify.deadstory import export_facts
from notify.privacy.person import Person
from notify.privacy.places import UNREACHABLE, Blocked, Books, Elsewhere, look, suppression_facts
from notify.store import ArchivedLetter
from notify.store.erasures import Erasure
from notify.store.people import People
from notify.store.scrubbing import SCHEDULES


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A letter that names the person. ``theirs``: it is to them, in a spelling that is none, or
    a message that could not be understood, and is to nobody known."""

    seq: int
    id: str | None
    theirs: bool


@dataclass(kw_only=True, slots=True)
class Letters:
    """Those to a person: their numbers, the ids of their notifications, and how many of each
    channel, reason and state."""

    seqs: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    channels: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)

    def add(self, row: ArchivedLetter) -> None:
        self.seqs.append(row.seq)
        self.ids += [row.letter.id] if row.letter.id is not None else []
        self.channels[row.letter.channel or ""] += 1
        self.reasons[row.letter.reason] += 1
        self.states[row.state] += 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """All that was found. ``texts`` are rows beside the letters that name the person, by table;
    ``files`` those that batches were sent from."""

    person: Person
    letters: Letters
    mentions: Sequence[Mention]
    texts: dict[str, int]
    schedules: Sequence[str]
    files: Sequence[str]
    elsewhere: Elsewhere
    erased: Sequence[Erasure]

    @property
    def nothing(self) -> bool:
        """Whether nothing is here that could be erased."""
        stays = self.elsewhere.suppression
        named = stays is not None and stays.recipient != "erased"
        return not (self.letters.seqs or self.mentions or self.texts or self.schedules or named)


def find(
    settings: Settings, person: Person, people: People, ledger: Books, blocked: Blocked
) -> Known:
    """Reads the whole archive. Raises ``StoreUnavailable`` and ``LedgerUnavailable``."""
    letters = Letters()
    for row in people.letters(person.keys):
        letters.add(row)
    mentions = [
        Mention(seq=seq, id=id, theirs=theirs)
        for seq, id, theirs in people.mentions(person.keys, person.is_in)
    ]
    own = [each.id for each in mentions if each.theirs and each.id is not None]
    texts = people.texts(person.is_in)
    schedules = [str(key[0]) for key in texts.pop(SCHEDULES, [])]
    return Known(
        person=person,
        letters=letters,
        mentions=mentions,
        texts={name: len(keys) for name, keys in texts.items()},
        schedules=schedules,
        files=people.files(),
        elsewhere=look(settings, person, [*letters.ids, *own], ledger, blocked),
        erased=people.erasures_of(person.key),
    )


def facts(known: Known) -> dict[str, Any]:
    """Counts by place, for programs; nothing of the person."""
    elsewhere = known.elsewhere
    return {
        "channel": known.person.channel,
        "letters": len(known.letters.seqs),
        "letters_by_channel": dict(known.letters.channels),
        "letters_by_reason": dict(known.letters.reasons),
        "letters_by_state": dict(known.letters.states),
        "mentions": [each.seq for each in known.mentions if not each.theirs],
        "unreadable_messages": [each.seq for each in known.mentions if each.theirs],
        "texts": known.texts,
        "schedules": list(known.schedules),
        "ledger": len(elsewhere.records),
        "suppression": suppression_facts(elsewhere.suppression),
        "erased_before": [each.at.isoformat() for each in known.erased],
        "queues": elsewhere.queues,
        "files": list(known.files),
        "unreachable": dict(UNREACHABLE),
    }


def everything(known: Known, people: People) -> dict[str, Any]:
    """With the content: what a person may ask for."""
    found = known.elsewhere.suppression
    records = [
        {name: value for name, value in asdict(record).items() if name != "digest"}
        for record in known.elsewhere.records
    ]
    return facts(known) | {
        "recipient": known.person.recipient,
        "dead_letters": [export_facts(row, True) for row in people.letters(known.person.keys)],
        "ledger_records": records,
        "suppression": None if found is None else asdict(found),
    }
