"""``notify template``, and templates in ``notify config check`` and ``notify send``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from tests.deployment import Deployment
from tests.templates import folders

PHONE = "+491701234567"
DECLARED = """description = "A code."
[variables.code]
type = "line"
sample = "552 104"
[variables.minutes]
type = "integer"
sample = 10
default = 5
"""
FILES = {
    "template.toml": DECLARED,
    "sms.txt": "Code {{ code }}, {{ minutes }} min\n",
    "json.json": '{"code": {{ code }}}',
}


@pytest.fixture
def shell(offline: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Runs a command with one template, ``code``."""
    (tmp_path / "templates").mkdir()
    folders.write(tmp_path / "templates", FILES, "code")
    return offline


def test_a_list_and_one_of_it(shell: Callable[..., Ran]) -> None:
    listed = shell("template", "list")
    assert listed.code == 0
    assert listed.out.splitlines()[1].startswith("code  sms, webhook  ")
    facts = json.loads(shell("template", "list", "--json").out)
    assert [(item["name"], item["channels"]) for item in facts] == [("code", ["sms", "webhook"])]
    assert json.loads(shell("template", "show", "code", "--json").out) == facts[0]
    shown = shell("template", "show", "code").out
    assert f"version {facts[0]['version']}; channels: sms, webhook" in shown
    assert "minutes   integer  no        10" in shown


def test_rendering_shows_what_would_be_sent(shell: Callable[..., Ran]) -> None:
    assert shell("template", "render", "code", "--sample").out == (
        "--- sms: body\nCode 552 104, 10 min\n--- webhook: data\n" + '{\n  "code": "552 104"\n}\n'
    )
    one = ("template", "render", "code", "--channel", "sms", "--json")
    given = json.loads(shell(*one, "--var", "code=7=8").out)
    assert given["channels"] == {"sms": {"body": "Code 7=8, 5 min"}}
    mixed = json.loads(shell(*one, "--sample", "--var", "minutes=9").out)
    assert mixed["channels"] == {"sms": {"body": "Code 552 104, 9 min"}}
    assert len(mixed["version"]) == 12


SMS = ("send", "sms", PHONE)
WRONG = [
    (("template", "show", "nope"), "template: there is no such template; known: code"),
    (("template", "render", "code"), "give --sample, or a --var for each variable"),
    (("template", "render", "code", "--var", "minutes=5"), "variables.code: is required"),
    (("template", "render", "code", "--var", "code"), "--var: must be NAME=VALUE"),
    (("template", "render", "code", "--var", "code=1", "--var", "minutes=x"), "minutes: must be a"),
    (("template", "render", "code", "--sample", "--var", "size=1"), "variables.size: is not decl"),
    (("template", "render", "code", "--sample", "--channel", "email"), "nothing for channel email"),
    ((*SMS, "--template", "nope"), "template: there is no such template; known: code"),
    ((*SMS, "--template", "code"), "variables.code: is required"),
    ((*SMS, "--template", "code", "--var", "code=evil.com"), "variables.code: contains what a"),
    ((*SMS, "--template", "code", "--var", "code=1", "--body", "x"), "body: comes from the temp"),
    ((*SMS, "--body", "x", "--var", "code=1"), "--var needs --template"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "named"), WRONG, ids=lambda value: str(value)[-50:])
def test_wrong_usage_is_exit_code_2_and_named(
    shell: Callable[..., Ran], arguments: tuple[str, ...], named: str
) -> None:
    ran = shell(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err
    assert "Traceback" not in ran.err


def test_what_is_rendered_is_published(shell: Callable[..., Ran], tmp_path: Path) -> None:
    """As far as one comes without a server."""
    ran = shell(*SMS, "--template", "code", "--var", "code=271828", "--priority", "urgent")
    assert ran.code == 4
    path = tmp_path / "people.csv"
    path.write_text(f"channel,recipient,template,var.code\nsms,{PHONE},code,271828\n")
    assert shell("send", "--file", str(path)).code in (4, 5)
    path.write_text(f"channel,recipient,template,var.code\nsms,{PHONE},code,271828.com\n")
    refused = shell("send", "--file", str(path))
    assert refused.code == 2
    assert (
        "people.csv:2: column var.code: contains what a program may show as a link" in refused.err
    )
    assert "271828" not in refused.err


def test_a_check_reports_configuration_and_templates_at_once(
    shell: Callable[..., Ran], tmp_path: Path
) -> None:
    good = shell("config", "check")
    assert good.code == 0
    assert good.out.endswith("templates are valid: code\n")
    folders.write(tmp_path / "templates", FILES | {"sms.txt": "a\n{{ who }}{{ lipsum() }}"}, "code")
    (tmp_path / "notify.toml").write_text("[broker]\ncolour = 1\n")
    bad = shell("config", "check")
    assert (bad.code, bad.out) == (3, "")
    folder = tmp_path / "templates/code"
    assert bad.err.splitlines() == [
        f"notify: {tmp_path}/notify.toml: broker.colour: unknown key",
        f"{folder}/sms.txt:2: variable 'who' is not declared",
        f"{folder}/sms.txt:2: a call is not part of the template language here",
    ]
    assert shell("template", "list").code == 3


def test_a_missing_directory_is_said(offline: Callable[..., Ran]) -> None:
    ran = offline("--config", "/no/such", "template", "list")
    assert (ran.code, ran.err) == (3, "notify: /no/such: there is no such directory\n")


@pytest.mark.broker
@pytest.mark.redis
def test_from_the_shell_and_a_file_to_the_gateway(deployment: Deployment, tmp_path: Path) -> None:
    folders.write(deployment.directory / "config/templates", FILES, "code")
    one = deployment.cli("send", "sms", PHONE, "--template", "code", "--var", "code={{ 7*7 }}")
    assert (one.returncode, one.stderr) == (0, "")
    path = tmp_path / "people.csv"
    path.write_text(f"channel,recipient,template,var.code,var.minutes\nsms,{PHONE},code,7,9\n")
    assert deployment.cli("send", "--file", str(path)).stdout == "1 of 1 published\n"
    deployment.worker()
    received = {item.body for item in deployment.sandbox.wait_for(2, 20)}
    assert received == {"Code {{ 7*7 }}, 5 min", "Code 7, 9 min"}
