"""What a recipient gets is what was meant, byte for byte, through every channel."""

import html
import json
from base64 import b64decode
from collections.abc import Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from notify.publish import Client
from notify.sandbox import Answer, Received
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

WORDS = {
    "chinese": "【紧急】您的订单 2026-09-18 已发货，请查收",
    "arabic": "مرحبا، رمزك هو ١٢٣ – لا تشاركه",
    "emoji": "Done 🎉👩🏽‍💻 😎 café",
    "hostile": "{{7*7}} {% x %} <script>alert('1')</script> \"&amp;\" \\ =?utf-8?q?Bcc:_x?= $1 %s",
}
TEMPLATE = """
description = "Says something."
[variables.words]
type = "line"
links = true
sample = "words"
"""
FILES = {
    "template.toml": TEMPLATE,
    "sms.txt": "{{ words }}\n",
    "subject.txt": "{{ words }}\n",
    "text.txt": "It says: {{ words }}\n",
    "html.html": '<p title="{{ words }}">{{ words }}</p>\n',
    "json.json": '{"words": {{ words }}, "n": 1}\n',
}


def with_template(deployment: Deployment) -> Deployment:
    folder = deployment.directory / "config" / "templates" / "said"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return deployment


def mail_of(item: Received) -> EmailMessage:
    message = message_from_bytes(b64decode(item.raw), policy=default)
    assert isinstance(message, EmailMessage)
    return message


def text_of(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def test_words_of_all_kinds_arrive_as_they_are(deployment: Deployment) -> None:
    with_template(deployment)
    for channel in ("sms", "email", "webhook"):
        deployment.worker(channel)
    hook = f"{deployment.sandbox.http_url}/hook/words"
    recipients = {"sms": "+491701234567", "email": "ada@example.com", "webhook": hook}
    with Client(deployment.settings) as client:
        ids = {
            client.send_template("said", {"words": words}, channel=channel, recipient=to): (
                channel,
                words,
            )
            for words in WORDS.values()
            for channel, to in recipients.items()
        }
    received = deployment.sandbox.wait_for(len(ids), 40)
    assert sorted(item.id for item in received) == sorted(ids)
    for item in received:
        channel, words = ids[item.id]
        if channel == "sms":
            assert item.body == words
        elif channel == "webhook":
            assert json.loads(item.body) == {"words": words, "n": 1}
        else:
            message = mail_of(item)
            assert message["Subject"] == words
            assert text_of(message, "plain") == f"It says: {words}\n"
            escaped = text_of(message, "html")
            assert html.unescape(escaped) == f'<p title="{words}">{words}</p>\n'
            assert "<script" not in escaped
            assert message["Bcc"] is None


def email_with(folder: Path) -> str:
    return (
        f'[attachments]\nfolders = {{ papers = "{folder}" }}\n'
        '[[providers]]\nname = "mails"\ntype = "smtp"\nhost = "127.0.0.1"\n'
        'port = "${NOTIFY_SANDBOX_SMTP_PORT}"\nsecurity = "none"\nsender = "notify@example.com"\n'
    )


def test_a_file_is_attached_and_one_that_has_changed_is_not_sent(
    deploy: Callable[..., Deployment], tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    content = bytes(range(256)) * 9
    (folder / "Rechnung Nr. 7 – März.pdf").write_bytes(content)
    (folder / "draft.txt").write_text("first")
    deployment = deploy(providers={"email": email_with(folder)})
    mail = ("send", "email", "ada@example.com", "--subject", "Hello", "--body", "See the paper")
    place = "papers/Rechnung Nr. 7 – März.pdf"
    sent = deployment.cli(*mail, "--attach", place, "--unsubscribe", "https://example.com/u?7")
    changed = deployment.cli(*mail, "--attach", "papers/draft.txt")
    assert (sent.returncode, changed.returncode) == (0, 0), sent.stderr + changed.stderr
    (folder / "draft.txt").write_text("other")
    deployment.worker("email")
    (item,) = deployment.sandbox.wait_for(1, 20)
    message = mail_of(item)
    (attached,) = message.iter_attachments()
    assert attached.get_filename() == "Rechnung Nr. 7 – März.pdf"
    assert attached.get_content() == content
    assert message["List-Unsubscribe"] == "<https://example.com/u?7>"
    record = deployment.until_settled(changed.stdout.strip())
    assert (record.state, record.attempts[0]["reason"]) == ("dead", "invalid")
    missing = deployment.cli(*mail, "--attach", "papers/none.txt")
    outside = deployment.cli(*mail, "--attach", "papers/../secret")
    assert (missing.returncode, outside.returncode) == (2, 2)


def test_a_webhook_is_signed_anew_for_each_attempt(
    deploy: Callable[..., Deployment], tmp_path: Path
) -> None:
    old, new = ("whsec_" + letter * 32 for letter in "ab")
    for name, secret in (("old", old), ("new", new)):
        (tmp_path / name).write_text(secret)
    hooks = (
        '[[providers]]\nname = "hooks"\ntype = "webhook"\nallow = "${NOTIFY_WEBHOOK_ALLOW}"\n'
        f'signing_secret_files = ["{tmp_path}/new", "{tmp_path}/old"]\n'
    )
    deployment = deploy(providers={"webhook": hooks})
    hook = f"{deployment.sandbox.http_url}/hook/signed"
    deployment.sandbox.script("/hook/signed", Answer(status=503), Answer(status=503))
    deployment.worker("webhook")
    sent = deployment.cli("send", "webhook", hook, "--data", '{"order": 7, "to": "Zoë"}')
    assert sent.returncode == 0
    deployment.sandbox.wait_for(1, 30)
    attempts = deployment.sandbox.received()
    assert len(attempts) == 3
    for item in attempts:
        for secret in (old, new):
            Webhook(secret).verify(b64decode(item.raw), item.headers)
    assert {item.headers["webhook-id"] for item in attempts} == {sent.stdout.strip()}
    assert len({item.headers["webhook-timestamp"] for item in attempts}) > 1


ROBOT = """
[[providers]]
name = "robot"
type = "profile"
profile = "dingtalk"
match = [{ host = "127.0.0.1", path = "/hook/robot" }]
allow = "${NOTIFY_WEBHOOK_ALLOW}"
[[providers]]
name = "hooks"
type = "webhook"
allow = "${NOTIFY_WEBHOOK_ALLOW}"
"""


def said(code: int, text: str) -> Answer:
    return Answer(status=200, body=json.dumps({"errcode": code, "errmsg": text}))


def test_an_error_in_a_200_is_a_failure_and_a_robot_has_its_own_provider(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(providers={"webhook": ROBOT})
    answers: dict[str, list[Any]] = {
        "works": [said(0, "ok")],
        "keyword": [said(310000, "keywords not in content")],
        "busy": [said(-1, "system busy"), said(0, "ok")],
    }
    for name, script in answers.items():
        deployment.sandbox.script(f"/hook/robot/{name}", *script, then=script[-1])
    deployment.worker("webhook")
    ids = {}
    for name in (*(f"robot/{name}" for name in answers), "plain"):
        url = f"{deployment.sandbox.http_url}/hook/{name}"
        done = deployment.cli("send", "webhook", url, "--body", "Disk full")
        ids[name] = done.stdout.strip()
    assert deployment.until_sent(ids["robot/works"]).provider == "robot"
    assert deployment.until_sent(ids["plain"]).provider == "hooks"
    assert deployment.until_sent(ids["robot/busy"]).attempt == 2
    dead = deployment.until_settled(ids["robot/keyword"])
    assert (dead.state, dead.attempts[0]["code"]) == ("dead", "310000")
    bodies = {json.loads(item.body).get("msgtype") for item in deployment.sandbox.received()}
    assert bodies == {"text", None}


def test_numbers_are_taken_as_people_write_them(
    deploy: Callable[..., Deployment], tmp_path: Path
) -> None:
    texts = (
        '[texts]\ndefault_region = "DE"\nmax_segments = 2\n[[providers]]\nname = "texts"\n'
        'type = "http-sms"\nurl = "${NOTIFY_SANDBOX_HTTP}/sms"\ntakes_idempotency_key = true\n'
    )
    deployment = deploy(providers={"sms": texts})
    path = tmp_path / "people.csv"
    path.write_text("channel,recipient,body\nsms,0170 1234567,One\nsms,(0170) 123-4568,Two\n")
    assert deployment.cli("send", "sms", "0170/1234569", "--body", "Three").returncode == 0
    assert deployment.cli("send", "--file", str(path)).stdout == "2 of 2 published\n"
    deployment.worker()
    received = deployment.sandbox.wait_for(3, 20)
    assert {item.recipient: item.body for item in received} == {
        "+491701234567": "One",
        "+491701234568": "Two",
        "+491701234569": "Three",
    }
    long = deployment.cli("send", "sms", "0170 1234567", "--body", "x" * 400)
    assert long.returncode == 2
    assert "body: needs 3 segments, at most 2 are allowed" in long.stderr


def test_a_preview_publishes_nothing(deployment: Deployment, tmp_path: Path) -> None:
    text = deployment.cli("send", "sms", "+491701234567", "--body", "Grüße 😎", "--preview")
    shown = json.loads(text.stdout)
    assert (shown["encoding"], shown["segments"]) == ("ucs-2", 1)
    assert "+491701234567" not in text.stdout
    path = tmp_path / "mail.eml"
    mail = ("send", "email", "ada@example.com", "--subject", "Grüße", "--body", "Hello")
    assert deployment.cli(*mail, "--preview", str(path)).returncode == 0
    message = message_from_bytes(path.read_bytes(), policy=default)
    assert (message["Subject"], message["To"]) == ("Grüße", "ada@example.com")
    hook = deployment.cli("send", "webhook", "https://example.com/h", "--body", "x", "--preview")
    assert json.loads(hook.stdout) == {"body": "x"}
    for channel in ("sms", "email", "webhook"):
        assert deployment.ready(channel) == 0


def test_a_text_that_is_the_same_in_other_words_is_a_duplicate(
    deploy: Callable[..., Deployment],
) -> None:
    """However the number was written: it is made uniform before the digest is taken."""
    deployment = deploy()
    deployment.worker()
    first = sms(id="order-7", recipient="+491701234567")
    deployment.send(first)
    deployment.until_sent("order-7")
    again = deployment.cli(
        "send", "sms", "+49 (170) 123 45 67", "--body", first.body or "", "--id", "order-7"
    )
    assert again.returncode == 0
    (worker,) = deployment.processes
    eventually(lambda: '"outcome":"duplicate"' in worker.text(), "a duplicate")
