"""The results as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benching.report import curves_of, series_of
from benching.spread import Series, Spread

_WIDE: Final = (8.0, 4.5)
_DOTS: Final = 120
_AXES: Final = {"title": "Hits at the gateway", "x": "seconds", "y": "hits"}


def draw(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Of each scenario its main figures, with their spread, and its curves where it has any."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, scenario in results["scenarios"].items():
        made.append(_bars(scenario, folder / f"{name}.png"))
        curves = curves_of(scenario)
        if curves:
            made.append(_curves(scenario, folder / f"{name}-curves.png"))
    return made


def _figure() -> Any:
    # Without a screen, and only where plots are asked for: it is not needed for numbers.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(figsize=_WIDE, layout="constrained")


def _save(figure: Any, path: Path) -> Path:
    from matplotlib import pyplot

    figure.savefig(path, dpi=_DOTS)
    pyplot.close(figure)
    return path


def _bars(scenario: Mapping[str, Any], path: Path) -> Path:
    """Those main figures that have the unit of the first."""
    main = [each for each in series_of(scenario) if each.main]
    shown = [each for each in main if each.unit == main[0].unit]
    spreads = [Spread.of(each.values) for each in shown]
    figure, axes = _figure()
    middle = [each.median for each in spreads]
    around = [
        [each.median - each.least for each in spreads],
        [each.most - each.median for each in spreads],
    ]
    axes.barh(_names(shown), middle, xerr=around, capsize=4)
    axes.invert_yaxis()
    axes.set_xlabel(shown[0].unit)
    axes.set_title(scenario["title"])
    return _save(figure, path)


def _names(series: Sequence[Series]) -> list[str]:
    return [each.contestant for each in series]


def _curves(scenario: Mapping[str, Any], path: Path) -> Path:
    labels = scenario["axes"] or _AXES
    figure, axes = _figure()
    for name, points in curves_of(scenario).items():
        axes.plot([x for x, _ in points], [y for _, y in points], label=name)
    axes.set_title(labels["title"])
    axes.set_xlabel(labels["x"])
    axes.set_ylabel(labels["y"])
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend()
    return _save(figure, path)
