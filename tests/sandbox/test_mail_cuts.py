"""Mail connections that are cut, and answers that come late."""

import smtplib
import time

import pytest

from notify.sandbox import SMTP_CONNECTION, Answer, Sandbox

from .talking import Line, begin, give, mail, send_mail

A = "a@example.org"
LATER = "451 4.7.1 Try again later"


@pytest.mark.parametrize("stage", ["ehlo", "mail"])
@pytest.mark.parametrize("how", ["smtp_drop", "reset"])
def test_a_connection_can_be_cut_before_the_recipient(
    sandbox: Sandbox, stage: str, how: str
) -> None:
    cut = {"smtp_drop": True} if how == "smtp_drop" else {"reset": "after"}
    sandbox.script(SMTP_CONNECTION, Answer.from_json({"smtp_stage": stage, **cut}))
    with Line(sandbox.smtp_port) as line:
        line.reply()
        if stage == "mail":
            line.say("EHLO test")
        line.send(b"EHLO test\r\n" if stage == "ehlo" else b"MAIL FROM:<s@example.org>\r\n")
        assert line.ending() == ("closed" if how == "smtp_drop" else "reset")
    assert sandbox.received()[0].answered == ("drop" if how == "smtp_drop" else "reset")


def test_a_connection_can_be_dropped_without_a_greeting(sandbox: Sandbox) -> None:
    sandbox.script(SMTP_CONNECTION, Answer(smtp_stage="connect", smtp_drop=True))
    with Line(sandbox.smtp_port) as line:
        assert line.ending() == "closed"
    assert sandbox.received()[0].answered == "drop"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_can_be_reset_without_a_greeting(sandbox: Sandbox, when: str) -> None:
    answer = Answer.from_json({"smtp_stage": "connect", "reset": when})
    sandbox.script(SMTP_CONNECTION, answer)
    with pytest.raises(ConnectionResetError), Line(sandbox.smtp_port) as line:
        line.reply()
    assert len(sandbox.received()) == (1 if when == "after" else 0)


@pytest.mark.parametrize(
    ("answer", "ending", "answered"),
    [
        (Answer(smtp_stage="dot", smtp_drop=True), "closed", "drop"),
        (Answer(smtp_stage="dot", reset="after"), "reset", "reset"),
        (Answer(reset="after"), "reset", "reset"),
    ],
)
def test_a_connection_cut_after_the_dot_has_its_mail_recorded(
    sandbox: Sandbox, answer: Answer, ending: str, answered: str
) -> None:
    sandbox.script(A, answer)
    with Line(sandbox.smtp_port) as line:
        begin(line)
        give(line, A)
        line.send(b".\r\n")
        assert line.ending() == ending
    [item] = sandbox.received()
    assert (item.body, item.id) == ("hello\n", "n-1")
    assert (item.accepted, item.answered) == (False, answered)


@pytest.mark.parametrize(
    ("answer", "ending", "recorded"),
    [
        (Answer(reset="before"), "reset", []),
        (Answer(smtp_stage="rcpt", smtp_drop=True), "closed", ["drop"]),
        (Answer(smtp_stage="rcpt", reset="after"), "reset", ["reset"]),
    ],
)
def test_a_connection_cut_at_the_recipient(
    sandbox: Sandbox, answer: Answer, ending: str, recorded: list[str]
) -> None:
    sandbox.script(A, answer)
    with Line(sandbox.smtp_port) as line:
        begin(line)
        line.say("MAIL FROM:<s@example.org>")
        line.send(f"RCPT TO:<{A}>\r\n".encode())
        assert line.ending() == ending
    assert [item.answered for item in sandbox.received()] == recorded


def test_a_connection_cut_at_data(sandbox: Sandbox) -> None:
    sandbox.script(A, Answer(smtp_stage="data", smtp_drop=True))
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send_mail(sandbox.smtp_port, mail(A))
    assert sandbox.received()[0].answered == "drop"


def test_a_late_answer_to_a_mail_is_recorded_at_once(sandbox: Sandbox) -> None:
    sandbox.script(A, Answer(delay=0.3))
    with Line(sandbox.smtp_port) as line:
        begin(line)
        give(line, A)
        started = time.monotonic()
        line.send(b".\r\n")
        sandbox.wait_for(1, timeout=5)
        line.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            line.socket.recv(1)
        line.socket.settimeout(10)
        assert line.reply().startswith("250 ")
        assert time.monotonic() - started >= 0.3


def test_a_late_greeting(sandbox: Sandbox) -> None:
    sandbox.script(SMTP_CONNECTION, Answer(delay=0.3))
    started = time.monotonic()
    with Line(sandbox.smtp_port) as line:
        assert line.reply().startswith("220 ")
    assert time.monotonic() - started >= 0.3
    assert sandbox.received() == []


def test_a_reply_can_come_byte_by_byte(sandbox: Sandbox) -> None:
    sandbox.script(A, Answer(smtp_stage="dot", smtp_reply=LATER, drip=0.005))
    with Line(sandbox.smtp_port) as line:
        begin(line)
        give(line, A)
        started = time.monotonic()
        assert line.say(".") == LATER
        assert time.monotonic() - started >= 0.005 * (len(LATER) + 1)


def test_leaving_the_sandbox_hangs_up_on_waiting_clients() -> None:
    with Sandbox() as sandbox:
        sandbox.script(A, Answer(delay=300))
        with Line(sandbox.smtp_port) as busy, Line(sandbox.smtp_port) as idle:
            begin(busy)
            begin(idle)
            give(busy, A)
            busy.send(b".\r\n")
            sandbox.wait_for(1, timeout=5)
            started = time.monotonic()
            sandbox.__exit__()
            assert time.monotonic() - started < 30
            assert idle.ending() == "closed"
