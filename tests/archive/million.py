"""How fast a large archive is; for people, not for every test run.

python -m tests.archive.million FILE [LETTERS]    fills FILE where it is missing, then searches
"""

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from itertools import islice
from pathlib import Path
from statistics import median

from notify.deadletter import DeadLetter
from notify.outcomes import Reason
from notify.store import Filter, Store
from tests.archive.letters import ATTEMPT, NOW, dead

RARE = (Reason.POISON, Reason.CONFLICT, Reason.UNROUTABLE)
OFTEN = (Reason.RECIPIENT_REFUSED, Reason.RETRIES_EXHAUSTED, Reason.REFUSED)
FIRST = NOW - timedelta(days=100)


def letters(number: int) -> Iterator[DeadLetter]:
    chance = random.Random(7)
    for n in range(number):
        reason = chance.choice(RARE if n % 1000 == 0 else OFTEN)
        code = str(chance.choice((550, 451, 21211, 30003)))
        labels = {"team": f"team-{n % 9}", "customer": f"c-{n % 20_000}"}
        yield dead(
            f"file-{n // 10_000:08x}:{n % 10_000}" if n % 3 else f"n-{n}",
            reason=reason,
            channel=chance.choice(("sms", "sms", "email")),
            recipient=f"+4917{n % 300_000:07}",
            attempts=(ATTEMPT | {"provider": f"gateway-{n % 4}", "code": code},) * 3,
            labels=labels,
            dead_at=FIRST + timedelta(days=100) * n / number,
        )


def fill(store: Store, number: int) -> None:
    begun = time.perf_counter()
    for some in batched_lists(letters(number), 500):
        store.add(some)
    seconds = time.perf_counter() - begun
    say(f"{number} letters in {seconds:.0f} s, {number / seconds:.0f}/s")


def batched_lists(items: Iterator[DeadLetter], size: int) -> Iterator[list[DeadLetter]]:
    while some := list(islice(items, size)):
        yield some


def searches(number: int) -> dict[str, Filter]:
    day = timedelta(days=1)
    middle = FIRST + 50 * day
    return {
        "newest": Filter(),
        "id": Filter(id="n-600000"),
        "id, channel, reason, time": Filter(
            id="n-600000", channel="sms", reason="refused", since=FIRST, until=NOW
        ),
        "channel": Filter(channel="email"),
        "reason": Filter(reason="refused"),
        "rare reason": Filter(reason="poison"),
        "channel, reason": Filter(channel="email", reason="refused"),
        "channel, reason, a day": Filter(
            channel="email", reason="refused", since=middle, until=middle + day
        ),
        "time": Filter(since=middle, until=middle + day),
        "recipient": Filter(recipient="+49170123456"),
        "label": Filter(label=("customer", "c-77")),
        "label of many": Filter(label=("team", "team-3")),
        "label of many, rare reason": Filter(label=("team", "team-3"), reason="poison"),
        "batch": Filter(batch="file-00000032"),
        "batch, reason": Filter(batch="file-00000032", reason="refused"),
        "provider, code": Filter(provider="gateway-1", code="550"),
        "open": Filter(state="open"),
        "oldest": Filter(oldest=True),
        "after": Filter(after=number // 2, channel="sms"),
        "page 100": Filter(channel="sms", offset=5000),
        "text that is nowhere": Filter(text="no such text"),
        "text in a day": Filter(text="привет", since=middle, until=middle + day),
    }


def measure(what: str, work: Callable[[], object]) -> None:
    taken = []
    for _ in range(5):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    say(f"{what:45} {median(taken) * 1000:8.1f} ms, slowest {max(taken) * 1000:8.1f} ms")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(path: Path, number: int) -> None:
    with closing(Store(f"sqlite:///{path}")) as store:
        begun = time.perf_counter()
        store.create()
        say(f"created or migrated in {time.perf_counter() - begun:.1f} s")
        if not store.find(Filter(limit=1)):
            fill(store, number)
        for what, wanted in searches(number).items():
            measure(f"list {what}", lambda wanted=wanted: store.find(wanted))  # type: ignore[misc]
            measure("  and count", lambda wanted=wanted: store.count(wanted, 10_000))  # type: ignore[misc]
        for field in ("reason", "provider", "code", "batch", "label.team", "day"):
            measure(f"count by {field}", lambda field=field: store.counts_by(field, Filter()))  # type: ignore[misc]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
