"""From figures to ratios, JSON and tables."""

from pathlib import Path

import pytest

from benching import report
from benching.gateway import pace, steps
from benching.plots import draw
from benching.spread import Spread, all_series, instant, ratios
from benching.values import Aim, Axes, Figure, Findings, Run


def run(rate: float, memory: float = 50.0) -> Run:
    return Run(
        figures=(
            Figure(name="rate", unit="a second", value=rate),
            Figure(name="memory", unit="MB", value=memory),
        ),
        curves={"hits": [(0.0, 1.0), (1.0, rate)]},
    )


OURS = (run(1000), run(900), run(1250))
THEIRS = (run(250), run(300), run(250))
FINDINGS = Findings(
    runs={"ours": OURS, "theirs": THEIRS},
    aims=(
        Aim(of="ours", to="theirs", least=3),
        Aim(of="ours", to="theirs", least=5),
        Aim(of="ours", less="theirs", most=800),
        Aim(of="ours: memory", most=60),
        Aim(of="theirs"),
        Aim(of="theirs", to="ours", least=0.1, most=0.2),
    ),
    axes=Axes(title="Hits", x="seconds", y="hits"),
)


def whole() -> dict[str, object]:
    machine = {"processors": "2 x some", "redis": "7.0"}
    return report.whole("short", machine, {"some": report.as_json("A title", FINDINGS)})


def test_ratios_are_of_the_same_round() -> None:
    found = ratios(all_series(FINDINGS.runs), FINDINGS.aims)
    assert [each.values for each in found] == [
        (4, 3, 5),
        (4, 3, 5),
        (750, 600, 1000),
        (50, 50, 50),
        (250, 300, 250),
        (0.25, pytest.approx(1 / 3), 0.2),
    ]
    assert [each.reached for each in found] == [True, False, True, True, None, False]
    assert Spread.of(found[0].values) == Spread(median=4, least=3, most=5)


def test_an_aim_names_a_figure_that_there_is() -> None:
    with pytest.raises(KeyError):
        ratios(all_series(FINDINGS.runs), [Aim(of="others")])


def test_the_tables() -> None:
    text = report.markdown(whole())
    assert "processors 2 x some; redis 7.0" in text
    assert "### A title (`some`)" in text
    assert "| ours | a second | 1,000 | 900 to 1,250 |" in text
    assert "| ours: memory | MB | 50 |  |" in text
    assert "| ours : theirs | 4 | 3 to 5 | ≥ 3 | yes |" in text
    assert "| ours : theirs | 4 | 3 to 5 | ≥ 5 | **no** |" in text
    assert "| ours - theirs | 750 | 600 to 1,000 | ≤ 800 | yes |" in text
    assert "| theirs | 250 | 250 to 300 |  |  |" in text
    assert "| theirs : ours | 0.25 | 0.2 to 0.333 | 0.1 to 0.2 | **no** |" in text


def test_what_was_kept_is_told_and_drawn_again(tmp_path: Path) -> None:
    results, kept = whole(), tmp_path / "results.json"
    report.write(kept, results)
    again = report.read(kept)
    assert report.markdown(again) == report.markdown(results)
    made = draw(again, tmp_path / "plots")
    assert [path.name for path in made] == ["some.png", "some-curves.png"]


@pytest.mark.parametrize("text", ["{}", "[]", '{"v": 99}', "no JSON"])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError):
        report.read(path)


def test_the_pace_leaves_out_beginning_and_end() -> None:
    """Ten in a second, after a slow beginning and before a slow end."""
    hits = [0.0, *(100 + number / 10 for number in range(11)), 500.0]
    assert pace(hits, 1, 12) == pytest.approx(10.0)
    assert steps([0.0, 1.0, 3.0]) == [(0.0, 1.0), (1.0, 2.0), (3.0, 3.0)]
    assert len(steps([float(number) for number in range(5000)])) == 500


def test_an_instant_between_two_looks_is_on_a_straight_line() -> None:
    growth = [(0.0, 0.0), (1.0, 0.0), (2.0, 100.0), (3.0, 100.0)]
    assert instant(growth, 25.0) == 1.25
    assert instant(growth, 100.0) == 2.0
