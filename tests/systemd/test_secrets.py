"""Secrets by their name: as systemd's credentials in a unit, as files on a command line."""

from pathlib import Path

import pytest

from notify.errors import ConfigError
from tests.unit.configs import load

BROKER = """
[broker]
urls = ["amqp://notify-worker@127.0.0.1:5672/notify"]
management_url = "http://notify-monitor@127.0.0.1:15672"
password_file = "broker-password"
"""
URL = "amqp://notify-worker:{}@127.0.0.1:5672/notify"


def secret(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text + "\n")


@pytest.mark.parametrize("name", ["broker-password", "notify_broker-password"])
def test_a_unit_reads_its_credential(tmp_path: Path, name: str) -> None:
    secret(tmp_path / "credentials", name, "handed")
    secret(tmp_path / "secrets", "broker-password", "stored")
    handed = str(tmp_path / "credentials")
    settings = load(tmp_path, {"notify.toml": BROKER}, CREDENTIALS_DIRECTORY=handed)
    assert settings.broker.urls == (URL.format("handed"),)


def test_a_command_line_reads_the_stored_one(tmp_path: Path) -> None:
    secret(tmp_path / "secrets", "broker-password", "stored")
    settings = load(tmp_path, {"notify.toml": BROKER})
    assert settings.broker.urls == (URL.format("stored"),)
    assert settings.broker.management_url == "http://notify-monitor:stored@127.0.0.1:15672"


def test_whoever_only_asks_may_have_another_password(tmp_path: Path) -> None:
    secret(tmp_path / "secrets", "broker-password", "one")
    secret(tmp_path / "secrets", "management-password", "other")
    text = BROKER + 'management_password_file = "management-password"\n'
    settings = load(tmp_path, {"notify.toml": text})
    assert settings.broker.urls == (URL.format("one"),)
    assert settings.broker.management_url == "http://notify-monitor:other@127.0.0.1:15672"


def test_somebody_else_for_once_by_the_environment(tmp_path: Path) -> None:
    secret(tmp_path / "secrets", "broker-password", "one")
    secret(tmp_path / "elsewhere", "once", "two")
    settings = load(
        tmp_path,
        {"notify.toml": BROKER},
        NOTIFY_BROKER_URLS="amqp://setup@127.0.0.1:5672/notify",
        NOTIFY_BROKER_PASSWORD_FILE=str(tmp_path / "elsewhere" / "once"),
    )
    assert settings.broker.urls == ("amqp://setup:two@127.0.0.1:5672/notify",)


def test_a_secret_that_is_nowhere_is_named_by_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"broker\.password_file: cannot be read"):
        load(tmp_path, {"notify.toml": BROKER})


def test_a_user_without_a_password_is_refused(tmp_path: Path) -> None:
    text = BROKER.replace('password_file = "broker-password"\n', "")
    with pytest.raises(ConfigError, match="a user without a password: set password_file"):
        load(tmp_path, {"notify.toml": text})
