"""What a valid configuration becomes; the shipped one documents every key and its default."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import certifi
import pytest
from pydantic import BaseModel

from notify.config import (
    AnswerRule,
    CareRule,
    ChannelSettings,
    DigestSettings,
    EmailSettings,
    HttpSmsProvider,
    KeepLess,
    ProfileProvider,
    Settings,
    SmsSettings,
    SmtpProvider,
    WebhookProvider,
    WebhookSettings,
    load_settings,
)
from notify.config.models import Queues, RetrySettings
from notify.config.types import parse_duration
from tests.unit.configs import EMAIL, SMS, WEBHOOK, load, problems

SHIPPED = Path(__file__).parents[2] / "config"


def test_the_shipped_configuration_loads_without_any_environment() -> None:
    settings = load_settings(SHIPPED, {})
    assert settings.queues() == [
        (channel, priority)
        for channel in ("sms", "email", "webhook")
        for priority in ("urgent", "normal")
    ]
    horizons = {n: c.retry.give_up_after for n, c in settings.channels.items()}
    assert (horizons["sms"].urgent, horizons["sms"].normal) == (15 * 60, 4 * 3600)
    assert (horizons["email"].normal, horizons["webhook"].normal) == (86400, 86400)


def test_the_shipped_defaults_are_the_defaults() -> None:
    """``notify.toml`` says that every key is shown with its default."""
    shipped = load_settings(SHIPPED, {})
    assert shipped.model_copy(update={"channels": {}}).model_dump() == Settings().model_dump()
    for channel in shipped.channels.values():
        horizon = channel.retry.give_up_after
        assert channel.retry == RetrySettings(give_up_after=horizon)
        assert channel.queues == Queues()


@pytest.mark.parametrize("channel", ["sms", "email", "webhook"])
def test_what_a_channel_file_only_mentions_is_the_default_too(channel: str) -> None:
    """A line such as ``# cap = "1h"`` shows what holds without it."""
    text = (SHIPPED / f"channels/{channel}.toml").read_text(encoding="utf-8")
    commented = re.sub(r"^# ((?:first|factor|cap|jitter) = .*)$", r"\1", text, flags=re.M)
    assert commented != text
    expand = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", commented)
    models: dict[str, type[ChannelSettings]] = {
        "sms": SmsSettings,
        "email": EmailSettings,
        "webhook": WebhookSettings,
    }
    retry = models[channel].model_validate(tomllib.loads(expand)).retry
    assert retry == load_settings(SHIPPED, {}).channel(channel).retry


@pytest.mark.parametrize("channel", ["sms", "email", "webhook"])
def test_how_nice_a_worker_is_where_nothing_is_said(channel: str) -> None:
    """Each mention stands below the table that it is about."""
    text = (SHIPPED / f"channels/{channel}.toml").read_text(encoding="utf-8")
    shown = re.findall(r"^\[queues\.(\w+)\]\nconcurrency = \d+\n# nice = (\d+)$", text, re.M)
    queues = load_settings(SHIPPED, {}).channel(channel).queues
    assert shown == [("urgent", f"{queues.urgent.nice}"), ("normal", f"{queues.normal.nice}")]


def keys(model: type[BaseModel]) -> Iterator[str]:
    for name, item in model.model_fields.items():
        yield name
        if isinstance(item.default, BaseModel):
            yield from keys(type(item.default))


def shown(text: str) -> set[str]:
    """Keys and sections that stand in a file, commented out or not."""
    tables = re.findall(r"^(?:# )?\[+([a-z_.]+)\]+$", text, flags=re.M)
    names = re.findall(r"^(?:# )?([a-z_]+) = ", text, flags=re.M)
    return {*names, *(part for table in tables for part in table.split("."))}


@pytest.mark.parametrize(
    ("name", "model", "provider"),
    [
        ("notify.toml", Settings, None),
        ("channels/sms.toml", SmsSettings, HttpSmsProvider),
        ("channels/email.toml", EmailSettings, SmtpProvider),
        ("channels/webhook.toml", WebhookSettings, WebhookProvider),
    ],
)
def test_every_key_is_documented(
    name: str, model: type[BaseModel], provider: type[BaseModel] | None
) -> None:
    wanted = {*keys(model), *(keys(provider) if provider else ())} - {"channels"}
    if "answers" in wanted:
        wanted |= {*keys(AnswerRule), "profile", "values", "secrets", "class"}
    if provider is WebhookProvider:
        wanted |= {*keys(ProfileProvider)}
    if "care" in wanted:
        wanted |= {*keys(CareRule), *keys(DigestSettings), *keys(KeepLess)}
    text = (SHIPPED / name).read_text(encoding="utf-8")
    assert wanted <= shown(text)
    assert shown(text) <= wanted


def test_texts_take_variables_from_the_environment(tmp_path: Path) -> None:
    files = {
        "notify.toml": '[redis]\nurl = "redis://${HOST:-127.0.0.1}:${PORT}/0"\n'
        '[broker]\nurls = ["amqp://${HOST:-a}"]\n[log]\nlevel = "${EMPTY:-}INFO"',
        "channels/sms.toml": SMS.replace("http://127.0.0.1:8025", "${GATEWAY}")
        + 'headers = {X-Key = "${KEY:-a b}", X-Plain = "$HOME ${lower} $${KEY:-x}"}',
    }
    settings = load(tmp_path, files, PORT="6390", GATEWAY="https://gateway", HOST="")
    provider = settings.channel("sms").providers[0]
    assert isinstance(provider, HttpSmsProvider)
    assert settings.redis.url == "redis://127.0.0.1:6390/0"
    assert provider.url == "https://gateway/sms"
    assert provider.headers == {"X-Key": "a b", "X-Plain": "$HOME ${lower} $x"}


def test_environment_twins_win_over_the_file(tmp_path: Path) -> None:
    text = (
        '[broker]\nurls = ["amqp://file"]\nmanagement_url = "http://file"\n'
        '[redis]\nurl = "redis://file"\n[archive]\nurl = "sqlite:///file"\n'
        '[log]\nlevel = "ERROR"\nformat = "text"'
    )
    settings = load(
        tmp_path,
        {"notify.toml": text},
        NOTIFY_BROKER_URLS="amqp://one/v,amqp://two/v",
        NOTIFY_MANAGEMENT_URL="http://env:15672",
        NOTIFY_REDIS_URL="redis://env",
        NOTIFY_ARCHIVE_URL="postgresql://env/archive",
        NOTIFY_LOG_LEVEL="DEBUG",
        NOTIFY_LOG_FORMAT="json",
    )
    assert settings.broker.urls == ("amqp://one/v", "amqp://two/v")
    assert settings.broker.management_url == "http://env:15672"
    assert settings.redis.url == "redis://env"
    assert settings.archive.url == "postgresql://env/archive"
    assert (settings.log.level, settings.log.format) == ("DEBUG", "json")


def test_an_empty_twin_is_no_twin(tmp_path: Path) -> None:
    assert load(tmp_path, {}, NOTIFY_REDIS_URL="").redis == Settings().redis


def test_passwords_from_files_go_into_urls_quoted(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("p@ss/w:rd%#?\n", encoding="utf-8")
    text = (
        f'[broker]\npassword_file = "{secret}"\nurls = ["amqp://me@a:1/v", "amqps://me:old@b/v"]\n'
        f'management_url = "http://me@a:2, http://me@b:2"\n[redis]\npassword_file = "{secret}"\n'
        f'url = "redis://127.0.0.1:6379/3"\n[archive]\npassword_file = "{secret}"\n'
        f'url = "postgresql://me@a:5432/dead?sslmode=verify-full"'
    )
    settings = load(tmp_path, {"notify.toml": text})
    quoted = "p%40ss%2Fw%3Ard%25%23%3F"
    assert settings.broker.urls == (f"amqp://me:{quoted}@a:1/v", f"amqps://me:{quoted}@b/v")
    assert settings.broker.management_url == f"http://me:{quoted}@a:2,http://me:{quoted}@b:2"
    assert settings.redis.url == f"redis://:{quoted}@127.0.0.1:6379/3"
    archive = f"postgresql://me:{quoted}@a:5432/dead?sslmode=verify-full"
    assert settings.archive.url == archive


def test_only_the_last_line_break_is_taken_off_a_secret(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_bytes(b" with spaces \r\n")
    settings = load(tmp_path, {"channels/sms.toml": SMS + f"token_file = '{secret}'"})
    token = settings.channel("sms").providers[0].model_dump()["token_file"]
    assert token.get_secret_value() == " with spaces "


def test_networks_come_as_a_list_or_as_one_text(tmp_path: Path) -> None:
    def allowed(text: str, **environ: str) -> list[str]:
        files = {"channels/webhook.toml": f"{WEBHOOK}{text}"}
        (provider,) = load(tmp_path, files, **environ).channel("webhook").providers
        assert isinstance(provider, WebhookProvider)
        assert (provider.ports, provider.schemes) == ((80, 443), ("https", "http"))
        return [str(network) for network in provider.allow]

    assert allowed("") == allowed("allow = []") == allowed("allow = ''") == []
    assert allowed("allow = ['10.20.0.0/16', 'fd00::/8']") == ["10.20.0.0/16", "fd00::/8"]
    variable = "allow = '${NOTIFY_WEBHOOK_ALLOW:-}'"
    assert allowed(variable) == []
    networks = "127.0.0.0/8, ::1/128,"
    assert allowed(variable, NOTIFY_WEBHOOK_ALLOW=networks) == ["127.0.0.0/8", "::1/128"]


def test_no_webhook_goes_inside_unless_it_is_allowed_to() -> None:
    (provider,) = load_settings(SHIPPED, {}).channel("webhook").providers
    assert isinstance(provider, WebhookProvider)
    assert provider.allow == ()


def test_a_proxy_without_a_url_is_no_proxy(tmp_path: Path) -> None:
    text = SMS + "proxy = '${PROXY:-}'"
    for environ, proxy in (
        ({}, None),
        ({"PROXY": "http://u:p@proxy:3128"}, "http://u:p@proxy:3128"),
    ):
        (provider,) = (
            load(tmp_path, {"channels/sms.toml": text}, **environ).channel("sms").providers
        )
        assert isinstance(provider, HttpSmsProvider)
        assert provider.proxy == proxy


def test_only_the_certificates_of_a_file_are_taken(tmp_path: Path) -> None:
    bundle = Path(certifi.where())
    commented = tmp_path / "ca.pem"
    commented.write_text("# Größe\n" + bundle.read_text("utf-8"), encoding="utf-8")
    text = SMS + f"ca_file = '{commented}'"
    (provider,) = load(tmp_path, {"channels/sms.toml": text}).channel("sms").providers
    assert provider.ca_file is not None
    assert provider.ca_file.startswith("-----BEGIN CERTIFICATE-----")
    assert provider.ca_file.count("BEGIN") == bundle.read_text("utf-8").count("BEGIN CERT")


def test_a_file_without_certificates(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    for content in ("", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "\0\1"):
        key.write_text(content)
        found = problems(tmp_path, {"channels/sms.toml": f"{SMS}ca_file = '{key}'"})
        assert found == ["channels/sms.toml: providers.0.ca_file: is not a certificate file"]


def test_a_ca_file_needs_tls(tmp_path: Path) -> None:
    text = f"{EMAIL}ca_file = '{certifi.where()}'\nsecurity = 'none'"
    (problem,) = problems(tmp_path, {"channels/email.toml": text})
    assert problem == "channels/email.toml: providers.0: ca_file needs security starttls or tls"


def test_secrets_print_as_asterisks(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    files = {
        "notify.toml": f"[broker]\npassword_file = '{secret}'\nurls = ['amqp://u:hunter2@a']\n"
        f"management_url = 'http://u:hunter2@a'\n[redis]\nurl = 'redis://:hunter2@a'\n"
        f"password_file = '{secret}'\n[archive]\nurl = 'postgresql://u:hunter2@a/b'",
        "channels/sms.toml": SMS + f"token_file = '{secret}'\nproxy = 'http://u:hunter2@proxy'",
        "channels/email.toml": EMAIL + f"username = 'u'\npassword_file = '{secret}'",
    }
    settings = load(tmp_path, files)
    for text in (repr(settings), str(settings), f"{settings.broker!r}", f"{settings.channels}"):
        assert "hunter2" not in text
    assert "**********" in repr(settings)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(5, 5), (0.5, 0.5), ("10s", 10), ("1.5 m", 90), (" 24h ", 86400), ("7d", 604800)],
)
def test_durations(value: Any, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize("value", ["", "10", "s", "-5s", "1e3s", "5 s m", "٥s", True, None, [5]])
def test_what_is_no_duration(value: Any) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        parse_duration(value)


def test_a_policy_is_what_its_channel_and_priority_say(tmp_path: Path) -> None:
    text = '[retry.give_up_after]\nurgent = "15m"\n[send]\nunknown = "resend"' + SMS
    text += "takes_idempotency_key = true\n"
    channel = load(tmp_path, {"channels/sms.toml": text}).channel("sms")
    urgent, normal = channel.policy("urgent"), channel.policy("normal")
    assert (urgent.give_up_after, normal.give_up_after) == (900, 86400)
    assert urgent.resend_unknown
