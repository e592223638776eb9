"""What a replay would do, counted in little memory; nothing is changed."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from notify.batch.checking import Seen
from notify.batch.estimate import Load, estimate
from notify.notification import Notification
from notify.replay.desk import Desk
from notify.replay.editing import check_content_edits, check_order, edited, told
from notify.replay.examining import Examiner, Verdict
from notify.replay.values import WORDS, Order, Plan, Why
from notify.segments import count
from notify.store import ArchivedLetter, Filter

_PAGE: Final = 500
_OPEN: Final = "open"


def plan_replay(desk: Desk, order: Order) -> Plan:
    """Raises ``UsageError`` for a wrong order, and ``Unavailable``."""
    check_order(order, desk.settings)
    plan = Plan(edits=told(order.edits, None, None))
    examiner = Examiner(desk, order)
    rows = letters_of(desk, order)
    with closing(Seen()) as seen:
        while page := list(islice(rows, _PAGE)):
            check_content_edits(order, plan.matching + len(page))
            waiting = desk.replays.waiting_in(row.seq for row in page)
            for verdict in examiner.examine(page):
                runs = waiting.get(verdict.row.seq, [])
                plan.others.update(runs)
                _add(plan, verdict, seen, named=isinstance(order.wanted, tuple))
    if order.edits.content and plan.matching:
        plan.edits = changes_of(desk, order)
    plan.seconds = _seconds(desk, order, plan)
    return plan


def meant(order: Order) -> Filter | tuple[int, ...]:
    """The letters of an order: open ones, unless it says otherwise."""
    wanted = order.wanted
    if isinstance(wanted, Filter) and wanted.state is None and wanted.id is None:
        return replace(wanted, state=_OPEN)
    return wanted


def letters_of(desk: Desk, order: Order) -> Iterator[ArchivedLetter]:
    """The oldest first, a page at a time."""
    wanted = meant(order)
    if isinstance(wanted, Filter):
        found: Iterable[ArchivedLetter] = desk.store.stream(replace(wanted, oldest=True))
    else:
        found = desk.replays.archived(wanted).values()
    return islice(iter(found), order.at_most)


def changes_of(desk: Desk, order: Order) -> dict[str, object]:
    """The changes of the one letter whose content is changed, for people.

    Raises ``UsageError`` where there are several, and ``InvalidNotification``.
    """
    found = list(islice(letters_of(desk, order), 2))
    check_content_edits(order, len(found))
    if not found or found[0].letter.notification is None or not order.edits.content:
        return told(order.edits, None, None)
    before = Notification.from_dict(found[0].letter.notification)
    after = edited(before, order.edits, desk.settings, datetime.now(UTC))
    return told(order.edits, before, after)


def _add(plan: Plan, verdict: Verdict, seen: Seen, *, named: bool) -> None:
    letter = verdict.row.letter
    why, note = verdict.why, verdict.note
    if why is None and seen.before(f"id {letter.id}"):
        why, note = Why.SAME_ID, WORDS[Why.SAME_ID]
    plan.matching += 1
    if named:
        plan.verdicts[verdict.row.seq] = (letter.id or "", why, note)
    if why is not None:
        plan.left_out[why] += 1
        return
    plan.ready += 1
    plan.reasons[letter.reason] += 1
    plan.channels[letter.channel or ""] += 1
    plan.doubtful += verdict.facts.doubtful or verdict.facts.forgotten
    before = (letter.notification or {}).get("expires_at")
    new = verdict.notification.expires_at
    plan.renewed += new is not None and before != new.isoformat()
    _weigh(plan.loads.setdefault(letter.channel or "", Load()), verdict.notification)


def _weigh(load: Load, notification: Notification) -> None:
    load.messages += 1
    if notification.channel == "sms":
        load.segments += count(notification.body or "").segments
        load.bytes += len(notification.body or "")
    else:
        load.bytes += notification.size


def _seconds(desk: Desk, order: Order, plan: Plan) -> float | None:
    paced = plan.ready / order.rate if order.rate else None
    limits = estimate(plan.loads, desk.settings).values()
    return max((time for time in (paced, *limits) if time is not None), default=None)
