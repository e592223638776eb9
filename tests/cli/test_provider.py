"""``notify provider test``: a dry run first, then one real message, and what came of it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from notify.sandbox import Answer, Sandbox
from tests.cli.conftest import Ran
from tests.unit.configs import SMS, write

PHONE = "+491701234567"
SECRET = "SEC240d7bb4c0bafc62"


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as running:
        yield running


@pytest.fixture
def hooked(offline: Callable[..., Ran], tmp_path: Path, sandbox: Sandbox) -> Callable[..., Ran]:
    """The same configuration with providers whose servers are there."""
    (tmp_path / "secret").write_text(SECRET)
    robot = (
        '[[providers]]\nname = "robot"\ntype = "profile"\nprofile = "dingtalk"\n'
        f'secrets = {{ secret_file = "{tmp_path}/secret" }}\nallow = "127.0.0.0/8"\n'
        'match = [{ host = "127.0.0.1" }]\n'
        '[[providers]]\nname = "texts"\ntype = "webhook"\n'
    )
    token = f'token_file = "{tmp_path}/secret"\n'
    files = {
        "channels/webhook.toml": robot,
        "channels/sms.toml": SMS.replace("http://127.0.0.1:8025", sandbox.http_url) + token,
    }
    write(tmp_path, files)
    return offline


def test_a_dry_run_shows_the_request_and_sends_nothing(
    hooked: Callable[..., Ran], sandbox: Sandbox
) -> None:
    url = f"{sandbox.http_url}/hook/token-271828"
    ran = hooked("provider", "test", "robot", "--to", url, "--body", "Hello")
    assert ran.code == 0
    assert ran.out.startswith(f"POST {sandbox.http_url}/***\n")
    assert '{"msgtype":"text","text":{"content":"Hello"}}' in ran.out
    assert "dry run: nothing was sent" in ran.out
    for private in ("271828", SECRET, "sign="):
        assert private not in ran.out
    assert sandbox.received() == []


def test_a_real_message(hooked: Callable[..., Ran], sandbox: Sandbox) -> None:
    sandbox.script("/hook/1", Answer(body='{"errcode": 0, "errmsg": "ok"}'))
    ran = hooked("provider", "test", "robot", "--to", f"{sandbox.http_url}/hook/1", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert 'HTTP 200\n{"errcode": 0, "errmsg": "ok"}\n\nsent\n' in ran.out
    (item,) = sandbox.received()
    assert "This is a test of Notify." in item.body


def test_a_failure_is_shown_with_what_it_means(
    hooked: Callable[..., Ran], sandbox: Sandbox
) -> None:
    url = f"{sandbox.http_url}/hook/token-271828"
    body = '{"errcode": 130101, "errmsg": "send too fast, token-271828"}'
    sandbox.script("/hook/token-271828", Answer(body=body))
    ran = hooked("provider", "test", "robot", "--to", url, "--yes")
    assert ran.code == 1
    assert "temporary failure, provider_busy: too many messages: 130101" in ran.out
    assert "it asks for: patience for 600 s\nit asks for: fewer messages\n" in ran.out
    assert '"errmsg": "send too fast, ***"' in ran.out
    assert "271828" not in ran.out


def test_a_text(hooked: Callable[..., Ran], sandbox: Sandbox) -> None:
    arguments = ("provider", "test", "texts", "--channel", "sms", "--to", PHONE)
    ran = hooked(*arguments)
    assert "Authorization: ***" in ran.out
    assert "Idempotency-Key: " in ran.out
    assert '{"to":"***","text":"This is a test of Notify.","id":' in ran.out
    assert SECRET not in ran.out
    ran = hooked(*arguments, "--yes")
    assert ran.out.endswith("sent, as sms-000001\n")


def test_data(hooked: Callable[..., Ran], sandbox: Sandbox) -> None:
    url = f"{sandbox.http_url}/hook/1"
    ran = hooked("provider", "test", "robot", "--to", url, "--data", '{"msgtype": "x"}')
    assert '{"msgtype":"x"}' in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("nobody", "--to", PHONE), 1, "no provider nobody is configured"),
        (("robot", "--to", PHONE, "--channel", "sms"), 1, "no provider robot of sms is"),
        (("texts", "--to", PHONE), 2, "--channel: is needed, sms and webhook have it"),
        (("robot", "--to", PHONE), 2, "recipient: must be a URL"),
        (("robot", "--to", "https://a.b/", "--data", "{"), 2, "--data: must be JSON"),
    ],
)
def test_what_cannot_be_tried(
    hooked: Callable[..., Ran], arguments: tuple[str, ...], code: int, line: str
) -> None:
    ran = hooked("provider", "test", *arguments)
    assert ran.code == code
    assert line in ran.err


def test_a_recipient_of_somebody_else(hooked: Callable[..., Ran]) -> None:
    ran = hooked("provider", "test", "robot", "--to", "https://attacker.example/")
    assert ran.code == 1
    assert "permanent failure, address_forbidden: the recipient is not one of this" in ran.out


def test_a_mail_has_no_request_to_be_shown(hooked: Callable[..., Ran]) -> None:
    ran = hooked("provider", "test", "mails", "--to", "ada@example.com")
    assert ran.code == 0
    assert ran.out == "That was a dry run: nothing was sent. With --yes it is.\n"
