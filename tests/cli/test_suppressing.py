"""``notify suppression`` and ``notify endpoint`` on a real Redis."""

import json
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from notify.local import Servers
from notify.suppressions import Suppressions
from tests.cli.conftest import Ran

pytestmark = pytest.mark.redis

PHONE = "+491701234567"
HOOK = "https://example.com/hook/token-271828"


@pytest.fixture
def stored(
    servers: Servers, offline: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Suppressions]:
    """What the commands see; with ``offline``, which has no other server."""
    prefix = f"t{uuid4().hex[:8]}"
    monkeypatch.setenv("NOTIFY_REDIS_URL", servers.redis_url)
    monkeypatch.setenv("NOTIFY_REDIS_PREFIX", prefix)
    suppressions = Suppressions(servers.redis_url, prefix=prefix)
    yield suppressions
    suppressions.close()


def test_an_opt_out_is_shown_masked_and_removed_by_hand(
    offline: Callable[..., Ran], stored: Suppressions
) -> None:
    stored.add("sms", PHONE, reason="recipient_refused", source="texts", by="HTTP 400, rule 3")
    listed = offline("suppression", "list")
    assert listed.code == 0
    assert "recipient_refused" in listed.out
    assert "HTTP 400, rule 3" in listed.out
    assert listed.out.endswith("1 of 1\n")
    assert PHONE not in listed.out
    assert PHONE in offline("suppression", "list", "--reveal").out
    (row,) = json.loads(offline("suppression", "list", "--json").out)["suppressions"]
    assert (row["channel"], row["recipient"]) == ("sms", "+49***67")
    removed = offline("suppression", "remove", "sms", PHONE)
    assert (removed.code, removed.out) == (0, "sms +49***67: no longer suppressed\n")
    assert stored.get("sms", PHONE) is None
    again = offline("suppression", "remove", "sms", PHONE)
    assert (again.code, again.err) == (1, "notify: sms +49***67 is not suppressed\n")


def test_adding_by_hand(offline: Callable[..., Ran], stored: Suppressions) -> None:
    added = offline("suppression", "add", "email", "Ada@Example.com", "--by", "Bob: by phone")
    assert (added.code, added.out) == (0, "email A***@Example.com: suppressed\n")
    found = stored.get("email", "ada@example.com")
    assert found is not None
    assert (found.reason, found.source, found.by) == ("requested", "operator", "Bob: by phone")
    again = offline("suppression", "add", "email", "ada@example.com")
    assert (again.code, again.out) == (0, "email a***@example.com: was suppressed before\n")
    assert json.loads(offline("suppression", "list", "--channel", "sms", "--json").out) == {
        "total": 0,
        "suppressions": [],
    }


def test_a_number_is_read_as_a_notification_s_is(
    offline: Callable[..., Ran], stored: Suppressions
) -> None:
    # With the zero of calls within the country it would stand for nobody that is sent to.
    for written in ("+4901701234567", "+49 170 123 45 67"):
        assert offline("suppression", "add", "sms", written).code == 0
        assert stored.get("sms", PHONE) is not None
        assert offline("suppression", "remove", "sms", written).code == 0
        assert stored.get("sms", PHONE) is None
    # What is on the list can be taken off it, whatever the numbering plans say of it today.
    stored.add("sms", "+5215517329563", reason="requested", source="operator")
    assert offline("suppression", "remove", "sms", "+5215517329563").code == 0


def test_what_is_listed_is_text_and_no_markup(
    offline: Callable[..., Ran], stored: Suppressions
) -> None:
    hook = "https://[2001:db8::1]/hook"
    stored.add("webhook", hook, reason="x", source="operator", by="[/b] [ops] :smile:")
    stored.note("webhook", "https://[fd00::1]/a", ok=False, give_up_after=86400)
    for listed in (offline("suppression", "list"), offline("endpoint", "list")):
        assert listed.code == 0
        assert "https://[2001:db8::1]/***" in listed.out
        assert "[/b] [ops] :smile:" in listed.out
    assert "https://[fd00::1]/***" in listed.out


def test_lists_have_an_end(offline: Callable[..., Ran], stored: Suppressions) -> None:
    for n in range(4):
        stored.add("sms", f"{PHONE[:-1]}{n}", reason="requested", source="operator")
    stored.add("email", "ada@example.com", reason="requested", source="operator")
    listed = offline("suppression", "list", "--limit", "2", "--reveal")
    assert listed.out.endswith("2 of 5\n")
    assert "ada@example.com" in listed.out
    assert f"{PHONE[:-1]}3" in listed.out


def test_endpoints_are_disabled_and_enabled(
    offline: Callable[..., Ran], stored: Suppressions
) -> None:
    stored.note("webhook", "https://example.org/", ok=False, give_up_after=86400)
    disabled = offline("endpoint", "disable", HOOK, "--by", "Bob")
    assert (disabled.code, disabled.out) == (0, "https://example.com/***: disabled\n")
    assert offline("endpoint", "disable", HOOK).out.endswith(": was disabled before\n")
    table = offline("endpoint", "list")
    assert "disabled" in table.out
    assert "failing" in table.out
    assert "token-271828" not in table.out
    assert HOOK in offline("endpoint", "list", "--reveal").out
    first, second = json.loads(offline("endpoint", "list", "--json").out)["endpoints"]
    assert (first["state"], first["recipient"]) == ("disabled", "https://example.com/***")
    assert (second["state"], second["failures"]) == ("failing", 1)
    # It is the same list.
    assert offline("suppression", "list", "--channel", "webhook").out.endswith("1 of 1\n")
    assert offline("endpoint", "enable", HOOK).out == "https://example.com/***: enabled\n"
    again = offline("endpoint", "enable", HOOK)
    assert (again.code, again.err) == (1, "notify: https://example.com/*** is not disabled\n")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("suppression", "add", "sms", "0170123"), "recipient: must be a phone number"),
        (("suppression", "add", "fax", PHONE), "'fax' is not one of"),
        (("suppression", "add", "sms", PHONE, "--reason", "x" * 33), "reason: must be printable"),
        (("suppression", "add", "sms", PHONE, "--by", "a\nb"), "by: must be printable"),
        (("suppression", "list", "--limit", "0"), "0 is not in the range"),
        (("endpoint", "disable", "example.com"), "recipient: must be a URL"),
    ],
)
def test_wrong_input(
    offline: Callable[..., Ran], stored: Suppressions, arguments: tuple[str, ...], named: str
) -> None:
    ran = offline(*arguments)
    assert ran.code == 2
    assert named in ran.err
    assert stored.count("sms") == stored.count("webhook") == 0


@pytest.mark.parametrize("arguments", [("suppression", "list"), ("endpoint", "enable", HOOK)])
def test_without_redis(offline: Callable[..., Ran], arguments: tuple[str, ...]) -> None:
    ran = offline(*arguments)
    assert (ran.code, ran.err) == (4, "notify: Redis: ConnectionError\n")
