"""The results as JSON, and from that as Markdown."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benching.spread import Ratio, Series, Spread, all_series, ratios
from benching.values import Aim, Findings, Points

VERSION: Final = 1
_MARKS: Final = {True: "yes", False: "**no**", None: ""}


def as_json(title: str, findings: Findings) -> dict[str, Any]:
    """Of one scenario."""
    series = all_series(findings.runs)
    return {
        "title": title,
        "series": [asdict(each) for each in series],
        "ratios": [asdict(each) for each in ratios(series, findings.aims)],
        "facts": {name: dict(runs[-1].facts) for name, runs in findings.runs.items()},
        "axes": asdict(findings.axes) if findings.axes else None,
        "curves": {name: dict(runs[-1].curves) for name, runs in findings.runs.items()},
    }


def whole(form: str, machine: Mapping[str, str], scenarios: Mapping[str, Any]) -> dict[str, Any]:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "v": VERSION,
        "at": at,
        "form": form,
        "machine": dict(machine),
        "scenarios": dict(scenarios),
    }


def write(path: Path, results: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Raises ``ValueError`` for what is no results."""
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or found.get("v") != VERSION:
        raise ValueError(f"{path}: no results of ops/bench")
    return found


def series_of(scenario: Mapping[str, Any]) -> list[Series]:
    return [Series(**{**each, "values": tuple(each["values"])}) for each in scenario["series"]]


def curves_of(scenario: Mapping[str, Any]) -> dict[str, Points]:
    """By contestant, the one curve that each has."""
    found = {}
    for name, curves in scenario["curves"].items():
        for points in curves.values():
            found[name] = [(float(x), float(y)) for x, y in points]
    return found


def markdown(results: Mapping[str, Any]) -> str:
    machine = "; ".join(f"{name} {value}" for name, value in results["machine"].items())
    parts = [f"Measured {results['at']}, {results['form']} form. {machine}."]
    for name, scenario in results["scenarios"].items():
        parts.append(_scenario(name, scenario))
    return "\n\n".join(parts)


def _scenario(name: str, scenario: Mapping[str, Any]) -> str:
    lines = [f"### {scenario['title']} (`{name}`)", "", "| | | median | least to most |"]
    lines.append("|---|---|---|---|")
    for each in series_of(scenario):
        spread = Spread.of(each.values)
        lines.append(f"| {each.name} | {each.unit} | {_number(spread.median)} | {_range(spread)} |")
    found = [_ratio(each) for each in scenario["ratios"]]
    if found:
        lines += ["", "| | median | least to most | aim | reached |", "|---|---|---|---|---|"]
        lines += [_ratio_line(each) for each in found]
    return "\n".join(lines)


def _ratio(kept: Mapping[str, Any]) -> Ratio:
    return Ratio(aim=Aim(**kept["aim"]), values=tuple(kept["values"]))


def _ratio_line(ratio: Ratio) -> str:
    spread = Spread.of(ratio.values)
    cells = (ratio.name, _number(spread.median), _range(spread), _aim(ratio.aim))
    return f"| {' | '.join(cells)} | {_MARKS[ratio.reached]} |"


def _aim(aim: Aim) -> str:
    if aim.least is not None and aim.most is not None:
        return f"{aim.least:g} to {aim.most:g}"
    if aim.least is not None:
        return f"≥ {aim.least:g}"
    return "" if aim.most is None else f"≤ {aim.most:g}"


def _range(spread: Spread) -> str:
    if spread.least == spread.most:
        return ""
    return f"{_number(spread.least)} to {_number(spread.most)}"


def _number(value: float) -> str:
    """With three digits that matter, more in front of the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
