"""One notification at an instant: from Python and from the shell."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from notify import Notification, Schedules
from notify.attachments import Attachment
from notify.config import Settings
from notify.errors import (
    InvalidInput,
    InvalidNotification,
    LedgerUnavailable,
    NotFound,
    StoreUnavailable,
)
from notify.schedule.durability import NO, SOON, YES, until_durable
from notify.schedule.spec import notification
from tests.cli.conftest import Ran
from tests.schedule_life.rig import PHONE, Rig

pytestmark = pytest.mark.redis

TEMPLATES = Path(__file__).parents[2] / "config" / "templates"
SOON_AT = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)


@pytest.fixture
def python(settings: Settings) -> Iterator[Schedules]:
    with Schedules(settings, actor="shop") as opened:
        yield opened


def sms(**values: Any) -> Notification:
    return Notification(**{"channel": "sms", "recipient": PHONE, "body": "Today!"} | values)


def test_it_is_stored_as_its_caller_knows_it(python: Schedules, rig: Rig) -> None:
    once = python.send_at(sms(id="Order:7", labels={"shop": "a"}, priority="urgent"), SOON_AT)
    assert (once.id, once.at, once.state, once.on_disk) == ("Order:7", SOON_AT, "scheduled", True)
    stored = rig.book.get("Order:7")
    assert stored.spec is not None
    assert stored.next_at == SOON_AT
    made = notification(stored.spec, SOON_AT, SOON_AT)
    assert (made.id, made.body, made.priority) == ("Order:7", "Today!", "urgent")
    assert made.labels["shop"] == "a"
    assert made.digest == sms().digest
    row = rig.truth.row("Order:7")
    assert row is not None
    assert (row.origin, row.kind, row.created_by) == ("once", "at", "shop")


def test_the_same_again_is_the_same_answer(python: Schedules, rig: Rig) -> None:
    first = python.send_at(sms(id="a"), SOON_AT)
    assert python.send_at(sms(id="a"), SOON_AT.astimezone(ZoneInfo("Asia/Tokyo"))) == first
    for other in (sms(id="a", body="Other"), sms(id="a", recipient="+491701234568")):
        with pytest.raises(InvalidInput, match="id: is in use, for another time or with other"):
            python.send_at(other, SOON_AT)
    with pytest.raises(InvalidInput, match="id: is in use"):
        python.send_at(sms(id="a"), SOON_AT + timedelta(seconds=1))
    assert rig.book.count().stored == 1


def test_asked_for_again_when_it_is_over(python: Schedules, rig: Rig, monkeypatch: Any) -> None:
    at = datetime.now(UTC) + timedelta(seconds=2)
    python.send_at(sms(id="a"), at)
    rig.fired("a", at, ref="a")
    rig.book.remove("a")

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return at + timedelta(hours=1)

    with monkeypatch.context() as patch:
        patch.setattr("notify.schedule.once.datetime", Later)
        assert python.send_at(sms(id="a"), at).state == "fired"
        with pytest.raises(InvalidInput, match="at: is in the past"):
            python.send_at(sms(id="a", body="Other"), at)
    assert rig.names() == []


def test_cancelled(python: Schedules, rig: Rig) -> None:
    python.send_at(sms(id="a"), SOON_AT)
    python.cancel("a")
    assert rig.names() == []
    row = rig.truth.row("a")
    assert row is not None
    assert (row.spec, row.changed_by) == ({}, "shop")
    with pytest.raises(NotFound, match="a: was cancelled"):
        python.cancel("a")
    with pytest.raises(InvalidInput, match="id: was cancelled; take another one"):
        python.send_at(sms(id="a"), SOON_AT)
    with pytest.raises(NotFound, match="there is no schedule 'b'"):
        python.cancel("b")
    python.add("c", {"every": "1h", "channel": "sms", "recipient": PHONE, "body": "x"})
    with pytest.raises(NotFound, match="c: is no notification that is sent at an instant"):
        python.cancel("c")
    with pytest.raises(InvalidInput, match="id: is in use"):
        python.send_at(sms(id="c"), SOON_AT)


@pytest.mark.parametrize(
    ("given", "at", "named"),
    [
        ({}, datetime(2027, 1, 1, 9), "at: has no UTC offset"),  # noqa: DTZ001
        ({}, datetime(2020, 1, 1, 9, tzinfo=UTC), "at: is in the past"),
        ({}, datetime.now(UTC) + timedelta(days=6 * 366), "at: is more than five years ahead"),
        ({"labels": {"planned": "x"}}, SOON_AT, "labels: planned is set by the firing itself"),
        ({"body": "x" * 5000}, SOON_AT, "body: needs 33 segments"),
        ({"expires_at": SOON_AT}, SOON_AT, "expires_at: is before the instant"),
        (
            {"expires_at": SOON_AT},
            datetime(2027, 1, 1, 9),  # noqa: DTZ001
            "at: must have a UTC offset",
        ),
    ],
)
def test_what_is_refused(
    python: Schedules, rig: Rig, given: Mapping[str, Any], at: datetime, named: str
) -> None:
    with pytest.raises((InvalidInput, InvalidNotification), match=named):
        python.send_at(sms(**given), at)
    assert rig.names() == []


def test_attachments_are_refused(python: Schedules) -> None:
    file = Attachment(folder="f", file="a.pdf", sha256="0" * 64, size=1, type="application/pdf")
    mail = Notification(
        channel="email",
        recipient="a@example.com",
        subject="x",
        body="x",
        attachments=(file,),
    )
    with pytest.raises(InvalidNotification, match="attachments: cannot be sent at an instant"):
        python.send_at(mail, SOON_AT)


def test_it_expires_when_it_would_have(python: Schedules, rig: Rig) -> None:
    python.send_at(sms(id="a", expires_at=SOON_AT + timedelta(minutes=5)), SOON_AT)
    stored = rig.book.get("a").spec
    assert stored is not None
    assert stored.expires_at(SOON_AT) == SOON_AT + timedelta(minutes=5)


def test_python_does_what_the_shell_does(python: Schedules, rig: Rig) -> None:
    python.add("a", {"every": "1h", "channel": "sms", "recipient": PHONE, "body": "x"})
    python.pause("a")
    assert rig.book.get("a").state == "paused"
    python.resume("a")
    assert rig.book.get("a").state == "active"
    python.remove("a")
    assert rig.names() == []
    with pytest.raises(InvalidInput, match="cron: "):
        python.add("a", {"cron": "x", "channel": "sms", "recipient": PHONE, "body": "x"})


def test_from_the_shell(shell: Callable[..., Ran], rig: Rig, tmp_path: Path) -> None:
    shutil.copytree(TEMPLATES, tmp_path / "config" / "templates")
    line = f"send sms {PHONE} --body Today! --at 2027-03-01T09:00 --zone Europe/Berlin --id Order:7"
    for _ in range(2):
        ran = shell(line)
        assert (ran.code, ran.out) == (0, "Order:7\n")
        assert ran.err == "to be sent 2027-03-01 08:00:00 UTC\n"
    assert shell(f"{line} --label x=y").code == 2
    listed = json.loads(shell("schedule list --once --json").out)["schedules"]
    assert [(row["name"], row["origin"]) for row in listed] == [("Order:7", "once")]
    made = json.loads(
        shell(
            f"send sms {PHONE} --template code --var code=1 --at 2027-03-01T09:00Z"
            " --expires-at 2027-03-01T09:05Z --json"
        ).out
    )
    assert made["state"] == "scheduled"
    stored = rig.book.get(made["id"]).spec
    assert stored is not None
    assert stored.content["template"] == "code"
    assert stored.content["expires_after"] == 300
    cancelled = shell("send --cancel Order:7")
    assert (cancelled.code, cancelled.out) == (0, "Order:7: cancelled\n")
    assert shell("send --cancel Order:7").err == "notify: Order:7: was cancelled\n"


def test_the_database_is_enough(python: Schedules, rig: Rig, monkeypatch: Any) -> None:
    """Redis went away in between: asked again without an id of one's own, it were sent twice."""

    def away(*_: object, **__: object) -> None:
        raise LedgerUnavailable("Redis: ConnectionError")

    truth = python._truth
    with monkeypatch.context() as patch:
        patch.setattr(truth.book.shelf, "put", away)
        patch.setattr(truth.book.shelf, "put_many", away)
        assert python.send_at(sms(id="a"), SOON_AT).state == "scheduled"
    assert rig.names() == []
    assert rig.look() == {"missing": 1}
    assert rig.book.get("a").next_at == SOON_AT


def test_without_a_database_redis_must_keep_it(
    settings: Settings, rig: Rig, monkeypatch: Any
) -> None:
    alone = settings.schedules.model_copy(update={"truth": "redis"})
    with Schedules(settings.model_copy(update={"schedules": alone})) as schedules:
        assert schedules.send_at(sms(id="a"), SOON_AT).on_disk
        assert schedules.send_at(sms(id="a"), SOON_AT).state == "scheduled"
        with pytest.raises(InvalidInput, match="id: is in use"):
            schedules.send_at(sms(id="a", body="Other"), SOON_AT)
        monkeypatch.setattr("notify.schedule.once.appends", lambda _: False)
        with pytest.raises(StoreUnavailable, match="Redis has no append-only file"):
            schedules.send_at(sms(id="b"), SOON_AT)
    assert rig.names() == ["a"]


class Server:
    """Answers what is asked of Redis about its disk."""

    def __init__(self, version: str, appends: str, flushed: int = 1) -> None:
        self._version = version
        self._appends = appends
        self._flushed = flushed
        self.asked: list[tuple[Any, ...]] = []

    def info(self, _: str) -> dict[str, str]:
        return {"redis_version": self._version}

    def config_get(self, _: str) -> dict[str, str]:
        return {"appendonly": self._appends}

    def pipeline(self, *, transaction: bool) -> Any:
        return closing(self)

    def set(self, *_: Any, **__: Any) -> None: ...

    def execute_command(self, *words: Any) -> None:
        self.asked.append(words)

    def execute(self) -> list[Any]:
        return [True, [self._flushed, 0]]

    def close(self) -> None: ...


def test_redis_that_can_be_waited_for() -> None:
    server = Server("7.2.4", "yes")
    assert until_durable(server, "k", timeout=2) == YES
    assert server.asked == [("WAITAOF", 1, 0, 1000)]
    with pytest.raises(LedgerUnavailable, match="did not reach its disk in time"):
        until_durable(Server("8.0.1", "yes", flushed=0), "k", timeout=2)


def test_redis_that_cannot(rig: Rig) -> None:
    assert until_durable(Server("7.0.15", "yes"), "k", timeout=2) == SOON
    assert until_durable(Server("7.4.0", "no"), "k", timeout=2) == NO
    answer = until_durable(rig.raw, f"{rig.settings.redis.prefix}:x", timeout=2)
    assert answer in (YES, SOON)
