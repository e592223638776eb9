import smtplib
import time
from base64 import b64decode
from email.message import EmailMessage
from email.policy import SMTPUTF8

import pytest

from notify.sandbox import SMTP_CONNECTION, Answer, Sandbox

from .talking import TIMEOUT, Line, begin, give, mail, send_mail

UNICODE = "Größe 你好世界 👩‍👩‍👧 end\nsecond line\n.dot\n"
SUBJECT = " ".join(["Größe 你好 👋"] * 8)
A, B = "a@example.org", "b@example.org"
LATER = "451 4.7.1 Try again later"


def test_a_mail_is_accepted_and_recorded(sandbox: Sandbox) -> None:
    before = time.time()
    assert send_mail(sandbox.smtp_port, mail(A, id="n-5", subject="Hi", text="hello")) == {}
    [item] = sandbox.received()
    assert (item.channel, item.recipient, item.id) == ("email", A, "n-5")
    assert (item.subject, item.body, item.headers["to"]) == ("Hi", "hello\n", A)
    assert (item.accepted, item.attempt_no) == (True, 1)
    assert item.answered == "250 2.0.0 OK email-000001"
    assert before <= item.at <= time.time()


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "8bit"])
def test_unicode_reaches_a_mail_byte_for_byte(sandbox: Sandbox, encoding: str) -> None:
    message = mail(A, subject=SUBJECT)
    message.set_content(UNICODE, cte=encoding)
    send_mail(sandbox.smtp_port, message)
    [item] = sandbox.received()
    assert item.body.encode() == UNICODE.encode()
    assert item.subject == SUBJECT


def test_utf8_in_headers_and_addresses(sandbox: Sandbox) -> None:
    message = mail("用户@例子.org", subject="Größe 你好 👋")
    with smtplib.SMTP("127.0.0.1", sandbox.smtp_port, timeout=TIMEOUT) as smtp:
        options = ["SMTPUTF8", "BODY=8BITMIME"]
        content = message.as_bytes(policy=SMTPUTF8)
        smtp.ehlo()
        smtp.sendmail("s@example.org", ["用户@例子.org"], content, options)
    [item] = sandbox.received("用户@例子.org")
    assert (item.subject, item.headers["to"]) == ("Größe 你好 👋", "用户@例子.org")
    assert b64decode(item.raw) == content


def test_what_the_server_says_it_can(sandbox: Sandbox) -> None:
    with smtplib.SMTP("127.0.0.1", sandbox.smtp_port, timeout=TIMEOUT) as smtp:
        smtp.ehlo()
        assert {"smtputf8", "8bitmime"} <= set(smtp.esmtp_features)
        assert smtp.esmtp_features["size"] == str(30 * 1024 * 1024)
        assert smtp.mail("s@example.org", [f"SIZE={31 * 1024 * 1024}"])[0] == 552


def test_the_html_is_the_text_when_there_is_no_other(sandbox: Sandbox) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Message-ID"] = "s@example.org", A, "<n-8@notify>"
    message.set_content("<p>你好</p>", subtype="html")
    send_mail(sandbox.smtp_port, message)
    [item] = sandbox.received()
    assert (item.id, item.body) == ("n-8", "<p>你好</p>\n")


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (b"no header at all\r\n", "no header at all\n"),
        (b"Content-Type: text/plain; charset=martian\r\n\r\n\xc3\xa4\r\n", "ä\n"),
        (b"Subject: =?martian?q?x?=\r\n\r\nraw \xff\r\n", "raw �\n"),
        (b"Content-Type: image/png\r\n\r\nxyz\r\n", ""),
        (b"Content-Type: multipart/mixed\r\n\r\nno boundary\r\n", ""),
    ],
)
def test_a_broken_mail_is_recorded_all_the_same(
    sandbox: Sandbox, content: bytes, body: str
) -> None:
    with smtplib.SMTP("127.0.0.1", sandbox.smtp_port, timeout=TIMEOUT) as smtp:
        smtp.sendmail("s@example.org", [A], content)
    [item] = sandbox.received()
    assert (item.body, b64decode(item.raw)) == (body, content)


def test_several_mails_on_one_connection(sandbox: Sandbox) -> None:
    with smtplib.SMTP("127.0.0.1", sandbox.smtp_port, timeout=TIMEOUT) as smtp:
        for number in range(20):
            smtp.send_message(mail(A, id=f"n-{number}"))
    assert [item.id for item in sandbox.received()] == [f"n-{number}" for number in range(20)]


def test_a_refused_recipient_does_not_touch_the_others(sandbox: Sandbox) -> None:
    sandbox.script(A, Answer(smtp_stage="rcpt", smtp_reply="550 5.1.1 No such user"))
    refused = send_mail(sandbox.smtp_port, mail(A, B, id="n-2"))
    assert refused == {A: (550, b"5.1.1 No such user")}
    [lost] = sandbox.received(A)
    assert (lost.accepted, lost.answered, lost.raw) == (False, "550 5.1.1 No such user", "")
    [kept] = sandbox.wait_for(1, timeout=5, recipient=B)
    assert (kept.id, kept.accepted) == ("n-2", True)


@pytest.mark.parametrize("stage", ["rcpt", "data", "dot"])
def test_a_refusal_at_a_recipients_stage(sandbox: Sandbox, stage: str) -> None:
    sandbox.script(A, Answer.from_json({"smtp_stage": stage, "smtp_reply": LATER}))
    with smtplib.SMTP("127.0.0.1", sandbox.smtp_port, timeout=TIMEOUT) as smtp:
        with pytest.raises(smtplib.SMTPException, match=r"4\.7\.1 Try again later"):
            smtp.send_message(mail(A))
        smtp.send_message(mail(A))
    first, second = sandbox.received(A)
    assert (first.accepted, first.answered) == (False, LATER)
    assert first.body == ("hello\n" if stage == "dot" else "")
    assert second.accepted


def test_the_stage_decides_which_command_is_refused(sandbox: Sandbox) -> None:
    sandbox.script(A, Answer(smtp_stage="data", smtp_reply=LATER))
    sandbox.script(B, Answer(smtp_stage="dot", smtp_reply="554 5.7.1 Spam"))
    with Line(sandbox.smtp_port) as line:
        begin(line)
        line.say("MAIL FROM:<s@example.org>")
        line.say(f"RCPT TO:<{A}>")
        assert line.say("DATA") == LATER
        assert line.say("DATA").startswith("503 ")
        give(line, B)
        assert line.say(".") == "554 5.7.1 Spam"


def test_one_refusal_of_the_mail_is_a_refusal_for_everyone(sandbox: Sandbox) -> None:
    sandbox.script(B, Answer(smtp_stage="dot", smtp_reply=LATER))
    with pytest.raises(smtplib.SMTPDataError):
        send_mail(sandbox.smtp_port, mail(A, B))
    assert [(item.recipient, item.accepted) for item in sandbox.received()] == [
        (A, False),
        (B, False),
    ]


def test_the_words_of_an_acceptance_can_be_scripted(sandbox: Sandbox) -> None:
    sandbox.script(A, Answer(smtp_stage="dot", smtp_reply="250 2.6.0 queued as 4711"))
    with Line(sandbox.smtp_port) as line:
        begin(line)
        give(line, A)
        assert line.say(".") == "250 2.6.0 queued as 4711"
    assert sandbox.received()[0].accepted


@pytest.mark.parametrize("stage", ["connect", "ehlo", "mail"])
def test_a_refusal_before_the_recipient(sandbox: Sandbox, stage: str) -> None:
    answer = Answer.from_json({"smtp_stage": stage, "smtp_reply": LATER})
    sandbox.script(SMTP_CONNECTION, answer)
    with Line(sandbox.smtp_port) as line:
        replies = [line.reply()]
        if stage != "connect":
            replies += [line.say("EHLO test"), line.say("MAIL FROM:<s@example.org>")]
    assert replies[["connect", "ehlo", "mail"].index(stage)] == LATER
    assert replies.count(LATER) == 1
    [item] = sandbox.received(SMTP_CONNECTION)
    assert (item.accepted, item.answered) == (False, LATER)
    assert send_mail(sandbox.smtp_port, mail(A)) == {}


def test_helo_is_the_ehlo_stage_too(sandbox: Sandbox) -> None:
    sandbox.script(SMTP_CONNECTION, then=Answer(smtp_stage="ehlo", smtp_reply="502 5.5.1 No"))
    with pytest.raises(smtplib.SMTPHeloError):
        send_mail(sandbox.smtp_port, mail(A))
    assert [item.answered for item in sandbox.received()] == ["502 5.5.1 No"] * 2


def test_a_connection_refused_at_the_greeting_is_closed(sandbox: Sandbox) -> None:
    sandbox.script(SMTP_CONNECTION, Answer(smtp_stage="connect", smtp_reply="421 4.3.2 Busy"))
    with Line(sandbox.smtp_port) as line:
        assert line.reply() == "421 4.3.2 Busy"
        assert line.ending() == "closed"
