"""What an earlier version stored, by RedBeat's own means, is taken over and keeps its ids."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from celery.schedules import crontab, schedule
from redbeat import RedBeatSchedulerEntry
from redbeat.schedules import rrule

from notify.message import TASK
from notify.notification import Notification
from notify.schedule import BY_NAME
from notify.schedule.entries import beat_app
from notify.schedule.shelf import Shelf
from tests.schedule.rig import NOON, PHONE, Rig, at

pytestmark = pytest.mark.redis

HOUR = timedelta(hours=1)


def store(rig: Rig, name: str, kind: Any, **values: Any) -> None:
    """As the last version did: by an entry of RedBeat's, with the notification as text."""
    app = beat_app(rig.settings)
    made = Notification(channel="sms", recipient=PHONE, body=f"Old {name}", labels={"a": "b"})
    kind.app = app
    entry = RedBeatSchedulerEntry(
        name=name,
        task=TASK,
        schedule=kind,
        kwargs={"notification": json.dumps(made.to_dict())},
        options={"describe": "whatever"},
        app=app,
        last_run_at=NOON,
        **values,
    )
    entry.save()


def test_each_kind_is_taken_over_with_its_last_run(rig: Rig) -> None:
    store(rig, "interval", schedule(run_every=90.0))
    store(rig, "cron", crontab(minute="*/5", hour="9-17", day_of_week="mon-fri"))
    store(rig, "once", rrule("SECONDLY", dtstart=NOON + HOUR, count=1))
    store(rig, "off", schedule(run_every=90.0), enabled=False)
    rig.look()
    found = {each.name: each for each in rig.book.page(order=BY_NAME).items}
    assert {name: each.next_at for name, each in found.items()} == {
        "interval": NOON + timedelta(seconds=90),
        "cron": NOON + timedelta(minutes=5),
        "once": NOON + HOUR,
        "off": None,
    }
    assert found["off"].state == "paused"
    assert rig.look(90) == [f"schedule:interval:{at(NOON + timedelta(seconds=90))}"]
    sent = rig.wire.taken[0]
    assert (sent.body, sent.recipient, sent.labels["a"]) == ("Old interval", PHONE, "b")
    assert rig.look(210) == [
        f"schedule:interval:{at(NOON + timedelta(minutes=4, seconds=30))}",
        f"schedule:cron:{at(NOON + timedelta(minutes=5))}",
    ]
    assert f"schedule:once:{at(NOON + HOUR)}" in rig.look(3300)


def test_it_is_done_once_and_again_for_what_an_old_program_adds_later(rig: Rig) -> None:
    store(rig, "first", schedule(run_every=3600.0))
    rig.look()
    assert Shelf(rig.settings).has_form()
    store(rig, "second", schedule(run_every=3600.0))
    assert [each.name for each in rig.book.page().items] == ["first", "second"]
    store(rig, "third", schedule(run_every=3600.0))
    rig.raw.zadd(f"{rig.book.shelf.prefix}:schedule", {rig.key("third"): NOON.timestamp()})
    assert sorted(rig.look(3600)) == sorted(
        f"schedule:{name}:{at(NOON + HOUR)}" for name in ("first", "second", "third")
    )


def test_what_was_due_when_the_version_changed_is_fired(rig: Rig) -> None:
    store(rig, "interval", schedule(run_every=600.0))
    assert rig.look(630) == [f"schedule:interval:{at(NOON + timedelta(seconds=600))}"]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (lambda: rrule("DAILY", dtstart=NOON), "a recurrence rule"),
        (lambda: crontab(minute="0", day_of_month="13", day_of_week="5"), "now mean either"),
    ],
    ids=["rule", "both-days"],
)
def test_what_has_no_equal_is_set_aside_and_says_why(rig: Rig, kind: Any, why: str) -> None:
    store(rig, "old", kind())
    rig.raw.zadd(f"{rig.book.shelf.prefix}:schedule", {rig.key("old"): NOON.timestamp()})
    rig.look()
    (aside,) = rig.book.quarantine()
    assert why in aside.reason


def test_an_interval_of_a_fraction_is_rounded_and_that_is_said(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    store(rig, "fast", schedule(run_every=1.6))
    rig.look()
    spec = rig.book.get("fast").spec
    assert spec is not None
    assert spec.recurrence.every == 2
    assert "interval rounded" in caplog.text


def test_a_whole_second_is_what_ids_had(rig: Rig) -> None:
    store(rig, "interval", schedule(run_every=60.0))
    key = rig.key("interval")
    meta = json.loads(rig.raw.hget(key, "meta"))
    meta["last_run_at"]["microsecond"] = 123456
    rig.raw.hset(key, "meta", json.dumps(meta))
    following = rig.book.get("interval").next_at
    assert isinstance(following, datetime)
    assert following == NOON + timedelta(seconds=60)
