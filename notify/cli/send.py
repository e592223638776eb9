"""``notify send``: one notification, or a CSV file of them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from notify.cli.context import (
    PARTLY,
    Context,
    json_option,
    pairs,
    pass_context,
    print_json,
    say,
)
from notify.errors import InvalidInput, UsageError
from notify.notification import CHANNELS, PRIORITIES, VERSION, Notification
from notify.publish import Client
from notify.rows import read_rows


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
@click.option("--expires-at", help="Never send after this, like 2027-03-01T09:00:00+01:00.")
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
    labels: tuple[str, ...],
    as_json: bool,
    **content: str | None,
) -> None:
    """Publishes a notification; returns when RabbitMQ has confirmed it.

    \b
    notify send sms +491701234567 --body "Hello"
    notify send email ada@example.com --subject Hello --body "How are you?"
    notify send webhook https://example.com/hook --data '{"order": 7}'
    notify send --file people.csv
    """
    if path is not None:
        command.exit(_send_file(context, path, as_json))
    if channel is None or recipient is None:
        raise UsageError("give CHANNEL and RECIPIENT, or --file")
    with Client(context.settings) as client:
        id = client.send(_notification(channel, recipient, labels, content))
    if as_json:
        print_json({"id": id})
    else:
        say(id)


def _notification(
    channel: str, recipient: str, labels: tuple[str, ...], content: dict[str, str | None]
) -> Notification:
    values: dict[str, Any] = {key: value for key, value in content.items() if value is not None}
    if "data" in values:
        try:
            values["data"] = json.loads(values["data"])
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"--data: is not valid JSON: {error}") from error
    named = {"channel": channel, "recipient": recipient, "labels": dict(pairs(labels, "--label"))}
    return Notification.from_dict({"v": VERSION} | named | values)


def _send_file(context: Context, path: Path, as_json: bool) -> int:
    """All rows are checked before the first is published."""
    batch = f"file-{_content_hash(path)}"
    total = sum(1 for _ in _rows(path, batch))
    with Client(context.settings) as client:
        results = Counter(
            str(sent.error) if sent.error else "" for sent in client.send_many(_rows(path, batch))
        )
    published = results.pop("", 0)
    if as_json:
        print_json({"rows": total, "published": published, "errors": dict(results)})
    else:
        say(f"{published} of {total} published")
        for error, count in results.items():
            say(f"  {count} not published: {error}")
    return 0 if published == total else PARTLY


def _rows(path: Path, batch: str) -> Iterator[Notification]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from read_rows(lines, str(path), batch)
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
