"""The schedules in Redis: what is stored, changed and listed, and what that does to firings."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from notify.config import Settings
from notify.errors import InvalidInput, LedgerUnavailable, NotFound
from notify.schedule import ACTIVE, ASLEEP, BY_NAME, ENDED, Book, Put, parse_spec
from tests.schedule.rig import NOON, PHONE, Rig, at

pytestmark = pytest.mark.redis

HOUR = timedelta(hours=1)


def every(seconds: int, name: str = "tick", body: str = "Hello") -> dict[str, object]:
    return {"every": seconds, "channel": "sms", "recipient": PHONE, "body": body}


def test_it_is_there_until_it_is_removed(rig: Rig) -> None:
    spec = rig.put("hourly", every="1h", zone="Europe/Berlin")
    found = rig.book.get("hourly")
    assert (found.spec, found.state, found.runs, found.last_at) == (spec, ACTIVE, 0, None)
    assert (found.next_at, found.due_at) == (NOON + HOUR, NOON + HOUR)
    assert (found.watermark, found.revision) == (NOON, spec.revision)
    assert rig.book.due(NOON + HOUR, 10) == ("hourly",)
    assert rig.book.due(NOON + HOUR - timedelta(seconds=1), 10) == ()
    rig.book.remove("hourly")
    for gone in (rig.book.get, rig.book.remove, rig.book.pause, rig.book.watermark):
        with pytest.raises(NotFound, match="there is no schedule 'hourly'"):
            gone("hourly")


def test_only_one_of_many_adds_a_name(settings: Settings, rig: Rig) -> None:
    specs = [parse_spec("one", every(60, body=f"By {n}"), now=NOON) for n in range(8)]

    def add(number: int) -> str:
        try:
            rig.book.put(specs[number], now=NOON)
        except InvalidInput as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(add, range(8)))
    assert said.count("") == 1
    assert set(said) == {"", "name: there is a schedule 'one'; remove it first"}
    assert rig.book.get("one").spec == specs[said.index("")]


@pytest.mark.parametrize("name", [":schedule", ":lock", "", "a b", "ä", "a" * 129, "x\n"])
def test_a_name_cannot_be_a_key_of_redbeats(rig: Rig, name: str) -> None:
    spec = parse_spec("fine", every(60), now=NOON)
    with pytest.raises(InvalidInput, match="name: "):
        rig.book.put(spec.evolve(name=name), now=NOON)


def test_what_would_never_fire_is_refused(rig: Rig) -> None:
    spec = parse_spec("late", {**every(60), "every": None, "at": NOON + HOUR}, now=NOON)
    with pytest.raises(InvalidInput, match="nothing would ever be fired"):
        rig.book.put(spec, now=NOON + HOUR)
    rig.book.put(spec, now=NOON + HOUR, watermark=NOON)
    assert rig.book.due(NOON + HOUR, 1) == ("late",)


def test_an_audience_needs_somebody_who_sends_to_it(rig: Rig) -> None:
    values = {"every": 60, "channel": "sms", "file": "people.csv", "body": "Hello"}
    with pytest.raises(InvalidInput, match="audience"):
        rig.book.put(parse_spec("many", values, now=NOON), now=NOON)


def test_it_is_listed_soonest_first_and_by_name_in_pages(rig: Rig) -> None:
    for number in range(7):
        # Three of them in the same second.
        rig.put(f"s{number}", every=3600 if number % 2 else 1800 + 60 * number)
    rig.book.pause("s3")
    rig.put("over", every=60, end=NOON + timedelta(seconds=60))
    rig.look(60)
    assert rig.book.get("over").state == ENDED
    active = [rig.book.get(f"s{n}") for n in (0, 1, 2, 4, 5, 6)]
    by_time = sorted(active, key=lambda each: (str(each.due_at), each.name))
    for order, names in (
        ("soonest", [*(each.name for each in by_time), "s3", "over"]),
        (BY_NAME, ["over", "s0", "s1", "s2", "s3", "s4", "s5", "s6"]),
    ):
        for limit in (1, 2, 3, 8, 100):
            found, cursor, pages = [], "", 0
            while pages == 0 or cursor:
                page = rig.book.page(order=order, cursor=cursor, limit=limit)
                found += [each.name for each in page.items]
                cursor, pages = page.cursor, pages + 1
            assert found == names, (order, limit)
    counts = rig.book.count()
    assert (counts.stored, counts.paused, counts.quarantined) == (8, 2, 0)
    revisions = rig.book.revisions(after="s2", limit=2)
    assert [(each.name, each.state) for each in revisions] == [("s3", ASLEEP), ("s4", ACTIVE)]


def test_another_text_keeps_what_is_due(rig: Rig) -> None:
    spec = rig.put("hourly", every="1h", body="Old")
    new = spec.evolve(content={**spec.content, "body": "New"})
    rig.book.put(new, replace=True, now=NOON + HOUR + timedelta(seconds=5))
    assert rig.look(3605) == [f"schedule:hourly:{at(NOON + HOUR)}"]
    assert rig.wire.taken[-1].body == "New"


def test_other_times_still_owe_what_was_due_before(rig: Rig) -> None:
    rig.put("hourly", every="1h", body="Old")
    rig.now = NOON + HOUR + timedelta(seconds=5)
    rig.put("hourly", replace=True, cron="30 * * * *", body="New")
    owed = rig.book.get("hourly").next_at
    assert owed == NOON + HOUR
    assert rig.look() == [f"schedule:hourly:{at(NOON + HOUR)}"]
    assert rig.wire.taken[-1].body == "New"
    assert rig.book.get("hourly").next_at == NOON + HOUR + HOUR / 2
    assert rig.look(HOUR.seconds / 2 - 5) == [f"schedule:hourly:{at(NOON + HOUR + HOUR / 2)}"]


def test_a_change_fires_nothing_that_was_planned_before_it(rig: Rig) -> None:
    rig.put("daily", cron="0 18 * * *")
    rig.now = NOON + HOUR
    rig.put("daily", replace=True, cron="30 12 * * *")
    assert rig.book.get("daily").next_at == NOON + HOUR / 2 + timedelta(days=1)
    assert rig.look() == []


def test_saving_again_and_again_starves_nothing(rig: Rig) -> None:
    """RedBeat's own way to save an entry pushes the time it is due away."""
    spec = rig.put("tick", every=15)
    fired = []
    for _ in range(12):
        rig.now += timedelta(seconds=5)
        rig.book.put(spec, replace=True, now=rig.now)
        fired += rig.look()
    assert fired == [f"schedule:tick:{at(NOON + n * timedelta(seconds=15))}" for n in range(1, 5)]


def test_what_is_paused_fires_nothing_and_makes_up_for_nothing(rig: Rig) -> None:
    rig.put("hourly", every="1h", misfire="run-all")
    rig.now = NOON + HOUR
    assert rig.book.pause("hourly", now=rig.now).state == ASLEEP
    assert rig.look(7200) == []
    found = rig.book.resume("hourly", now=rig.now)
    assert (found.state, found.next_at) == (ACTIVE, rig.now + HOUR)
    assert rig.book.resume("hourly").watermark == rig.now
    assert rig.look() == []
    assert rig.look(3600) == [f"schedule:hourly:{at(rig.now)}"]


def test_firing_by_hand_moves_the_watermark_and_only_forwards(rig: Rig) -> None:
    rig.put("hourly", every="1h")
    assert rig.book.fired("hourly", NOON + HOUR)
    assert not rig.book.fired("hourly", NOON + HOUR)
    assert not rig.book.fired("hourly", NOON)
    assert rig.book.watermark("hourly") == NOON + HOUR
    assert rig.book.get("hourly").next_at == NOON + 2 * HOUR
    assert rig.look(3600) == []
    rig.put("once", at=rig.now + HOUR)
    assert rig.book.fired("once", rig.now + HOUR)
    with pytest.raises(NotFound):
        rig.book.get("once")


def test_a_name_that_is_used_again_starts_anew(rig: Rig) -> None:
    rig.put("hourly", every="1h")
    rig.look(3600)
    assert rig.book.get("hourly").runs == 1
    rig.book.remove("hourly")
    rig.put("hourly", every="2h")
    found = rig.book.get("hourly")
    assert (found.runs, found.last_at, found.next_at) == (0, None, NOON + 2 * HOUR)


def test_many_are_stored_at_once(rig: Rig) -> None:
    spec = rig.put("kept", every="1h")
    rig.put("s7", every="1h", body="Old")
    puts = [Put(spec=spec.evolve(name=f"s{n}"), paused=n == 3) for n in range(20)]
    bad = Put(spec=spec.evolve(name="not a name"))
    past = Put(spec=parse_spec("past", {**every(60), "every": None, "at": NOON}, now=NOON - HOUR))
    problems = rig.book.put_many([*puts, bad, past], now=NOON + HOUR)
    assert set(problems) == {"not a name", "past"}
    assert "nothing would ever be fired" in problems["past"]
    assert rig.book.count().stored == 21
    assert rig.book.get("s3").state == ASLEEP
    assert rig.book.get("s7").spec == spec.evolve(name="s7")


def test_the_stamp_tells_that_redis_lost_all(rig: Rig) -> None:
    assert rig.book.stamp() == ""
    rig.put("a", every="1h")
    first = rig.book.stamp()
    rig.put("b", every="1h")
    assert rig.book.stamp() == first != ""
    rig.raw.delete(*rig.keys())
    rig.put("a", every="1h")
    assert rig.book.stamp() not in ("", first)


def test_without_redis(settings: Settings) -> None:
    away = settings.redis.model_copy(update={"url": "redis://:hunter2@127.0.0.1:1/0"})
    book = Book(settings.model_copy(update={"redis": away}))
    with pytest.raises(LedgerUnavailable) as caught:
        book.page()
    assert "hunter2" not in str(caught.value)
    book.close()
