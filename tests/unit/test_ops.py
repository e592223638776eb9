"""What is shipped beside the code agrees with it: policies and units."""

import json
import re
from pathlib import Path

import pytest

from notify.cli.main import cli
from notify.topology import Policy, build

ROOT = Path(__file__).parents[2]
TOPOLOGY = build([("sms", "normal")], [1], 10)
UNITS = sorted((ROOT / "systemd").glob("*.service"))


def as_shipped(policy: Policy) -> dict[str, object]:
    return {
        "name": policy.name,
        "pattern": policy.pattern,
        "apply-to": "queues",
        "priority": 10,
        "definition": policy.definition,
    }


@pytest.mark.parametrize(
    ("versions", "version"), [("4.0 and later", (4, 0, 5)), ("3.10 to 3.13", (3, 10, 8))]
)
def test_the_shipped_policies_are_those_that_are_set(
    versions: str, version: tuple[int, ...]
) -> None:
    shipped = json.loads((ROOT / "ops/rabbitmq/policies.json").read_text())
    assert shipped[versions] == [as_shipped(policy) for policy in TOPOLOGY.policies(version)]


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_every_unit_starts_a_command_that_exists(unit: Path) -> None:
    (command,) = re.findall(r"^ExecStart=\S+/notify (\S+)", unit.read_text(), re.MULTILINE)
    assert command in cli.commands


def test_there_is_a_unit_for_each_process() -> None:
    names = {unit.stem.removeprefix("notify-").rstrip("@") for unit in UNITS}
    assert names == {"worker", "archiver", "beat", "exporter"}
