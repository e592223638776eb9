"""``notify send``: one notification, or a file of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from notify import smsprep
from notify.attaching import attach
from notify.cli.context import Context, json_option, pairs, pass_context, print_json, say
from notify.config import Settings
from notify.config.limits import parse_rate
from notify.errors import InvalidInput, UsageError
from notify.notification import CHANNELS, PRIORITIES, VERSION, Notification, parse_instant
from notify.publish import Client
from notify.rendering import from_texts
from notify.templates import Templates

_GIVEN: Final = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
_BATCH: Final = ("name", "rate", "on_error", "rejects", "yes")
_EXTRAS: Final = ("at", "zone", "attached", "inlined", "preview", "labels")
_FOR_FILES: Final = {*_BATCH, "path", "encoding", "template", "variables", "as_json"}


def read_rate(_context: click.Context, _option: click.Parameter, value: str | None) -> float:
    """Rows per second, 0 where there is no limit."""
    try:
        return parse_rate(value) if value else 0.0
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("channel", required=False, type=click.Choice(CHANNELS))
@click.argument("recipient", required=False)
@click.option("--file", "path", help="Many: CSV or JSON Lines, perhaps in gzip; - for a pipe.")
@click.option("--name", default="", help="Of the batch that a file is (default: by its content).")
@click.option("--rate", callback=read_rate, help='Publish no more rows of a file than "200/s".')
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do when rows of a file are wrong.",
)
@click.option("--rejects", type=click.Path(path_type=Path), help="Where to list them.")
@click.option("--encoding", help="Of a file (default: UTF-8).")
@click.option("--yes", is_flag=True, help="Publish a file without asking.")
@click.option("--id", help="Your idempotency key (default: a new one).")
@click.option("--priority", type=click.Choice(PRIORITIES), default="normal", show_default=True)
@click.option("--subject")
@click.option("--body")
@click.option("--html")
@click.option("--data", help="JSON that a webhook posts.")
@click.option("--template", help="Take the content from this template.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="For the template.")
@click.option("--expires-at", help="Never send after this, like 2027-03-01T09:00:00+01:00.")
@click.option("--at", help="Send it then: 2027-03-01T09:00:00+01:00, or without +01:00 in --zone.")
@click.option("--zone", help="An IANA name like Europe/Berlin, for --at.")
@click.option("--cancel", "cancelled", metavar="ID", help="What --at was to send is not sent.")
@click.option("--attach", "attached", multiple=True, metavar="FOLDER/FILE", help="For a mail.")
@click.option("--inline", "inlined", multiple=True, metavar="FOLDER/FILE", help="For its HTML.")
@click.option("--unsubscribe", help="An https URL with which a mail is unsubscribed from.")
@click.option(
    "--preview", is_flag=False, flag_value="-", help="Only shows it; writes a mail to a file."
)
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE")
@json_option
@pass_context
@click.pass_context
def send(
    command: click.Context,
    context: Context,
    /,
    channel: str | None,
    recipient: str | None,
    path: str | None,
    variables: tuple[str, ...],
    as_json: bool,
    cancelled: str | None,
    **content: Any,
) -> None:
    """Publishes a notification; returns when RabbitMQ has confirmed it.

    \b
    notify send sms +491701234567 --body "Hello"
    notify send email ada@example.com --subject Hello --body "How are you?"
    notify send webhook https://example.com/hook --data '{"order": 7}'
    notify send sms +491701234567 --template code --var code=552104
    notify send sms +491701234567 --body "Today!" --at 2027-03-01T09:00 --zone Europe/Berlin
    notify send --file people.csv
    notify send --file people.jsonl.gz --template code --name spring --rate 200/s

    The rows of a file are all checked, shown, and published as a batch: killed and started
    again, it goes on where it was. With --at it returns when the notification is stored
    durably; a beat sends it.
    """
    # Most calls want none of the batches, schedules and previews, whose loading takes longer
    # than what those calls do.
    if path is not None:
        from notify.cli.sendfile import file_order, send_file

        _only_file(command)
        given = {name: content[name] for name in (*_BATCH, "encoding", "template")}
        command.exit(send_file(context, file_order(path, variables, as_json, **given)))
    elif cancelled is not None:
        from notify.cli.sendlater import cancel

        cancel(context, cancelled)
    elif channel is None or recipient is None:
        raise UsageError("give CHANNEL and RECIPIENT, or --file")
    else:
        _send_one(context, channel, recipient, variables, content, as_json=as_json)


def _send_one(
    context: Context,
    channel: str,
    recipient: str,
    variables: Sequence[str],
    content: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Now, or at an instant."""
    extras = {name: content.pop(name) for name in _EXTRAS}
    content = {k: v for k, v in content.items() if k not in _FOR_FILES or k == "template"}
    named: dict[str, Any] = {
        "channel": channel,
        "recipient": smsprep.recipient(channel, recipient, context.settings),
        "labels": dict(pairs(extras["labels"], "--label")),
    }
    values = named | _given(content)
    if extras["at"] is not None:
        from notify.cli.sendlater import send_later

        send_later(context, values, variables, extras, as_json=as_json)
        return
    if extras["zone"] is not None:
        raise UsageError("--zone: is for --at")
    _send(context, _notification(context.templates, values, variables), extras, as_json)


def _send(
    context: Context, notification: Notification, extras: dict[str, Any], as_json: bool
) -> None:
    settings = context.settings
    notification = _with_files(notification, settings, extras["attached"], extras["inlined"])
    if extras["preview"] is not None:
        from notify.cli.preview import show_preview

        show_preview(context, notification, extras["preview"])
        return
    with Client(settings) as client:
        id = client.send(notification)
    if as_json:
        print_json({"id": id})
    else:
        say(id)


def _only_file(command: click.Context) -> None:
    """What a file's rows would not get is refused, not ignored: --preview first of all."""
    given = {name for name in command.params if command.get_parameter_source(name) in _GIVEN}
    for option in command.command.params:
        if option.name in given - _FOR_FILES:
            shown = option.opts[0] if isinstance(option, click.Option) else option.name
            raise UsageError(f"--file: the columns of the file say all, not {shown}")


def _with_files(
    notification: Notification, settings: Settings, attached: Sequence[str], inlined: Sequence[str]
) -> Notification:
    """``attached`` and ``inlined`` are FOLDER/FILE."""
    files = [
        attach(settings, *place.split("/", 1), inline=inline)
        for places, inline in ((attached, False), (inlined, True))
        for place in places
        if _has_folder(place)
    ]
    return notification.evolve(attachments=tuple(files)) if files else notification


def _has_folder(place: str) -> bool:
    if "/" not in place:
        raise UsageError("--attach, --inline: must be FOLDER/FILE")
    return True


def _given(content: dict[str, str | None]) -> dict[str, Any]:
    values: dict[str, Any] = {key: value for key, value in content.items() if value is not None}
    if "data" in values:
        try:
            values["data"] = json.loads(values["data"])
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"--data: is not valid JSON: {error}") from error
    if "expires_at" in values:
        values["expires_at"] = parse_instant("expires_at", values["expires_at"])
    return values


def _notification(
    templates: Templates, values: dict[str, Any], variables: Sequence[str]
) -> Notification:
    template = values.pop("template", None)
    if template is not None:
        return from_texts(templates, template, pairs(variables, "--var"), **values)
    if variables:
        raise UsageError("--var needs --template")
    return Notification.from_dict({"v": VERSION} | values)
