import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

from notify.errors import InvalidInput, Unavailable
from notify.sandbox import Answer, Received, Sandbox, SandboxClient, read_record, records

from .talking import mail, request, send_mail, send_sms


def test_the_record_is_what_was_received(sandbox: Sandbox, record: Path) -> None:
    sandbox.script("+1", Answer(status=500))
    send_sms(sandbox.http_url, "+1", "你好 👋 \u2028")
    request(sandbox.http_url, "POST", "/hook/a", b"\xff\x00")
    send_mail(sandbox.smtp_port, mail("a@example.org", subject="你好"))
    assert read_record(record) == sandbox.received()
    assert [item.channel for item in sandbox.received()] == ["sms", "webhook", "email"]


def test_text_that_is_no_text_is_recorded(sandbox: Sandbox, record: Path) -> None:
    lone = b'{"to": "+1", "text": "\\ud83d"}'
    assert request(sandbox.http_url, "POST", "/sms", lone).status == 200
    assert read_record(record) == sandbox.received()


def test_the_record_is_written_before_the_answer(sandbox: Sandbox, record: Path) -> None:
    for number in range(1, 20):
        send_sms(sandbox.http_url, "+1")
        assert len(read_record(record)) == number


def test_many_threads_write_whole_lines(sandbox: Sandbox, record: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: send_sms(sandbox.http_url, f"+{n}", "x" * 5000), range(200)))
    assert read_record(record) == sandbox.received()
    assert {item.recipient for item in sandbox.received()} == {f"+{n}" for n in range(200)}


def test_the_record_outlives_the_sandbox_and_is_continued(record: Path) -> None:
    for text in ("one", "two"):
        with Sandbox(record) as sandbox:
            send_sms(sandbox.http_url, "+1", text)
    assert [item.body for item in read_record(record)] == ["one", "two"]


def test_half_a_line_of_a_killed_sandbox_is_cut_off(record: Path) -> None:
    with Sandbox(record) as sandbox:
        send_sms(sandbox.http_url, "+1", "one")
    with record.open("ab") as file:
        file.write(b'{"channel": "s')
    assert [item.body for item in read_record(record)] == ["one"]
    with Sandbox(record) as sandbox:
        send_sms(sandbox.http_url, "+1", "two")
    assert [item.body for item in read_record(record)] == ["one", "two"]


@pytest.mark.parametrize("line", ["{", "[]", "1", '{"channel": "sms"}'])
def test_a_broken_record_is_named(record: Path, line: str) -> None:
    record.write_text(f"{line}\n")
    with pytest.raises(InvalidInput, match=r"received\.jsonl:1: not a record"):
        read_record(record)


def test_a_record_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot write"), Sandbox(tmp_path / "no" / "file"):
        pass


@pytest.mark.parametrize(("sync", "expected"), [(True, 3), (False, 0)])
def test_sync_reaches_the_disk(
    record: Path, monkeypatch: pytest.MonkeyPatch, sync: bool, expected: int
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Sandbox(record, sync=sync) as sandbox:
        for _ in range(3):
            send_sms(sandbox.http_url, "+1")
    assert len(synced) == expected


def test_waiting_for_what_comes_later(either: Sandbox | SandboxClient, sandbox: Sandbox) -> None:
    found: list[Received] = []
    waiter = Thread(target=lambda: found.extend(either.wait_for(3, 10, "+1")))
    waiter.start()
    sandbox.script("+1", Answer(status=500))
    for to in ("+1", "+2", "+1", "+1", "+1"):
        send_sms(sandbox.http_url, to)
    waiter.join()
    assert [item.attempt_no for item in found] == [2, 3, 4]


def test_waiting_in_vain_says_how_many_came(either: Sandbox | SandboxClient) -> None:
    either.script("+1", Answer(status=500))
    for _ in range(3):
        send_sms(either.http_url, "+1")
    with pytest.raises(TimeoutError, match=r"2 of 3 accepted for \+1 within 0.05 s"):
        either.wait_for(3, 0.05, "+1")
    assert len(either.wait_for(3, 0.05, "+1", accepted_only=False)) == 3


def test_clearing_forgets_items_and_attempts(either: Sandbox | SandboxClient, record: Path) -> None:
    either.script("+1", then=Answer(status=202))
    send_sms(either.http_url, "+1")
    either.clear()
    assert either.received() == []
    send_sms(either.http_url, "+1", "again")
    [item] = either.received()
    assert (item.body, item.attempt_no, item.answered) == ("again", 1, "202")
    assert len(read_record(record)) == 2


def test_pages_go_on_where_the_last_one_ended(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "PAGE", 3)
    for number in range(8):
        send_sms(sandbox.http_url, f"+{number % 2}", str(number))
    client = SandboxClient(sandbox.http_url)
    assert [item.body for item in client.received()] == list("01234567")
    assert [item.body for item in client.received("+1")] == list("1357")
    sandbox.clear()
    send_sms(sandbox.http_url, "+1", "8")
    reply = request(sandbox.http_url, "GET", "/_sandbox/received?since=0").json()
    assert reply["next"] == 9
    assert client.received() == sandbox.received()


def test_a_port_in_use_stops_the_start(sandbox: Sandbox, tmp_path: Path) -> None:
    with (
        pytest.raises(Unavailable, match=f"cannot listen on 127.0.0.1:{sandbox.smtp_port}"),
        Sandbox(tmp_path / "other", http_port=sandbox.smtp_port),
    ):
        pass


def test_lines_are_json_objects(sandbox: Sandbox, record: Path) -> None:
    send_sms(sandbox.http_url, "+1", "你好")
    [line] = record.read_text().splitlines()
    assert json.loads(line)["body"] == "你好"
