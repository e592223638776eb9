"""``notify doctor``."""

from datetime import UTC, datetime

import click

from notify.cli.context import FAILED, PARTLY, Context, json_option, pass_context, print_json, say
from notify.doctor import Finding, Severity, counted, examine, worst

_MARKS = {
    Severity.FINE: "fine    ",
    Severity.NOTE: "note    ",
    Severity.WARNING: "warning ",
    Severity.CRITICAL: "CRITICAL",
}
_CODES = {Severity.WARNING: PARTLY, Severity.CRITICAL: FAILED}


@click.command()
@click.option("--go-live", is_flag=True, help="Also what must be true before real recipients.")
@click.option("--all", "everything", is_flag=True, help="Also what is fine.")
@json_option
@pass_context
@click.pass_context
def doctor(
    command: click.Context, context: Context, /, go_live: bool, everything: bool, as_json: bool
) -> None:
    """Looks at configuration, RabbitMQ, Redis, archive and this machine; changes nothing.

    Exit code 0: nothing to do; 5: warnings; 1: something is critical.
    """
    findings = examine(context.directory, go_live=go_live)
    severity = worst(findings)
    if as_json:
        print_json(
            {
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "worst": severity.name.lower(),
                "counts": counted(findings),
                "findings": [finding.to_dict() for finding in findings],
            }
        )
    else:
        _print(findings, everything=everything)
    command.exit(_CODES.get(severity, 0))


def _print(findings: list[Finding], *, everything: bool) -> None:
    """The worst first; what is fine only as a number, unless it is asked for."""
    ordered = sorted(findings, key=lambda finding: -finding.severity)
    shown = [each for each in ordered if everything or each.severity > Severity.FINE]
    for finding in shown:
        say(f"{_MARKS[finding.severity]}  {finding.check.name}: {finding.what}")
        if finding.severity >= Severity.WARNING:
            say(f"          {finding.check.why}")
            say(f"          see ops/runbooks/{finding.check.runbook}.md")
    counts = counted(findings)
    say("" if shown else "nothing to do")
    say(", ".join(f"{number} {name}" for name, number in counts.items() if number))
