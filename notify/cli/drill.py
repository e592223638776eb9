"""``notify drill``."""

import random
import time
from pathlib import Path

import click

from notify.cli.context import FAILED
from notify.drill import DRILLS, LONGEST_OUTAGE, OUTAGE, RATE, Kind, Plan, run_drill
from notify.drill.screen import Screen

_SEEDS = 10_000


@click.command()
@click.argument("name", type=click.Choice(tuple(DRILLS)))
@click.option("--count", type=click.IntRange(1, 1_000_000), default=5000, show_default=True)
@click.option("--every", type=click.FloatRange(0.2), help="Seconds from fault to fault.")
@click.option(
    "--rate",
    type=click.FloatRange(1.0),
    help=f"Notifications published in a second (default: {RATE:g}; in provider-outage fewer"
    " where publishing would be over before the provider is back).",
)
@click.option(
    "--outage",
    type=click.FloatRange(3.0, LONGEST_OUTAGE),
    help=f"Seconds that the first provider is away in provider-outage (default: {OUTAGE:g}).",
)
@click.option("--seed", type=int, help="Repeats the faults of another run (default: a new one).")
@click.option("--json", "as_json", is_flag=True, help="Print the account as JSON.")
@click.option(
    "--data", type=click.Path(path_type=Path), default=Path("var/drill"), show_default=True
)
@click.pass_context
def drill(
    command: click.Context,
    /,
    name: str,
    count: int,
    every: float | None,
    rate: float | None,
    outage: float | None,
    seed: int | None,
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
    """
    chosen = DRILLS[name]
    if outage is not None and Kind.PROVIDER_OUTAGE not in chosen.kinds:
        raise click.UsageError("--outage is for provider-outage only")
    lasts = OUTAGE if outage is None else outage
    plan = Plan(
        name=name,
        count=count,
        every=every or chosen.every,
        rate=rate or chosen.rate(count, lasts),
        seed=random.randrange(_SEEDS) if seed is None else seed,
        run=f"{int(time.time()):x}",
        outage=lasts,
    )
    command.exit(0 if run_drill(plan, data, Screen(as_json=as_json)) else FAILED)


COMMANDS = (drill,)
