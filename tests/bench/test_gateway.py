"""The gateway counts, and tells one kind of request from another; so does the mail server."""

import smtplib
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
import requests

from benching.gateway import FAIL, FAST, SLOW, Gateway, Watch
from benching.mailsink import MailSink
from benching.values import Facts, Unlike
from benching.work import PROBE
from notify.local.ports import choose
from tests.waiting import eventually


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(tmp_path / "gateway", choose(["gateway"])["gateway"]) as started:
        yield started


def post(gateway: Gateway, id: str, text: str = "Hello", kind: str = FAST) -> int:
    headers = {"Idempotency-Key": id, "Content-Type": "application/json"}
    url = f"{gateway.url(kind)}/sms"
    return requests.post(url, data=text, headers=headers, timeout=5).status_code


def facts(watch: Watch, ids: str, times: int = 1) -> Facts:
    count = len(ids) * times
    eventually(lambda: watch.count() >= count, f"{count} hits in the log")
    return watch.facts(iter(ids), times)


@pytest.mark.parametrize(("kind", "status"), [(FAST, 200), (SLOW, 200), (FAIL, 503)])
def test_it_answers_and_counts(gateway: Gateway, kind: str, status: int) -> None:
    watch = gateway.begin()
    assert [post(gateway, id, kind=kind) for id in "ab"] == [status, status]
    found = facts(watch, "ab")
    assert found["count"] == 2
    assert str(found["request"]).startswith(f"POST {status} ")


def test_what_came_before_is_not_counted(gateway: Gateway) -> None:
    first = gateway.begin()
    post(gateway, "a")
    before = facts(first, "a")
    second = gateway.begin()
    post(gateway, "a")
    assert facts(second, "a") == before


def test_the_same_id_twice_is_refused(gateway: Gateway) -> None:
    watch = gateway.begin()
    for id in ("a", "b", "a"):
        post(gateway, id)
    eventually(lambda: watch.count() == 3, "3 hits in the log")
    with pytest.raises(Unlike, match="at the gateway: 1 of 2 not 1 times, such as a"):
        watch.facts(iter("ab"))


def test_requests_of_different_sizes_are_refused(gateway: Gateway) -> None:
    watch = gateway.begin()
    post(gateway, "a", "Hello")
    post(gateway, "b", "Hello!")
    with pytest.raises(Unlike, match="requests of 2 shapes"):
        facts(watch, "ab")


def test_bytes_of_the_probes_are_compared(gateway: Gateway) -> None:
    """Not those of the measured ones, whose sizes do."""
    found = []
    for text in ("Hello", "Hello", "World"):
        watch = gateway.begin()
        post(gateway, f"{PROBE}1", text)
        post(gateway, "a")
        found.append(facts(watch, "a")["payload"])
    assert found[0] == found[1] != found[2]


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[MailSink]:
    # Root's mail server becomes another user, who must get to its file.
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o711)
    with MailSink(tmp_path / "mail", choose(["mail"])["mail"]) as started:
        yield started


def test_letters_are_counted_with_their_ids_and_sizes(sink: MailSink) -> None:
    def send(number: int) -> None:
        letter = EmailMessage()
        letter["Message-ID"] = f"<letter-{number}@example.com>"
        letter.set_content("A line.\n" * number)
        with smtplib.SMTP("127.0.0.1", sink.port, timeout=5) as client:
            client.send_message(letter, "a@example.com", ["b@example.com"])

    before = sink.begin()
    send(9)
    eventually(lambda: before.count() == 1, "a letter")
    before.settle()
    post = sink.begin()
    for number in (1, 2, 3):
        send(number)
    eventually(lambda: post.count() == 3, "3 letters")
    post.settle()
    letters = list(post.letters())
    assert [id for id, _ in letters] == [f"letter-{number}@example.com" for number in (1, 2, 3)]
    sizes = [size for _, size in letters]
    assert [larger - sizes[0] for larger in sizes] == [0, 8, 16]
    assert post.pace() > 0
