"""``notify send``: one notification, or a CSV file of them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from notify import smsprep
from notify.attaching import attach
from notify.cli.context import (
    PARTLY,
    Context,
    json_option,
    pairs,
    pass_context,
    print_json,
    say,
)
from notify.cli.preview import STDOUT, show_preview
from notify.config import Settings
from notify.errors import InvalidInput, UsageError
from notify.notification import CHANNELS, PRIORITIES, VERSION, Notification, parse_instant
from notify.publish import Client
from notify.rendering import from_texts
from notify.rows import read_rows
from notify.templates import Templates


@click.command()
@click.argument("channel", required=False, type=click.Choice(CHANNELS))
@click.argument("recipient", required=False)
@click.option("--file", "path", type=click.Path(path_type=Path), help="A CSV file instead.")
@click.option("--id", help="Your idempotency key (default: a new one).")
@click.option("--priority", type=click.Choice(PRIORITIES), default="normal", show_default=True)
@click.option("--subject")
@click.option("--body")
@click.option("--html")
@click.option("--data", help="JSON that a webhook posts.")
@click.option("--template", help="Take the content from this template.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="For the template.")
@click.option("--expires-at", help="Never send after this, like 2027-03-01T09:00:00+01:00.")
@click.option("--attach", "attached", multiple=True, metavar="FOLDER/FILE", help="For a mail.")
@click.option("--inline", "inlined", multiple=True, metavar="FOLDER/FILE", help="For its HTML.")
@click.option("--unsubscribe", help="An https URL with which a mail is unsubscribed from.")
@click.option(
    "--preview", is_flag=False, flag_value=STDOUT, help="Only shows it; writes a mail to a file."
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
    path: Path | None,
    variables: tuple[str, ...],
    attached: tuple[str, ...],
    inlined: tuple[str, ...],
    preview: str | None,
    labels: tuple[str, ...],
    as_json: bool,
    **content: str | None,
) -> None:
    """Publishes a notification; returns when RabbitMQ has confirmed it.

    \b
    notify send sms +491701234567 --body "Hello"
    notify send email ada@example.com --subject Hello --body "How are you?"
    notify send webhook https://example.com/hook --data '{"order": 7}'
    notify send sms +491701234567 --template code --var code=552104
    notify send --file people.csv
    """
    if path is not None:
        command.exit(_send_file(context, path, as_json))
    if channel is None or recipient is None:
        raise UsageError("give CHANNEL and RECIPIENT, or --file")
    named: dict[str, Any] = {
        "channel": channel,
        "recipient": smsprep.recipient(channel, recipient, context.settings),
        "labels": dict(pairs(labels, "--label")),
    }
    notification = _notification(context.templates, named | _given(content), variables)
    notification = _with_files(notification, context.settings, attached, inlined)
    if preview is not None:
        show_preview(context, notification, preview)
        return
    with Client(context.settings) as client:
        id = client.send(notification)
    if as_json:
        print_json({"id": id})
    else:
        say(id)


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
    templates: Templates, values: dict[str, Any], variables: tuple[str, ...]
) -> Notification:
    template = values.pop("template", None)
    if template is not None:
        return from_texts(templates, template, pairs(variables, "--var"), **values)
    if variables:
        raise UsageError("--var needs --template")
    return Notification.from_dict({"v": VERSION} | values)


def _send_file(context: Context, path: Path, as_json: bool) -> int:
    """All rows are checked before the first is published."""
    batch = f"file-{_content_hash(path)}"
    total = sum(1 for _ in _rows(path, batch, context))
    with Client(context.settings) as client:
        all_sent = client.send_many(_rows(path, batch, context))
        results = Counter(str(sent.error) if sent.error else "" for sent in all_sent)
    published = results.pop("", 0)
    if as_json:
        print_json({"rows": total, "published": published, "errors": dict(results)})
    else:
        say(f"{published} of {total} published")
        for error, count in results.items():
            say(f"  {count} not published: {error}")
    return 0 if published == total else PARTLY


def _rows(path: Path, batch: str, context: Context) -> Iterator[Notification]:
    render = partial(from_texts, context.templates)
    normalise = partial(smsprep.recipient, settings=context.settings)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from read_rows(lines, str(path), batch, render, normalise)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text at byte {error.start}") from error


def _content_hash(path: Path) -> str:
    """The same file has the same ids, so that sending it twice delivers it once."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error


COMMANDS = (send,)
