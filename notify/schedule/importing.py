"""What files and the stored schedules differ in, and making these what the files say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from notify.errors import InvalidInput
from notify.schedule.book import BY_NAME
from notify.schedule.files import Filed
from notify.schedule.spec import FILE, ONCE, Change, ScheduleSpec, diff
from notify.schedule.truth import Truth
from notify.store.schedulerows import Wanted

_SOME: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Differing:
    """A schedule that is stored otherwise than its file has it; ``spec`` is what is to be."""

    spec: ScheduleSpec
    source: str
    changes: tuple[Change, ...]


@dataclass(kw_only=True, slots=True)
class Differences:
    """``over`` are those that have nothing more to fire: they are left as they are."""

    added: list[Filed] = field(default_factory=list)
    changed: list[Differing] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    same: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def compare(
    truth: Truth, filed: Sequence[Filed], *, whole: bool, reveal: bool = False
) -> Differences:
    """With ``whole`` the files are all there are: what was stored from one before is removed."""
    found = Differences()
    for start in range(0, len(filed), _SOME):
        some = filed[start : start + _SOME]
        stored = truth.many([each.name for each in some])
        for each in some:
            _sort(found, each, stored.get(each.name), reveal)
    if whole:
        names = {each.name for each in filed}
        found.removed = [name for name in filed_names(truth) if name not in names]
    return found


def apply(truth: Truth, differences: Differences, actor: str) -> None:
    """All of it; stopped in the middle, the next import does the rest."""
    items = [(each.spec, each.source) for each in differences.added]
    items += [(each.spec, each.source) for each in differences.changed]
    for start in range(0, len(items), _SOME):
        truth.put(items[start : start + _SOME], actor)
    for name in differences.removed:
        truth.remove(name, actor)


def filed_names(truth: Truth) -> Iterator[str]:
    """The schedules that are stored from files."""
    if truth.schedules is not None:
        yield from (row.name for row in truth.schedules.stream(Wanted(origin=FILE)))
        return
    cursor = ""
    while True:
        page = truth.book.page(order=BY_NAME, cursor=cursor, limit=_SOME)
        yield from (each.name for each in page.items if each.spec and each.spec.origin == FILE)
        cursor = page.cursor
        if not cursor:
            return


def _sort(found: Differences, filed: Filed, old: ScheduleSpec | None, reveal: bool) -> None:
    if old is None:
        (found.over.append(filed.name) if filed.over else found.added.append(filed))
        return
    if old.origin == ONCE != filed.spec.origin:
        raise InvalidInput(
            f"{filed.name}: is the id of a notification that waits; take another name"
        )
    new = filed.spec if filed.rests else filed.spec.evolve(paused=old.paused)
    changes = diff(old, new, reveal=reveal)
    if not changes:
        found.same += 1
    elif filed.over:
        found.over.append(filed.name)
    else:
        found.changed.append(Differing(spec=new, source=filed.source, changes=tuple(changes)))
