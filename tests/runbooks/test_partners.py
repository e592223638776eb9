"""Alert, runbook, check, reason and metric: none is without its partner."""

import re
from functools import cache
from pathlib import Path

import pytest

from notify.doctor import ALL_CHECKS, Check
from notify.explanations import EXPLANATIONS, explain
from notify.metrics import ArchiverMetrics, BeatMetrics, ExporterMetrics, Metrics
from notify.outcomes import Reason
from tests.alerts.promtool import RULES, alerts_of
from tests.runbooks.reading import ALL, INDEX, RUNBOOKS, links

ALERTS = alerts_of(RULES.read_text(encoding="utf-8"))
PARTS = ("Meaning", "Impact", "Diagnosis", "Verify", "Escalate")
OF_ALERTS = sorted({name for names in ALERTS.values() for name in names})
_METRIC = re.compile(r"\bnotify_[a-z0-9_]+")


def row(name: str) -> str:
    """The line of the index with that in its first cell."""
    lines = INDEX.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if f"`{name}`" in line.partition("|")[2].partition("|")[0]]
    assert len(found) == 1, f"README.md: {name} stands in {len(found)} tables"
    return found[0]


@pytest.mark.parametrize("alert", sorted(ALERTS))
def test_each_alert_is_in_the_index_with_its_runbook(alert: str) -> None:
    (runbook,) = set(ALERTS[alert])
    assert (RUNBOOKS / runbook).is_file()
    assert f"({runbook})" in row(alert)


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.name)
def test_each_check_is_in_the_index_with_its_runbook(check: Check) -> None:
    runbook = f"{check.runbook}.md"
    assert (RUNBOOKS / runbook).is_file()
    assert f"({runbook})" in row(check.name)


@pytest.mark.parametrize("reason", list(Reason))
def test_each_reason_has_a_row_in_its_runbook_and_in_the_index(reason: Reason) -> None:
    runbook = f"{explain(reason).runbook}.md"
    assert f"({runbook})" in row(reason)
    text = (RUNBOOKS / runbook).read_text(encoding="utf-8")
    assert re.search(rf"^\| `{reason}` \|", text, re.MULTILINE), f"{runbook}: {reason}"


def test_the_index_names_no_alert_check_or_reason_that_is_gone() -> None:
    known = {*ALERTS, *(check.name for check in ALL_CHECKS), *map(str, EXPLANATIONS)}
    tables = INDEX.read_text(encoding="utf-8").partition("## By alert")[2]
    cells = [line.split("|")[1] for line in tables.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([^`]+)`", " ".join(cells))) == known


def test_each_runbook_can_be_reached_from_the_index() -> None:
    assert links(INDEX) == {path.name for path in ALL} - {INDEX.name}


@pytest.mark.parametrize("runbook", ALL, ids=lambda path: path.stem)
def test_each_link_leads_to_a_runbook(runbook: Path) -> None:
    assert links(runbook) <= {path.name for path in ALL}
    assert runbook.name not in links(runbook)


@pytest.mark.parametrize("runbook", ALL, ids=lambda path: path.stem)
def test_each_runbook_has_its_parts_in_order(runbook: Path) -> None:
    text = runbook.read_text(encoding="utf-8")
    assert text.startswith("# ")
    if runbook.name in ("README.md", "go-live.md"):  # an index, and a list to tick off
        return
    wanted = (*PARTS[:3], "Mitigation", *PARTS[3:]) if runbook.name in OF_ALERTS else PARTS
    at = [text.find(f"\n**{part}.**") for part in wanted]
    assert -1 not in at, f"lacks one of {wanted}"
    assert at == sorted(at)


@cache
def metrics() -> frozenset[str]:
    """Every name under which Prometheus may see one."""
    kinds = (ArchiverMetrics, BeatMetrics, ExporterMetrics, Metrics)
    return frozenset(name for kind in kinds for name in kind().registry._names_to_collectors)


@pytest.mark.parametrize("runbook", ALL, ids=lambda path: path.stem)
def test_each_metric_exists(runbook: Path) -> None:
    for line in runbook.read_text(encoding="utf-8").splitlines():
        for name in _METRIC.findall(line):
            sought = "| grep" in line and any(each.startswith(name) for each in metrics())
            assert name in metrics() or sought, name
