"""Prometheus's own programs, and what they say about the rules that are shipped."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.alerts.cases import Case

ROOT = Path(__file__).parents[2]
RULES = ROOT / "ops" / "prometheus" / "notify.rules.yml"
RUNBOOKS = ROOT / "ops" / "runbooks"


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is not installed: run ops/setup"
    return found


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [program("promtool"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def alerts_of(text: str) -> dict[str, list[str]]:
    """The alerts of a file of rules, each with its runbooks."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if match := re.match(r"\s+- alert: (\S+)$", line):
            name = match[1]
            found.setdefault(name, [])
        elif match := re.match(r"\s+runbook: (\S+)$", line):
            found[name].append(match[1])
    return found


def as_tests(cases: Iterable[Case], directory: Path, *, annotated: bool = False) -> Path:
    """A file for ``promtool test rules``: JSON, which is YAML.

    With ``annotated`` every case expects silence, so that promtool shows what fires instead.
    """
    tests = [_annotated(case) if annotated else _as_test(case) for case in cases]
    path = directory / "tests.yml"
    content = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}
    path.write_text(json.dumps(content))
    return path


def _series(case: Case) -> dict[str, Any]:
    series = [{"series": name, "values": values} for name, values in case.series.items()]
    return {"name": case.name, "interval": "1m", "input_series": series}


def _as_test(case: Case) -> dict[str, Any]:
    expected = [{"labels": _firing(case.alert, labels), "value": 1} for labels in case.fires]
    query = f'ALERTS{{alertname="{case.alert}",alertstate="firing"}}'
    test = {"expr": query, "eval_time": case.at, "exp_samples": expected}
    return _series(case) | {"promql_expr_test": [test]}


def _annotated(case: Case) -> dict[str, Any]:
    test = {"alertname": case.alert, "eval_time": case.at, "exp_alerts": []}
    return _series(case) | {"alert_rule_test": [test]}


def _firing(alert: str, labels: Any) -> str:
    every = {"alertname": alert, "alertstate": "firing", **labels}
    pairs = ",".join(f'{name}="{value}"' for name, value in every.items())
    return f"ALERTS{{{pairs}}}"
