"""``notify webhook verify``: what a receiver learns of the webhook it was sent."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from notify.channels.standard import headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"text":"您好"}'.encode()


def verify(
    tmp_path: Path,
    body: bytes,
    values: dict[str, str],
    *options: str,
    secret: str = SECRET,
) -> subprocess.CompletedProcess[bytes]:
    """Run where there is no configuration: receivers have none."""
    path = tmp_path / "secret"
    path.write_text(secret)
    given = [f"--{name.removeprefix('webhook-')}={value}" for name, value in values.items()]
    command = [sys.executable, "-m", "notify", "webhook", "verify", f"--secret-file={path}"]
    return subprocess.run(
        [*command, *given, *options], input=body, capture_output=True, timeout=60, check=False
    )


def signed(age: int = 0) -> dict[str, str]:
    return headers("order-7", int(time.time()) - age, BODY, [SECRET])


def test_a_webhook_as_it_came_is_valid(tmp_path: Path) -> None:
    ran = verify(tmp_path, BODY, signed())
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"valid\n", b"")


@pytest.mark.parametrize(
    ("body", "age", "secret", "says"),
    [
        (BODY + b"\n", 0, SECRET, b"changed body: it has got a line break"),
        (b'{"text": "\\u60a8\\u597d"}', 0, SECRET, b"changed body: it was read as JSON"),
        (BODY, 0, SECRET.replace("Mf", "Nf"), b"wrong secret, or another id, timestamp or body"),
        (b"\xff\x00", 0, SECRET, b"wrong secret, or another id, timestamp or body"),
        (BODY, 400, SECRET, b"too old: signed 4"),
        (BODY, -400, SECRET, b"too new: signed "),
    ],
)
def test_one_that_is_not_says_why(
    tmp_path: Path, body: bytes, age: int, secret: str, says: bytes
) -> None:
    ran = verify(tmp_path, body, signed(age), secret=secret)
    assert ran.returncode == 1
    assert ran.stdout.startswith(says)
    assert ran.stderr == b""


def test_an_old_one_is_valid_with_more_tolerance(tmp_path: Path) -> None:
    assert verify(tmp_path, BODY, signed(400), "--tolerance=1000").returncode == 0


def test_headers_that_are_no_such_headers(tmp_path: Path) -> None:
    ran = verify(tmp_path, BODY, signed() | {"webhook-timestamp": "yesterday"})
    assert (ran.returncode, ran.stdout[:10]) == (1, b"malformed:")


def test_a_secret_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    ran = verify(tmp_path, BODY, signed(), secret="hunter2-hunter2")
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"notify: --secret-file: must be base64")
    assert b"hunter2" not in ran.stderr
