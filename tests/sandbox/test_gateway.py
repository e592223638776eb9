import json
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from notify.sandbox import HTTP_CONNECTION, Answer, Sandbox

from .talking import Line, ask, connect, request, send_sms, sms_body

UNICODE = "Größe 你好世界 👩‍👩‍👧 é ​ ends"


def test_an_sms_is_accepted_and_recorded(sandbox: Sandbox) -> None:
    before = time.time()
    reply = send_sms(sandbox.http_url, "+491701", "hello", "n-7")
    assert (reply.status, reply.json()) == (200, {"id": "sms-000001", "status": "accepted"})
    assert reply.headers["content-type"] == "application/json"
    [item] = sandbox.received()
    assert (item.channel, item.recipient, item.id, item.body) == ("sms", "+491701", "n-7", "hello")
    assert (item.accepted, item.answered, item.attempt_no) == (True, "200", 1)
    assert b64decode(item.raw) == sms_body("+491701", "hello", "n-7")
    assert before <= item.at <= time.time()


def test_a_form_is_an_sms_too(sandbox: Sandbox) -> None:
    form = urlencode({"to": "+491701", "text": UNICODE, "id": "n-1"}).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    assert request(sandbox.http_url, "POST", "/sms", form, kind).status == 200
    [item] = sandbox.received("+491701")
    assert (item.body, item.id) == (UNICODE, "n-1")


def test_the_id_of_an_sms_may_be_a_header(sandbox: Sandbox) -> None:
    body = json.dumps({"to": "+491701", "text": "x"}).encode()
    request(sandbox.http_url, "POST", "/sms", body, {"Idempotency-Key": "n-9"})
    assert sandbox.received()[0].id == "n-9"


@pytest.mark.parametrize("body", [UNICODE.encode(), b"\x00\xff\xfe", b""])
def test_a_webhook_is_recorded_as_it_came(sandbox: Sandbox, body: bytes) -> None:
    headers = {"webhook-id": "n-3", "Webhook-Signature": "v1,abc"}
    assert request(sandbox.http_url, "POST", "/hook/orders", body, headers).status == 200
    [item] = sandbox.received("/hook/orders")
    assert (item.channel, item.id, item.headers["webhook-signature"]) == (
        "webhook",
        "n-3",
        "v1,abc",
    )
    assert b64decode(item.raw) == body
    assert item.body == body.decode(errors="replace")


def test_unicode_reaches_an_sms_byte_for_byte(sandbox: Sandbox) -> None:
    raw = json.dumps({"to": "+1", "text": UNICODE, "id": "ü"}, ensure_ascii=False).encode()
    request(sandbox.http_url, "POST", "/sms", raw)
    [item] = sandbox.received()
    assert item.body.encode() == UNICODE.encode()
    assert b64decode(item.raw) == raw


def test_an_error_is_answered_as_scripted_and_recorded(sandbox: Sandbox) -> None:
    headers = {"X-Reason": "quota", "Content-Type": "text/plain"}
    answer = Answer(status=429, body="später 再", headers=headers, retry_after="17")
    sandbox.script("+1", answer)
    reply = send_sms(sandbox.http_url, "+1")
    assert (reply.status, reply.body) == (429, "später 再")
    assert (reply.headers["x-reason"], reply.headers["retry-after"]) == ("quota", "17")
    assert reply.headers["content-type"] == "text/plain"
    [item] = sandbox.received()
    assert (item.accepted, item.answered) == (False, "429")


def test_an_error_without_a_body_does_not_claim_success(sandbox: Sandbox) -> None:
    sandbox.script("+1", Answer(status=503))
    assert send_sms(sandbox.http_url, "+1").json()["status"] == "refused"


def test_a_status_that_has_no_body_gets_none(sandbox: Sandbox) -> None:
    sandbox.script("/hook/a", Answer(status=204))
    connection = connect(sandbox.http_url)
    assert ask(connection, "POST", "/hook/a", b"1").status == 204
    assert ask(connection, "POST", "/hook/a", b"2").status == 200
    connection.close()
    assert [item.accepted for item in sandbox.received()] == [True, True]


def test_an_answer_can_lie_about_its_length(sandbox: Sandbox) -> None:
    sandbox.script("/hook/a", Answer(body="short", headers={"content-length": "9"}))
    with Line.to(sandbox.http_url) as line:
        line.post("/hook/a", b"")
        assert b"Content-Length: 9\r\n" in line.until(b"short")


def test_answers_come_in_order_and_the_last_stays(sandbox: Sandbox) -> None:
    sandbox.script("+1", Answer(status=500), Answer(status=503), then=Answer(status=202))
    statuses = [send_sms(sandbox.http_url, "+1").status for _ in range(4)]
    assert statuses == [500, 503, 202, 202]
    assert [item.attempt_no for item in sandbox.received("+1")] == [1, 2, 3, 4]
    assert [item.accepted for item in sandbox.received("+1")] == [False, False, True, True]


def test_attempts_are_counted_per_recipient_and_id(sandbox: Sandbox) -> None:
    for to, id in [("+1", "a"), ("+1", "b"), ("+2", "a"), ("+1", "a")]:
        send_sms(sandbox.http_url, to, id=id)
    assert [item.attempt_no for item in sandbox.received()] == [1, 1, 1, 2]


def test_a_delayed_answer_comes_late_but_is_recorded_at_once(sandbox: Sandbox) -> None:
    sandbox.script("+1", Answer(delay=0.3))
    with Line.to(sandbox.http_url) as line:
        started = time.monotonic()
        line.post("/sms", sms_body("+1"))
        sandbox.wait_for(1, timeout=5)
        line.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            line.socket.recv(1)
        line.socket.settimeout(10)
        assert line.until(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
        assert time.monotonic() - started >= 0.3


def test_leaving_the_sandbox_does_not_wait_for_a_delay() -> None:
    with Sandbox() as sandbox:
        sandbox.script("+1", Answer(delay=300))
        sandbox.script("+2", Answer(drip=300))
        with Line.to(sandbox.http_url) as slow, Line.to(sandbox.http_url) as dripping:
            slow.post("/sms", sms_body("+1"))
            dripping.post("/sms", sms_body("+2"))
            sandbox.wait_for(2, timeout=5)
            started = time.monotonic()
            sandbox.__exit__()
            assert time.monotonic() - started < 30


def test_draining_answers_what_was_asked_and_takes_nothing_more() -> None:
    with Sandbox() as sandbox:
        sandbox.script("+1", Answer(delay=0.3))
        with Line.to(sandbox.http_url) as asking, Line.to(sandbox.http_url) as idle:
            idle.post("/sms", sms_body("+2"))
            assert idle.until(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
            asking.post("/sms", sms_body("+1"))
            sandbox.wait_for(2, timeout=5)
            sandbox.drain()
            assert asking.until(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
            assert (asking.ending(), idle.ending()) == ("closed", "closed")
        with pytest.raises(ConnectionRefusedError):
            Line.to(sandbox.http_url)
        assert len(sandbox.received()) == 2


def test_a_dripping_answer_comes_byte_by_byte(sandbox: Sandbox) -> None:
    sandbox.script("+1", Answer(status=503, body="x", drip=0.002))
    started = time.monotonic()
    connection = connect(sandbox.http_url)
    reply = ask(connection, "POST", "/sms", sms_body("+1"))
    elapsed = time.monotonic() - started
    length = sum(len(name) + len(value) + 4 for name, value in reply.headers.items()) + 1
    assert (reply.status, reply.body) == (503, "x")
    assert elapsed >= 0.002 * length
    assert ask(connection, "POST", "/sms", sms_body("+1")).status == 200
    connection.close()


def test_a_reset_after_reading_is_recorded_as_such(sandbox: Sandbox) -> None:
    sandbox.script("+1", Answer(reset="after"))
    with Line.to(sandbox.http_url) as line:
        line.post("/sms", sms_body("+1", "got it"))
        assert line.ending() == "reset"
    [item] = sandbox.received()
    assert (item.body, item.accepted, item.answered) == ("got it", False, "reset")
    assert send_sms(sandbox.http_url, "+1").status == 200


@pytest.mark.parametrize("recipient", ["+1", "/hook/a", HTTP_CONNECTION])
def test_a_reset_before_leaves_no_record(sandbox: Sandbox, recipient: str) -> None:
    sandbox.script(recipient, Answer(reset="before"))
    path = "/hook/a" if recipient == "/hook/a" else "/sms"
    with pytest.raises(ConnectionError), Line.to(sandbox.http_url) as line:
        line.post(path, sms_body("+1"))
        line.until(b"\r\n")
    assert sandbox.received() == []
    assert request(sandbox.http_url, "POST", path, sms_body("+1")).status == 200


def test_a_webhook_is_reset_before_its_body_is_read(sandbox: Sandbox) -> None:
    sandbox.script("/hook/a", Answer(reset="before"))
    with Line.to(sandbox.http_url) as line:
        line.send(b"POST /hook/a HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
        assert line.ending() == "reset"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/sms", b"{", 400),
        ("POST", "/sms", b"[]", 400),
        ("POST", "/sms", b"\xff", 400),
        ("POST", "/sms", b"[" * 100_000, 400),
        ("POST", "/sms", b'{"to": "+1"}', 400),
        ("POST", "/sms", b'{"to": 1, "text": "x"}', 400),
        ("POST", "/sms", b'{"to": "+1", "text": "x", "id": 7}', 400),
        ("POST", "/nowhere", b"{}", 404),
        ("GET", "/", None, 404),
        ("GET", "/sms", None, 405),
        ("PUT", "/hook/a", b"x", 405),
        ("GET", "/_sandbox/nothing", None, 404),
    ],
)
def test_a_wrong_request_is_refused(
    sandbox: Sandbox, method: str, path: str, body: bytes | None, status: int
) -> None:
    reply = request(sandbox.http_url, method, path, body)
    assert reply.status == status
    assert reply.json()["error"]
    assert sandbox.received() == []


def test_each_scripted_answer_is_used_exactly_once_by_many_threads(sandbox: Sandbox) -> None:
    sandbox.script("+1", *(Answer(body=str(n)) for n in range(800)), then=Answer(body="then"))

    def talk(_thread: int) -> list[str]:
        connection = connect(sandbox.http_url)
        bodies = [ask(connection, "POST", "/sms", sms_body("+1")).body for _ in range(101)]
        connection.close()
        return bodies

    with ThreadPoolExecutor(8) as threads:
        bodies = [body for found in threads.map(talk, range(8)) for body in found]
    assert sorted(bodies) == sorted([*map(str, range(800)), *["then"] * 8])
    assert sorted(item.attempt_no for item in sandbox.received()) == list(range(1, 809))
