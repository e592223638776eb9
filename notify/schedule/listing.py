"""Some of the schedules, page by page, and never all at once."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from notify.errors import NotFound
from notify.schedule.book import BY_NAME, SOONEST
from notify.schedule.spec import ONCE
from notify.schedule.stored import ASLEEP, QUARANTINED, Stored
from notify.schedule.truth import Truth
from notify.store.schedulerows import Wanted
from notify.store.schedules import LAST, Schedules


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """Which schedules are meant, and in which order; None and "" do not matter.

    ``once`` True: those that ``send --at`` made; False: all others.
    """

    prefix: str = ""
    state: str | None = None
    origin: str | None = None
    channel: str | None = None
    once: bool | None = None
    order: str = SOONEST

    def means(self, stored: Stored) -> bool:
        spec = stored.spec
        if self.state is not None and stored.state != self.state:
            return False
        if not stored.name.startswith(self.prefix):
            return False
        if spec is None:
            return (self.origin, self.channel, self.once) == (None, None, None)
        return (
            self.origin in (None, spec.origin)
            and self.channel in (None, spec.content.get("channel"))
            and self.once in (None, spec.origin == ONCE)
        )


def listed(truth: Truth, wish: Wish, *, after: str, limit: int) -> tuple[list[Stored], str]:
    """Up to ``limit``, and where to go on: "" where there are no more."""
    pages = _pages(truth, wish)
    found: list[Stored] = []
    while len(found) < limit:
        some, after = pages(after, limit - len(found))
        found += [stored for stored in some if wish.means(stored)]
        if not after:
            break
    return found, after


_Pages = Callable[[str, int], tuple[list[Stored], str]]


def _pages(truth: Truth, wish: Wish) -> _Pages:
    if wish.state == QUARANTINED:
        return partial(_set_aside, truth)
    if wish.order == BY_NAME and truth.schedules is not None:
        return partial(_from_database, truth, truth.schedules, wish)
    return partial(_from_redis, truth, wish)


def _set_aside(truth: Truth, after: str, limit: int) -> tuple[list[Stored], str]:
    skip = int(after) if after.isdecimal() else 0
    some = truth.book.quarantine(skip=skip, limit=limit)
    following = str(skip + limit) if len(some) == limit else ""
    return list(_looked_up(truth, [each.name for each in some])), following


def _from_database(
    truth: Truth, schedules: Schedules, wish: Wish, after: str, limit: int
) -> tuple[list[Stored], str]:
    """Its indexes find the few of many; what they are doing, Redis says."""
    paused = None if wish.state is None else wish.state == ASLEEP
    origin = ONCE if wish.once else wish.origin
    wanted = Wanted(prefix=wish.prefix, origin=origin, channel=wish.channel, paused=paused)
    rows = schedules.page(wanted, after=after, limit=limit)
    following = rows[-1].name if len(rows) == limit else ""
    return list(_looked_up(truth, [row.name for row in rows])), following


def _looked_up(truth: Truth, names: Iterable[str]) -> Iterator[Stored]:
    for name in names:
        with suppress(NotFound):
            yield truth.book.get(name)


def _from_redis(truth: Truth, wish: Wish, after: str, limit: int) -> tuple[list[Stored], str]:
    by_name = wish.order == BY_NAME
    if by_name and not after and wish.prefix:
        # Just before the first that may begin so.
        after = wish.prefix[:-1] + chr(ord(wish.prefix[-1]) - 1) + LAST
    page = truth.book.page(order=wish.order, cursor=after, limit=limit)
    beyond = by_name and page.items and page.items[-1].name > wish.prefix + LAST
    return list(page.items), "" if beyond else page.cursor
