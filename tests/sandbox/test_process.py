"""The sandbox as a process of its own, driven through its control API."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from notify import sandbox as package
from notify.errors import InvalidInput, Unavailable
from notify.sandbox import Answer, Sandbox, SandboxClient, read_record

from .talking import Line, mail, request, send_mail, send_sms

COMMAND = [sys.executable, "-W", "error", "-m", "notify.sandbox"]


def start(record: Path, *options: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "--record", str(record), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def client_of(process: subprocess.Popen[str]) -> SandboxClient:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(
        r"sandbox listens on (http://127.0.0.1:\d+) and smtp://127.0.0.1:(\d+)\n", line
    )
    assert found, line
    client = SandboxClient(found[1])
    assert client.smtp_port == int(found[2])
    return client


@pytest.fixture
def process(record: Path) -> Iterator[subprocess.Popen[str]]:
    with start(record) as running:
        yield running
        running.kill()


def test_another_process_scripts_and_reads(process: subprocess.Popen[str], record: Path) -> None:
    client = client_of(process)
    client.script("+1", Answer(status=503, retry_after="7"), then=Answer(status=201))
    assert send_sms(client.http_url, "+1", "你好 👋").headers["retry-after"] == "7"
    assert send_sms(client.http_url, "+1", "你好 👋").status == 201
    send_mail(client.smtp_port, mail("a@example.org", text="你好 👋"))
    found = client.wait_for(3, 5, accepted_only=False)
    assert [item.body.strip() for item in found] == ["你好 👋"] * 3
    assert [item.accepted for item in found] == [False, True, True]
    assert found == client.received() == read_record(record)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(process: subprocess.Popen[str], number: int) -> None:
    client = client_of(process)
    client.script("+1", Answer(delay=300))
    process.send_signal(number)
    assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 0


def test_nothing_answered_is_lost_to_sigkill(process: subprocess.Popen[str], record: Path) -> None:
    client = client_of(process)
    for number in range(50):
        send_sms(client.http_url, "+1", str(number))
    before = client.received()
    process.kill()
    process.wait()
    assert read_record(record) == before
    assert len(before) == 50


def test_a_port_in_use_is_one_line_and_exit_1(sandbox: Sandbox, tmp_path: Path) -> None:
    port = str(sandbox.smtp_port)
    with start(tmp_path / "other", "--smtp-port", port) as process:
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (1, "")
    assert err == f"sandbox: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_a_client_without_a_sandbox_says_so() -> None:
    with Sandbox() as sandbox:
        client = SandboxClient(sandbox.http_url)
    with pytest.raises(Unavailable, match=re.escape(client.http_url)):
        client.received()


def test_a_client_needs_an_address() -> None:
    with pytest.raises(InvalidInput, match="is not an http:// address"):
        SandboxClient("localhost:8025")


def test_a_client_hears_why_a_script_is_refused(sandbox: Sandbox) -> None:
    client = SandboxClient(sandbox.http_url)
    with pytest.raises(InvalidInput, match=r"script 'smtp:\*' instead"):
        client.script("+1", Answer(smtp_stage="ehlo", smtp_drop=True))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{", "malformed JSON"),
        (b"[]", "must be an object"),
        (b'{"answers": []}', "needs a recipient"),
        (b'{"recipient": "+1", "answers": {}}', "needs a recipient"),
        (b'{"recipient": "+1", "answer": []}', "unknown key 'answer'"),
        (b'{"recipient": "+1", "answers": [{"stauts": 1}]}', "stauts: unknown key"),
        (b'{"recipient": "+1", "then": 7}', "answer: must be an object"),
    ],
)
def test_a_wrong_script_is_refused(sandbox: Sandbox, data: bytes, problem: str) -> None:
    reply = request(sandbox.http_url, "PUT", "/_sandbox/script", data)
    assert reply.status == 400
    assert problem in str(reply.json()["error"])


@pytest.mark.parametrize("query", ["since=x", "since=-1", "wait=nan", "wait=inf"])
def test_a_wrong_position_is_refused(sandbox: Sandbox, query: str) -> None:
    assert request(sandbox.http_url, "GET", f"/_sandbox/received?{query}").status == 400


def test_health_tells_where_mail_goes(sandbox: Sandbox) -> None:
    reply = request(sandbox.http_url, "GET", "/_sandbox/health")
    assert reply.json() == {"status": "ok", "smtp_port": sandbox.smtp_port, "received": 0}


def test_the_plain_control_api(sandbox: Sandbox) -> None:
    script = {"recipient": "+49 1", "answers": [{"status": 500}], "then": {"status": 202}}
    request(sandbox.http_url, "PUT", "/_sandbox/script", json.dumps(script).encode())
    assert [send_sms(sandbox.http_url, "+49 1").status for _ in range(2)] == [500, 202]
    path = "/_sandbox/received?recipient=%2B49+1&since=1"
    reply = request(sandbox.http_url, "GET", path).json()
    assert reply == {"items": [vars(sandbox.received()[1])], "next": 2}
    assert request(sandbox.http_url, "DELETE", "/_sandbox/received").status == 200
    assert sandbox.received() == []


def test_leaving_the_sandbox_does_not_wait_for_a_long_poll() -> None:
    with Sandbox() as sandbox, Line.to(sandbox.http_url) as line:
        ask = b"GET /_sandbox/received?since=%d&wait=20 HTTP/1.1\r\n\r\n"
        line.send(ask % 0)
        send_sms(sandbox.http_url, "+1")
        line.until(b'"next": 1}')
        line.send(ask % 1)
        started = time.monotonic()
        sandbox.__exit__()
        assert time.monotonic() - started < 10


def test_the_exported_names_exist() -> None:
    assert package.__all__ == [
        "ACCEPT",
        "EVERYONE",
        "HTTP_CONNECTION",
        "SMTP_CONNECTION",
        "Answer",
        "Received",
        "Sandbox",
        "SandboxClient",
        "read_record",
    ]
    assert all(hasattr(package, name) for name in package.__all__)
