"""``notify drill``."""

import random
import time
from collections.abc import Mapping
from pathlib import Path

import click

from notify.cli.context import FAILED
from notify.drill import (
    DRILLS,
    LETTERS,
    LONGEST_OUTAGE,
    OUTAGE,
    OUTAGE_REPLAY,
    RATE,
    REPLAY_RATE,
    Kind,
    OutagePlan,
    Plan,
    run_drill,
    run_outage_drill,
)
from notify.drill.screen import Screen

_SEEDS = 10_000
_COUNT = 5000


@click.command()
@click.argument("name", type=click.Choice((*DRILLS, OUTAGE_REPLAY)))
@click.option(
    "--count",
    type=click.IntRange(1, 1_000_000),
    help=f"Notifications (default: {_COUNT}; {LETTERS} in {OUTAGE_REPLAY}).",
)
@click.option("--every", type=click.FloatRange(0.2), help="Seconds from fault to fault.")
@click.option(
    "--rate",
    type=click.FloatRange(1.0),
    help=f"Notifications published in a second (default: {RATE:g}; in provider-outage fewer"
    f" where publishing would be over before the provider is back; in {OUTAGE_REPLAY} those that"
    f" are sent again: {REPLAY_RATE:g}).",
)
@click.option(
    "--outage",
    type=click.FloatRange(3.0, LONGEST_OUTAGE),
    help=f"Seconds that the first provider is away in provider-outage (default: {OUTAGE:g}).",
)
@click.option("--seed", type=int, help="Repeats the faults of another run (default: a new one).")
@click.option(
    "--archive", default="", help=f"Of {OUTAGE_REPLAY}: the URL of a database that is empty."
)
@click.option("--json", "as_json", is_flag=True, help="Print the account as JSON.")
@click.option(
    "--data", type=click.Path(path_type=Path), default=Path("var/drill"), show_default=True
)
@click.pass_context
def drill(
    command: click.Context,
    /,
    name: str,
    count: int | None,
    every: float | None,
    rate: float | None,
    outage: float | None,
    seed: int | None,
    archive: str,
    as_json: bool,
    data: Path,
) -> None:
    """Breaks things while notifications flow to a sandbox; exit code 0 when none is lost.

    Each drill counts what the sandbox received and what the archive holds. It passes when
    nothing is lost, and nothing was sent twice or is unknown that was not in flight at a fault.

    In gateway-outage and provider-outage texts and mails have a second provider, at a sandbox
    of its own. Then none of them may be archived because the first provider is away.
    provider-outage takes the first provider away once, for as long as --outage says, and lets
    nothing pass that was sent twice or is unknown.

    In outage-replay notifications die for four reasons, and those that died of an outage are
    found and replayed while urgent ones flow; the replay is killed in the middle.
    """
    run = f"{int(time.time()):x}"
    if name == OUTAGE_REPLAY:
        _refuse({"--every": every, "--outage": outage, "--seed": seed}, name)
        replay = OutagePlan(
            count=count or LETTERS, rate=rate or REPLAY_RATE, run=run, archive=archive
        )
        command.exit(0 if run_outage_drill(replay, data, Screen(as_json=as_json)) else FAILED)
    _refuse({"--archive": archive or None}, name)
    chosen = DRILLS[name]
    if outage is not None and Kind.PROVIDER_OUTAGE not in chosen.kinds:
        raise click.UsageError("--outage is for provider-outage only")
    lasts = OUTAGE if outage is None else outage
    plan = Plan(
        name=name,
        count=count or _COUNT,
        every=every or chosen.every,
        rate=rate or chosen.rate(count or _COUNT, lasts),
        seed=random.randrange(_SEEDS) if seed is None else seed,
        run=run,
        outage=lasts,
    )
    command.exit(0 if run_drill(plan, data, Screen(as_json=as_json)) else FAILED)


def _refuse(options: Mapping[str, object], name: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise click.UsageError(f"{option} is not for {name}")
