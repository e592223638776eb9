"""``notify template``."""

from typing import Any

import click

from notify.cli.context import (
    Context,
    json_option,
    pairs,
    pass_context,
    print_json,
    say,
)
from notify.cli.tables import print_table
from notify.errors import UsageError
from notify.notification import CHANNELS
from notify.templates import Rendered, Template, Variable


@click.group()
def template() -> None:
    """Content from files below the configuration's templates/."""


@template.command("list")
@json_option
@pass_context
def list_(context: Context, as_json: bool) -> None:
    """Lists the templates with their channels and versions."""
    found = [context.templates.get(name) for name in context.templates.names()]
    if as_json:
        print_json([_facts(item) for item in found])
        return
    columns = ["name", "channels", "version", "variables", "description"]
    print_table(columns, [_row(item) for item in found])


@template.command()
@click.argument("name")
@json_option
@pass_context
def show(context: Context, name: str, as_json: bool) -> None:
    """Shows what a template is for, and its variables."""
    found = context.templates.get(name)
    if as_json:
        print_json(_facts(found))
        return
    say(f"{found.name}: {found.description}")
    say(f"version {found.version}; channels: {', '.join(found.channels)}")
    rows = [
        [key, _kind(variable), "yes" if variable.required else "no", found.samples[key]]
        for key, variable in found.variables.items()
    ]
    print_table(["variable", "type", "required", "sample"], rows)


@template.command()
@click.argument("name")
@click.option("--sample", is_flag=True, help="Use the samples for what --var does not give.")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only this one (default: all).")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE")
@json_option
@pass_context
def render(
    context: Context,
    name: str,
    sample: bool,
    channel: str | None,
    variables: tuple[str, ...],
    as_json: bool,
) -> None:
    """Shows what would be sent; nothing is.

    \b
    notify template render welcome --sample
    notify template render code --channel sms --var code=552104
    """
    found = context.templates.get(name)
    values = found.read(pairs(variables, "--var"))
    if not sample and not values and any(v.required for v in found.variables.values()):
        raise UsageError("give --sample, or a --var for each variable")
    given = {**found.samples, **values} if sample else values
    channels = found.channels if channel is None else (channel,)
    rendered = {item: found.render(item, given) for item in channels}
    if as_json:
        content = {item: _content(shown) for item, shown in rendered.items()}
        print_json({"name": found.name, "version": found.version, "channels": content})
        return
    for item, shown in rendered.items():
        _say_content(item, shown)


def _say_content(channel: str, rendered: Rendered) -> None:
    for field, value in _content(rendered).items():
        say(f"--- {channel}: {field}")
        if isinstance(value, str):
            say(value)
        else:
            print_json(value)


def _content(rendered: Rendered) -> dict[str, Any]:
    fields = ("subject", "body", "html", "data")
    values = {field: getattr(rendered, field) for field in fields}
    return {field: value for field, value in values.items() if value is not None}


def _facts(found: Template) -> dict[str, Any]:
    return {
        "name": found.name,
        "description": found.description,
        "version": found.version,
        "channels": found.channels,
        "variables": {
            name: {"type": v.kind, "required": v.required, "sample": found.samples[name]}
            for name, v in found.variables.items()
        },
    }


def _row(found: Template) -> list[str]:
    channels, variables = ", ".join(found.channels), ", ".join(found.variables)
    return [found.name, channels, found.version, variables, found.description]


def _kind(variable: Variable) -> str:
    if variable.item is not None:
        return f"list of {variable.item.kind}"
    if variable.fields:
        return f"list of ({', '.join(variable.fields)})"
    return variable.kind
