"""The shipped alerts: each fires when it should, and not when it should not."""

from pathlib import Path

import pytest

from tests.alerts.cases import CASES
from tests.alerts.promtool import RULES, RUNBOOKS, alerts_of, as_tests, promtool

ALERTS = alerts_of(RULES.read_text(encoding="utf-8"))


def test_prometheus_reads_the_rules_and_the_configuration() -> None:
    for arguments in (
        ("check", "rules", str(RULES)),
        ("check", "config", str(RULES.parent / "prometheus.yml")),
    ):
        checked = promtool(*arguments)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_alert_fires_and_is_silent_as_its_cases_say(tmp_path: Path) -> None:
    tested = promtool("test", "rules", str(as_tests(CASES, tmp_path)))
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_wrong_expectation_is_noticed(tmp_path: Path) -> None:
    firing = next(case for case in CASES if case.fires)
    path = as_tests([firing], tmp_path, annotated=True)
    assert promtool("test", "rules", str(path)).returncode != 0


@pytest.mark.parametrize("alert", sorted(ALERTS))
def test_each_alert_has_a_case_for_firing_and_one_for_silence(alert: str) -> None:
    cases = [case for case in CASES if case.alert == alert]
    assert any(case.fires for case in cases)
    assert any(not case.fires for case in cases)


def test_no_case_is_about_an_alert_that_is_gone() -> None:
    assert {case.alert for case in CASES} == ALERTS.keys()


def test_what_people_read_is_complete(tmp_path: Path) -> None:
    """With its values filled in: a template that fails says so in the text, and nowhere else."""
    firing = [case for case in CASES if case.fires]
    shown = promtool("test", "rules", str(as_tests(firing, tmp_path, annotated=True)))
    text = shown.stdout + shown.stderr
    assert text.count("description=") == len(firing)
    assert "<error" not in text
    assert "<no value>" not in text
    assert "NaN" not in text


@pytest.mark.parametrize("alert", sorted(ALERTS))
def test_each_alert_has_a_runbook(alert: str) -> None:
    assert ALERTS[alert]
    for name in ALERTS[alert]:
        assert (RUNBOOKS / name).is_file(), f"ops/runbooks/{name} is missing"
