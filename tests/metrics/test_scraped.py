"""Alerts and dashboards ask for what the processes show, and label it as they do."""

import json
import re
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from prometheus_client import CollectorRegistry

from notify.config.numbers import PROCESSES
from notify.metrics import ArchiverMetrics, BeatMetrics, ExporterMetrics, Metrics
from tests.alerts.promtool import RULES
from tests.deployment import Deployment
from tests.metrics.scrapes import names, until_shown
from tests.ports import first_of

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "ops" / "grafana"
DASHBOARDS = sorted(GRAFANA.glob("*.json"))
# What Prometheus adds by itself, or the configuration of its targets.
FROM_PROMETHEUS = {"up", "ALERTS"}
TARGET_LABELS = {"job", "instance", "process", "le", "alertname", "alertstate"}
_METRIC = re.compile(r"\b((?:notify|process)_[a-z_]+|up|ALERTS)\b(?:\{([^}]*)\})?")
_BY = re.compile(r"\b(?:by|on) \(([^)]*)\)")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")


def expressions() -> dict[str, list[str]]:
    """Every expression that is shipped, by the file it is in."""
    found = {path.name: list(_of_dashboard(path)) for path in DASHBOARDS}
    text = RULES.read_text(encoding="utf-8")
    blocks = re.findall(r"\n        expr: (.*?)\n        (?:for|labels):", text, re.DOTALL)
    return found | {RULES.name: [" ".join(block.split()) for block in blocks]}


def _of_dashboard(path: Path) -> Iterator[str]:
    for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))


def asked_for() -> set[str]:
    # "process" is a label as well.
    every = [
        name for each in expressions().values() for e in each for name, _ in _METRIC.findall(e)
    ]
    return {name for name in every if name not in FROM_PROMETHEUS}


@pytest.mark.broker
@pytest.mark.redis
def test_the_processes_show_all_that_is_asked_for(deploy: Callable[..., Deployment]) -> None:
    first = first_of(len(PROCESSES))
    deployment = deploy(metrics=first)
    deployment.worker("sms", "urgent")
    for process in ("archiver", "beat", "exporter"):
        deployment.start(process)
    shown = [until_shown(first + offset) for offset in (0, 6, 7, 8)]
    found = set().union(*map(names, shown))
    assert asked_for() - found == set()
    for text in shown:
        assert 'notify_build_info{config="' in text


def test_expressions_were_found() -> None:
    assert len(expressions()[RULES.name]) == RULES.read_text().count("- alert: ")
    assert len(asked_for()) > 30


def declared() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for kind in (Metrics, ArchiverMetrics, BeatMetrics, ExporterMetrics):
        registry: CollectorRegistry = kind().registry
        for name, collector in registry._names_to_collectors.items():
            found.setdefault(name, set()).update(getattr(collector, "_labelnames", ()))
    return found


@pytest.mark.parametrize("file", sorted(expressions()))
def test_labels_are_those_that_the_metrics_have(file: str) -> None:
    known = declared()
    for expression in expressions()[file]:
        used: set[str] = set()
        for name, selector in _METRIC.findall(expression):
            if name in FROM_PROMETHEUS:
                continue
            own = known.get(name, set())  # process_… have none
            used |= own
            wrong = set(_LABEL.findall(selector)) - own - TARGET_LABELS
            assert wrong == set(), f"{name} has no {wrong}: {expression}"
        grouped = {label.strip() for by in _BY.findall(expression) for label in by.split(",")}
        assert grouped - used - TARGET_LABELS - {""} == set(), expression


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.name)
def test_each_panel_says_what_good_looks_like(path: Path) -> None:
    panels = json.loads(path.read_text(encoding="utf-8"))["panels"]
    assert panels
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        if panel["type"] != "row":
            assert panel["targets"]
            assert panel["description"].startswith("Good: ")


def test_the_dashboards_are_those_that_the_script_writes() -> None:
    script = _script()
    for name, value in script.dashboards().items():
        written = (GRAFANA / name).read_text(encoding="utf-8")
        assert written == script.text_of(value), f"run ops/grafana/build.py: {name}"
    assert {path.name for path in DASHBOARDS} == script.dashboards().keys()


def _script() -> ModuleType:
    spec = spec_from_file_location("dashboards", GRAFANA / "build.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_counted_by_what_is_not_known_before() -> None:
    """Whatever else a label may hold would be a recipient one day."""
    labels = {label for names in declared().values() for label in names}
    assert labels <= {
        *("channel", "priority", "provider", "outcome", "reason", "done", "why", "state"),
        *("queue", "role", "node", "kind", "version", "config", "rule"),
    }
