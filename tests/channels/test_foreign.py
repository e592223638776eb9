"""Providers by entry point and by ``package.module:Class``."""

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from notify.channels import build_provider
from notify.config import plugins
from notify.config.described import PythonProvider
from notify.errors import ConfigError
from tests.unit.configs import SMS, load, problems

from .foreigners import Pigeon
from .values import failure, sms

HERE = "tests.channels.foreigners"
TEXTS = "channels/sms.toml"
PLACE = "channels/sms.toml: providers.0"


def section(name: str, rest: str = "") -> str:
    return f'[[providers]]\nname = "birds"\ntype = "python"\nclass = "{name}"\n{rest}'


def settings(**changes: Any) -> PythonProvider:
    values: dict[str, Any] = {"name": "birds", "type": "python", "class": f"{HERE}:Pigeon"}
    return PythonProvider(**values | {"values": {"loft": 3}} | changes)


def test_a_class_by_its_module(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    rest = f'values = {{ loft = 3 }}\nsecrets = {{ key_file = "{secret}" }}'
    (own,) = load(tmp_path, {TEXTS: section(f"{HERE}:Pigeon", rest)}).channel("sms").providers
    assert "s3cret" not in repr(own)
    assert isinstance(own, PythonProvider)
    made = build_provider(own)
    assert isinstance(made, Pigeon)
    assert (made.name, made.values, made.secrets) == ("birds", {"loft": 3}, {"key": "s3cret"})
    assert made.send(sms(), deadline=1).provider_id == "feather-3"
    assert failure(made, sms(body="stone")).detail == "too heavy"


def test_a_class_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(group: str, name: str) -> EntryPoints:
        every = EntryPoints(
            [
                EntryPoint("pigeon", f"{HERE}:Pigeon", plugins.GROUP),
                EntryPoint("twice", f"{HERE}:Pigeon", plugins.GROUP),
                EntryPoint("twice", f"{HERE}:Mute", plugins.GROUP),
                EntryPoint("pigeon", "elsewhere:X", "other.group"),
            ]
        )
        return every.select(group=group, name=name)

    monkeypatch.setattr(plugins, "entry_points", found)
    assert build_provider(settings(**{"class": "pigeon"})).name == "birds"
    for name, problem in (("dove", "no package has an"), ("twice", "two packages have an")):
        with pytest.raises(ValueError, match=f"{problem} entry point {name} in notify.providers"):
            plugins.load_class(name)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("no.such.module:X", f"{PLACE}.class: cannot be imported: ModuleNotFoundError"),
        (f"{HERE}:Eagle", f"{PLACE}.class: module {HERE} has no Eagle"),
        (f"{HERE}:NOT_A_CLASS", f"{PLACE}.class: is not a class"),
        (f"{HERE}:Mute", f"{PLACE}.class: has no method send"),
        (f"{HERE}:Hasty", f"{PLACE}.class: send must take a notification and deadline="),
        (f"{HERE}:Modest", f"{PLACE}.class: must take name, values and secrets"),
        ("", f"{PLACE}.class: no package has an entry point"),
    ],
)
def test_a_class_that_cannot_be_one_is_an_error_of_the_configuration(
    tmp_path: Path, name: str, line: str
) -> None:
    (found,) = problems(tmp_path, {TEXTS: section(name)})
    assert found.startswith(line)


def test_secrets_are_files(tmp_path: Path) -> None:
    text = section(f"{HERE}:Pigeon", 'secrets = { key = "s3cret" }')
    found = problems(tmp_path, {TEXTS: text})
    assert all(line.startswith(f"{PLACE}.secrets.key") for line in found)
    assert "s3cret" not in str(found)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"lost": True}, "cannot be made: ValueError"),
        ({"renamed": True}, "its name must be the one that it was given"),
    ],
)
def test_an_object_that_cannot_be_used(values: dict[str, Any], problem: str) -> None:
    broken = settings(values=values, secrets={"key_file": SecretStr("s3cret")})
    with pytest.raises(ConfigError, match=problem) as caught:
        build_provider(broken)
    assert "s3cret" not in str(caught.value)
    assert "provider birds: class " in str(caught.value)


def test_a_text_is_sent_again_only_where_it_can_be_told(tmp_path: Path) -> None:
    resend = "[send]\nunknown = 'resend'\n"
    text = section(f"{HERE}:Pigeon")
    (line,) = problems(tmp_path, {TEXTS: resend + text})
    assert line.startswith("channels/sms.toml: send.unknown: resend needs a provider with")
    assert not problems(tmp_path, {TEXTS: f"{resend}{text}takes_idempotency_key = true"})
    assert not problems(tmp_path, {TEXTS: f"{text}{SMS}"})
