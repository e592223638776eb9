"""Who is suppressed, since when and why, until it is removed."""

import threading

import pytest
import redis

from notify.errors import InvalidInput, LedgerUnavailable
from notify.local import Servers
from notify.suppressions import Suppression, Suppressions
from notify.suppressions.recipients import digest
from tests.suppressions.values import DAY, HOOK, MAIL, PHONE, Clock

pytestmark = pytest.mark.redis


def add(suppressions: Suppressions, recipient: str = PHONE, channel: str = "sms") -> None:
    suppressions.add(channel, recipient, reason="recipient_refused", source="texts")


def test_a_suppression_lasts_until_it_is_removed(
    suppressions: Suppressions, clock: Clock, raw: redis.Redis, prefix: str
) -> None:
    assert suppressions.get("sms", PHONE) is None
    added = suppressions.add(
        "sms", PHONE, reason="recipient_refused", source="texts", by="HTTP 400, rule 3"
    )
    assert added == Suppression(
        channel="sms",
        recipient=PHONE,
        digest=digest("sms", PHONE),
        reason="recipient_refused",
        source="texts",
        by="HTTP 400, rule 3",
        since=clock.instant,
    )
    assert suppressions.get("sms", PHONE) == added
    assert suppressions.get("email", PHONE) is None
    for key in raw.scan_iter(f"{prefix}:*"):
        assert raw.ttl(key) == -1
        assert PHONE not in key
    assert suppressions.remove("sms", PHONE)
    assert suppressions.get("sms", PHONE) is None
    assert not suppressions.remove("sms", PHONE)
    assert list(raw.scan_iter(f"{prefix}:*")) == []


def test_the_first_reason_stays(suppressions: Suppressions, clock: Clock) -> None:
    add(suppressions)
    first = suppressions.get("sms", PHONE)
    clock.pass_(DAY)
    assert suppressions.add("sms", PHONE, reason="requested", source="operator") is None
    assert suppressions.get("sms", PHONE) == first


def test_another_spelling_is_the_same_recipient(suppressions: Suppressions) -> None:
    add(suppressions, "Ada@EXAMPLE.com", "email")
    found = suppressions.get("email", MAIL)
    assert found is not None
    assert found.recipient == "Ada@EXAMPLE.com"
    assert suppressions.remove("email", "ADA@example.com")


def test_lists_are_newest_first_and_by_channel(suppressions: Suppressions, clock: Clock) -> None:
    for n in range(5):
        add(suppressions, f"+49170000000{n}")
        clock.pass_(1)
    add(suppressions, MAIL, "email")
    assert [each.recipient[-1] for each in suppressions.page("sms")] == list("43210")
    assert [each.recipient[-1] for each in suppressions.page("sms", limit=2, offset=1)] == [
        "3",
        "2",
    ]
    assert suppressions.page("webhook") == []
    assert [suppressions.count(name) for name in ("sms", "email", "webhook")] == [5, 1, 0]


def test_somebody_has_to_be_told_until_that_is_done(suppressions: Suppressions) -> None:
    suppressions.add("webhook", HOOK, reason="endpoint_gone", source="hooks", unreported=True)
    for unreported in (True, False):
        found = suppressions.get("webhook", HOOK)
        assert found is not None
        assert found.unreported is unreported
        suppressions.reported("webhook", HOOK)
    suppressions.remove("webhook", HOOK)
    suppressions.reported("webhook", HOOK)
    assert suppressions.get("webhook", HOOK) is None


@pytest.mark.parametrize(
    "words",
    [
        {"reason": "x" * 33, "source": "operator"},
        {"reason": "a\nb", "source": "operator"},
        {"reason": "a", "source": "\x1b"},
        {"reason": "a", "source": "operator", "by": "x" * 65},
    ],
)
def test_words_that_cannot_be_shown(suppressions: Suppressions, words: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="must be printable, and at most"):
        suppressions.add("sms", PHONE, **words)  # type: ignore[arg-type]
    assert suppressions.get("sms", PHONE) is None


def test_of_twenty_that_add_one_does(suppressions: Suppressions) -> None:
    barrier, added = threading.Barrier(20), []

    def work() -> None:
        barrier.wait()
        added.append(suppressions.add("sms", PHONE, reason="recipient_refused", source="texts"))

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([each for each in added if each is not None]) == 1


def test_redis_tells_the_time(servers: Servers, prefix: str, raw: redis.Redis) -> None:
    suppressions = Suppressions(servers.redis_url, prefix=prefix)
    add(suppressions)
    found = suppressions.get("sms", PHONE)
    assert found is not None
    seconds, micros = raw.time()
    assert 0 <= seconds + micros / 1e6 - found.since.timestamp() < 60
    suppressions.close()


def test_without_redis_it_says_so_and_nothing_else() -> None:
    nowhere = Suppressions("redis://:hunter2@127.0.0.1:1/0", timeout=0.5)
    calls = [
        lambda: nowhere.get("sms", PHONE),
        lambda: nowhere.remove("sms", PHONE),
        lambda: nowhere.page("sms"),
        lambda: nowhere.failing("webhook"),
        lambda: nowhere.note("webhook", HOOK, ok=False, give_up_after=DAY),
        lambda: add(nowhere),
    ]
    for call in calls:
        with pytest.raises(LedgerUnavailable) as raised:
            call()
        assert str(raised.value) == "Redis: ConnectionError"
    nowhere.close()
