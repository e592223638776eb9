"""``notify providers``: how they are, and which of them are used."""

from typing import Any

import click

from notify.cli.context import (
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.tables import print_table
from notify.config.types import parse_duration
from notify.errors import InvalidInput, NotFound
from notify.limits import Account, Mode
from notify.providerstate import provider_states

_COLUMNS = ("provider", "state", "per s", "limit", "errors", "latency", "in flight", "today", "")


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def providers(click_context: click.Context, as_json: bool) -> None:
    """Shows each provider's state, rate, errors and latency of the last half minute."""
    if click_context.invoked_subcommand is not None:
        return
    context: Context = click_context.obj
    with context.limits() as limits:
        states = provider_states(context.settings, limits)
    if as_json:
        print_json(states)
    else:
        print_table(_COLUMNS, [_row(state) for state in states])


def _row(state: dict[str, Any]) -> tuple[object, ...]:
    limit, errors, latency = state["limit_per_second"], state["errors"], state["latency_ms"]
    return (
        f"{state['channel']} {state['provider']}",
        state["state"],
        state["per_second"],
        "" if limit is None else f"{limit:g} {state['limit_unit']}",
        "" if errors is None else f"{errors:.0%} of {state['sends']}",
        "" if latency is None else f"{latency} ms",
        _share(state["in_flight"], state["concurrency"]),
        _share(state["today"], state["daily"]),
        _notes(state),
    )


def _share(used: int | None, most: int | None) -> str:
    return "" if most is None else f"{used} of {most}"


def _notes(state: dict[str, Any]) -> str:
    notes = []
    if state["mode"] != "enabled":
        until = f" until {state['until']}" if state["until"] else ""
        notes.append(f"{state['mode']} by {state['by'] or 'somebody'}{until}")
    if state["tried_again_in"] is not None:
        notes.append(f"down since {state['open_since']}, tried in {state['tried_again_in']:.0f} s")
    if state["slowed_to"] is not None:
        notes.append(f"it asked for less: {state['slowed_to']:.0%} of the rate")
    return "; ".join(notes)


def _command(name: str, mode: Mode, help: str) -> click.Command:
    @click.command(name, help=help)
    @click.argument("channel")
    @click.argument("provider")
    @click.option("--for", "span", help='Only for so long, such as "30m".')
    @click.option("--by", default=user, help="Who and why, to be shown.")
    @pass_context
    def command(
        context: Context, /, channel: str, provider: str, span: str | None, by: str
    ) -> None:
        _set_mode(context, Account(channel=channel, provider=provider), mode, span, by)

    return command


def _set_mode(context: Context, account: Account, mode: Mode, span: str | None, by: str) -> None:
    own = context.settings.channels.get(account.channel)  # type: ignore[call-overload]
    if own is None or account.provider not in {each.name for each in own.providers}:
        raise NotFound(f"no provider {account.provider} of {account.channel} is configured")
    with context.limits() as limits:
        limits.set_mode(account, mode, by=by, until_seconds=_seconds(span))
    say(f"{account.channel} {account.provider}: {mode}{f' for {span}' if span else ''}")


def _seconds(span: str | None) -> float | None:
    try:
        return None if span is None else parse_duration(span)
    except ValueError as error:
        raise InvalidInput(f"--for: {error}") from None


providers.add_command(
    _command("disable", "disabled", "Gives it nothing more; a restart changes nothing of that.")
)
providers.add_command(
    _command("drain", "draining", "Gives it only what it may have had already: repeats of those.")
)
providers.add_command(_command("enable", "enabled", "Uses it again."))
