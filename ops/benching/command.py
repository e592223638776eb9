"""The command line of ``ops/bench``."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benching import report
from benching.plots import draw
from benching.registry import SCENARIOS, Scenario
from benching.saying import put, say
from benching.sizes import FORMS, FULL, SHORT, USUAL, Sizes
from benching.stage import Stage, stage
from benching.values import Broken, Impossible, Unlike
from notify.errors import NotifyError

DONE: Final = 0
FAILED: Final = 1
TERMINATED: Final = 143


def main(arguments: Sequence[str]) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.list:
        for each in SCENARIOS:
            put(f"{each.name:<12}{each.title}")
        return DONE
    # Everything that was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        results = report.read(given.report) if given.report else _measure(given)
    except (Broken, Unlike, NotifyError, OSError, ValueError) as error:
        say(f"ops/bench: {type(error).__name__}: {error}")
        return FAILED
    put(report.markdown(results))
    if given.plots:
        draw(results, given.plots)
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ops/bench",
        description="Measures Notify and its peers side by side, and prints Markdown.",
    )
    names = [each.name for each in SCENARIOS]
    parser.add_argument("--list", action="store_true", help="what there is to measure")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", default=[])
    form = parser.add_mutually_exclusive_group()
    for each, what in (
        (SHORT, "tiny numbers: whether it works"),
        (FULL, "a million queued, an hour at full rate: takes hours"),
    ):
        form.add_argument(
            f"--{each.form}", dest="form", action="store_const", const=each.form, help=what
        )
    parser.set_defaults(form=USUAL.form)
    parser.add_argument("--rounds", type=_positive, help="of each scenario (usually 3)")
    parser.add_argument("--queued", type=_positive, help="normal ones in scenario priority")
    parser.add_argument("--minutes", type=float, help="of scenario soak")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keeps the results")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draws them")
    parser.add_argument("--report", type=Path, metavar="FILE", help="results that were kept")
    return parser


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _sizes(given: argparse.Namespace) -> Sizes:
    changes: dict[str, Any] = {
        "rounds": given.rounds,
        "queued": given.queued,
        "soak_minutes": given.minutes,
    }
    return FORMS[given.form].evolve(**{k: v for k, v in changes.items() if v is not None})


def _measure(given: argparse.Namespace) -> dict[str, Any]:
    """All of them; what was measured is kept after each, should a later one fail."""
    sizes = _sizes(given)
    wanted = [each for each in SCENARIOS if not given.only or each.name in given.only]
    with stage(sizes) as at:
        machine, found = at.machine(), {}
        for each in wanted:
            try:
                found[each.name] = _scenario(each, at)
            except Impossible as why:
                say(f"  {each.name} is left out: {why}")
            results = report.whole(sizes.form, machine, found)
            if given.json:
                report.write(given.json, results)
    return results


def _scenario(scenario: Scenario, at: Stage) -> dict[str, Any]:
    say(f"{scenario.name}: {scenario.title}")
    begun = time.monotonic()
    findings = scenario.run(at)
    say(f"  {scenario.name} took {time.monotonic() - begun:.0f} s")
    return report.as_json(scenario.title, findings)
