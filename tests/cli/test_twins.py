"""Every option has a twin in the environment, named after the command and the option."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from notify.cli.main import cli
from tests.cli.conftest import Ran


def options(command: click.Command, path: str = "NOTIFY") -> Iterator[tuple[str, click.Option]]:
    """Each option with the twin that the help text promises."""
    for option in command.params:
        if isinstance(option, click.Option) and option.name != "version":
            name = max(option.opts, key=len).removeprefix("--").replace("-", "_")
            yield f"{path}_{name}".upper(), option
    for name, child in getattr(command, "commands", {}).items():
        yield from options(child, f"{path}_{name}")


def test_every_option_has_the_twin_that_the_help_promises() -> None:
    found = dict(options(cli))
    assert {"NOTIFY_CONFIG", "NOTIFY_SEND_FILE", "NOTIFY_DEAD_LIST_JSON"} <= found.keys()
    assert {twin: option.envvar for twin, option in found.items()} == {twin: twin for twin in found}


def test_no_two_options_of_a_command_have_one_value() -> None:
    def names(command: click.Command, path: str) -> Iterator[str]:
        yield from (f"{path} {option.name}" for option in command.params)
        for name, child in getattr(command, "commands", {}).items():
            yield from names(child, f"{path} {name}")

    found = list(names(cli, "notify"))
    assert sorted(set(found)) == sorted(found)


@pytest.mark.parametrize(
    ("twin", "value", "arguments", "named"),
    [
        ("NOTIFY_SEND_PRIORITY", "high", ("send", "sms", "+491701234567"), "'--priority'"),
        ("NOTIFY_SEND_FILE", "no-such.csv", ("send",), "no-such.csv: cannot be read"),
        ("NOTIFY_SEND_LABEL", "shop", ("send", "sms", "+491701234567"), "--label: must be NAME"),
        ("NOTIFY_SEND_EXPIRES_AT", "soon", ("send", "sms", "+491701234567"), "expires_at: "),
        ("NOTIFY_DEAD_LIST_LIMIT", "0", ("dead", "list"), "'--limit'"),
        (
            "NOTIFY_SCHEDULE_ADD_EVERY",
            "0s",
            ("schedule", "add", "a", "sms", "+491701234567", "--body", "Hello"),
            "every: must be",
        ),
    ],
)
def test_a_twin_is_read(
    offline: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    twin: str,
    value: str,
    arguments: tuple[str, ...],
    named: str,
) -> None:
    monkeypatch.setenv(twin, value)
    ran = offline(*arguments)
    assert ran.code == 2
    assert named in ran.err


def test_an_option_wins_over_its_twin(
    offline: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NOTIFY_DEAD_LIST_LIMIT", "0")
    assert offline("dead", "list", "--limit", "5").code == 0
    monkeypatch.setenv("NOTIFY_CONFIG", "/no/such")
    assert offline("--config", str(tmp_path), "config", "check").code == 0


def test_a_flag_has_a_twin_too(
    offline: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_DEAD_LIST_JSON", "true")
    assert offline("dead", "list").out.startswith("{")
