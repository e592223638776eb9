"""The drill in which somebody replays what died of an outage, and its verdict."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from notify.cli.drill import drill
from notify.drill.outage import Latency, OutagePlan, Seen, latency
from notify.errors import UsageError
from notify.outcomes import Reason
from notify.store import Store
from tests.archive.letters import dead

COUNT = 200
CALM = Latency(count=9, median=0.01, p95=0.02, longest=0.03)
PLAN = OutagePlan(count=15, rate=200.0, run="r")
MEANT = {PLAN.id(n) for n in PLAN.numbers(Reason.RETRIES_EXHAUSTED)}
GOOD = Seen(
    plan=PLAN,
    archived=PLAN.expected,
    found=11,
    accepted=dict.fromkeys([*MEANT, "live-r:0"], 1),
    urgent=["live-r:0"],
    states={"replayed": 11, "open": 4},
    replayed=11,
    before=CALM,
    during=CALM,
    killed_at=5,
)


def test_who_dies_of_what() -> None:
    assert PLAN.expected == {
        "retries_exhausted": 11,
        "refused": 2,
        "expired": 1,
        "unknown_outcome": 1,
    }
    assert OutagePlan(count=50_000, rate=1.0, run="r").expected["retries_exhausted"] == 30_000
    assert len(MEANT) == 11


def test_all_is_well() -> None:
    assert GOOD.problems == []
    assert GOOD.to_dict()["passed"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"accepted": {**GOOD.accepted, "outage-r:0": 2}}, "1 more than once"),
        ({"accepted": {**GOOD.accepted, "outage-r:6": 1}}, "1 not meant"),
        ({"accepted": dict.fromkeys(MEANT, 1)}, "1 missing"),
        ({"archived": {"refused": 15}}, "archived {'refused': 15}"),
        ({"found": 12}, "the dry run found 12, not 11"),
        ({"replayed": 10}, "10 were sent again, not 11"),
        ({"states": {"open": 15}}, "the archive says {'open': 15}"),
        ({"killed_at": 0}, "was not killed in the middle"),
        ({"during": replace(CALM, p95=2.5)}, "urgent notifications took 2.5 s"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], said: str) -> None:
    (problem,) = replace(GOOD, **changes).problems
    assert said in problem


def test_latencies() -> None:
    assert latency([0.1, 0.2, 0.3]).median == 0.2
    assert latency([0.0, 1.0]).longest == 1.0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.broker
@pytest.mark.redis
def test_exactly_the_right_ones_are_sent_again(tmp_path: Path, archive_url: str) -> None:
    options = ["--count", str(COUNT), "--rate", "50", "--archive", archive_url]
    arguments = ["outage-replay", "--data", str(tmp_path), "--json", *options]
    done = CliRunner().invoke(drill, arguments, catch_exceptions=False)
    facts = json.loads(done.stdout)
    # How long urgent ones take on a busy machine is no matter of this test.
    assert [each for each in facts["problems"] if "urgent" not in each] == []
    assert facts["sent again"] == facts["delivered once"] == COUNT * 3 // 5
    assert facts["archived"]["unknown_outcome"] == COUNT // 10


def test_an_archive_in_which_something_is_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/somebody.sqlite3"
    store = Store(url)
    store.create()
    store.add([dead("n-1")])
    store.close()
    arguments = ["outage-replay", "--data", str(tmp_path / "data"), "--archive", url]
    with pytest.raises(UsageError, match="archive must be empty"):
        CliRunner().invoke(drill, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("outage-replay", "--seed", "3"), "--seed is not for outage-replay"),
        (("outage-replay", "--outage", "30"), "--outage is not for outage-replay"),
        (("worker-kill", "--archive", "sqlite://"), "--archive is not for worker-kill"),
    ],
)
def test_options_of_other_drills_are_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(drill, [*arguments, "--data", str(tmp_path)])
    assert done.exit_code == 2
    assert said in done.output
