"""The benchmarks work; how fast anything is, is not tested."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benching.registry import SCENARIOS

ROOT = Path(__file__).parents[2]
# A few that share servers, so that several processes can run them side by side.
GROUPS = {
    "publishing": ("publish", "email", "ladder"),
    "delivering": ("deliver", "workers", "slow", "idle"),
    "queueing": ("priority", "scale", "soak"),
    "storing": ("schedules", "archive"),
}
# Where the same work of several is compared, and where it was counted.
COMPARED = {"publish": "the queue", "deliver": "the gateway", "email": "smtp-sink"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benching", *arguments],
        env=dict(os.environ) | {"PYTHONPATH": "ops"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_each_scenario_is_tried() -> None:
    tried = [name for group in GROUPS.values() for name in group]
    assert sorted(tried) == sorted(scenario.name for scenario in SCENARIOS)


@pytest.mark.slow
@pytest.mark.timeout(630)
@pytest.mark.parametrize("group", GROUPS)
def test_the_short_form_measures_tells_and_draws(group: str, tmp_path: Path) -> None:
    kept, plots = tmp_path / "results.json", tmp_path / "plots"
    names = [f"--only={name}" for name in GROUPS[group]]
    done = bench("--short", *names, "--json", str(kept), "--plots", str(plots))
    assert done.returncode == 0, done.stderr
    scenarios = json.loads(kept.read_text())["scenarios"]
    assert scenarios.keys() == set(GROUPS[group])
    for name, scenario in scenarios.items():
        assert all(len(series["values"]) == 1 for series in scenario["series"])
        assert f"(`{name}`)" in done.stdout
        assert (plots / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for name in COMPARED.keys() & scenarios.keys():
        check_compared(scenarios[name], COMPARED[name])
    again = bench("--report", str(kept))
    assert (again.returncode, again.stdout) == (0, done.stdout)


def check_compared(scenario: dict[str, Any], counted_at: str) -> None:
    facts = scenario["facts"].values()
    assert len(facts) >= 3
    assert {each["counted at"] for each in facts} == {counted_at}
    assert len({(each["count"], each["ids"], each["payload"]) for each in facts}) == 1


def test_what_is_no_results_is_said_in_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"v": 99}')
    done = bench("--report", str(other))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith("other.json: no results of ops/bench")


def test_the_list_names_all() -> None:
    done = bench("--list")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == [scenario.name for scenario in SCENARIOS]


@pytest.mark.parametrize("arguments", [["--only", "nothing"], ["--rounds", "0"]])
def test_what_there_is_not_to_measure(arguments: list[str]) -> None:
    assert bench(*arguments).returncode == 2
