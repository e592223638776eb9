"""The configuration of a drill: valid, short leases, and no way out of the sandbox."""

import tomllib
from pathlib import Path

import pytest

from notify.config import load_settings
from notify.drill.config import UNKNOWN, to_toml, write_config
from notify.drill.plan import LONGEST_OUTAGE

ENVIRON = {"NOTIFY_SANDBOX_HTTP": "http://127.0.0.1:1", "NOTIFY_SANDBOX_SMTP_PORT": "2"}


def test_it_is_valid_and_leads_to_the_sandbox_only(tmp_path: Path) -> None:
    write_config(tmp_path)
    settings = load_settings(tmp_path, ENVIRON)
    providers = {name: own.providers for name, own in settings.channels.items()}
    assert [str(p.url) for p in providers["sms"]] == ["http://127.0.0.1:1/sms"]  # type: ignore[union-attr]
    assert [(p.host, p.port) for p in providers["email"]] == [("127.0.0.1", 2)]  # type: ignore[union-attr]
    assert {p.type for p in providers["webhook"]} == {"webhook"}
    assert all(own.send.lease == own.send.deadline + 5 for own in settings.channels.values())


def test_texts_and_mails_may_have_a_second_provider(tmp_path: Path) -> None:
    write_config(tmp_path, spare=True)
    environ = {"NOTIFY_SPARE_HTTP": "http://127.0.0.1:3", "NOTIFY_SPARE_SMTP_PORT": "4"}
    channels = load_settings(tmp_path, ENVIRON | environ).channels
    names = {name: [p.name for p in own.providers] for name, own in channels.items()}
    assert names == {
        "sms": ["sandbox-sms", "spare-sms"],
        "email": ["sandbox-mail", "spare-mail"],
        "webhook": ["sandbox-hook"],
    }
    assert [str(p.url) for p in channels["sms"].providers] == [  # type: ignore[union-attr]
        "http://127.0.0.1:1/sms",
        "http://127.0.0.1:3/sms",
    ]
    assert [p.port for p in channels["email"].providers] == [2, 4]  # type: ignore[union-attr]


@pytest.mark.parametrize("spare", [False, True])
def test_each_breaker_opens_and_is_tried_again_within_seconds(tmp_path: Path, spare: bool) -> None:
    write_config(tmp_path, spare=spare)
    environ = {"NOTIFY_SPARE_HTTP": "http://127.0.0.1:3", "NOTIFY_SPARE_SMTP_PORT": "4"}
    channels = load_settings(tmp_path, ENVIRON | environ).channels.values()
    breakers = {provider.breaker for own in channels for provider in own.providers}
    assert [(b.enabled, b.minimum, b.window, b.open_for, b.longest) for b in breakers] == [
        (True, 10, 10.0, 1.0, 4.0)
    ]


def test_nothing_is_given_up_in_the_longest_outage(tmp_path: Path) -> None:
    write_config(tmp_path)
    for own in load_settings(tmp_path, ENVIRON).channels.values():
        assert min(own.retry.give_up_after.urgent, own.retry.give_up_after.normal) > LONGEST_OUTAGE


def test_unknown_outcomes_mean_what_they_mean_as_shipped(tmp_path: Path) -> None:
    write_config(tmp_path)
    for source in (load_settings(tmp_path, ENVIRON), load_settings("config", {})):
        assert {name: own.send.unknown for name, own in source.channels.items()} == UNKNOWN


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1, "b": 1.5, "c": True, "d": "text", "e": [1, 2], "f": []},
        {"table": {"inner": {"key": "value"}, "empty": {}}},
        {"tables": [{"name": "one", "deep": {"x": [{"y": 1}]}}, {"name": "two"}]},
        {"quotes": 'a "b" \\ c', "lines": "a\nb\tc", "wide": "⏰ ä", "odd": "\x00\x1f\x7f"},
        {"a key with spaces": 1, "ä.b": {'"': 2}},
    ],
)
def test_what_is_written_reads_as_it_was(values: dict[str, object]) -> None:
    assert tomllib.loads(to_toml(values)) == values
