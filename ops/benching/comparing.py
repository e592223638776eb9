"""Whether two contestants did the same work."""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from benching.values import Facts, Unlike

# What has to be known of each before anything is compared.
NEEDED: Final = ("count", "ids", "payload", "counted at")
_SHOWN: Final = 3


def digest(parts: Iterable[str | bytes]) -> str:
    """Of all parts in their order."""
    made = sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        made.update(len(data).to_bytes(4, "big") + data)
    return made.hexdigest()[:16]


def each_once(counted: Iterable[str], wanted: Iterable[str], where: str, times: int = 1) -> None:
    """Raises ``Unlike`` unless exactly the wanted ids were counted, each so many times."""
    counts, left = Counter(counted), set(wanted)
    missing = sorted(left - counts.keys())
    foreign = sorted(counts.keys() - left)
    other = sorted(id for id in left if counts[id] not in (0, times))
    for ids, what in ((missing, "missing"), (foreign, "unexpected"), (other, f"not {times} times")):
        if ids:
            some = ", ".join(ids[:_SHOWN])
            raise Unlike(f"{where}: {len(ids)} of {len(left)} {what}, such as {some}")


def check_alike(facts: Mapping[str, Facts]) -> None:
    """Raises ``Unlike`` where one contestant's work differs from another's.

    A fact that only one of them can have, such as what became of its queue, is not compared.
    """
    for name, each in facts.items():
        if unknown := [fact for fact in NEEDED if fact not in each]:
            raise Unlike(f"{name}: {', '.join(unknown)} not known")
    names = list(facts)
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            _check_two(first, facts[first], second, facts[second])


def _check_two(first: str, ours: Facts, second: str, theirs: Facts) -> None:
    for fact in ours.keys() & theirs.keys():
        if ours[fact] != theirs[fact]:
            raise Unlike(f"{fact} differs: {ours[fact]!r} of {first}, {theirs[fact]!r} of {second}")
