"""What a notification would be when it is sent, without sending it."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from notify.channels.composing import preview as compose
from notify.channels.webhook import posted
from notify.cli.context import Context, print_json, say
from notify.config import SmtpProvider
from notify.errors import InvalidInput, UsageError
from notify.notification import Notification
from notify.outcomes import DeliveryFailure
from notify.smsprep import preview_sms

STDOUT = "-"


def show_preview(context: Context, notification: Notification, target: str) -> None:
    """A text's number and segments, a mail's ``.eml``, or a webhook's JSON.

    ``target`` is a file to write, or "-". Raises ``UsageError`` and what the parts raise.
    """
    if notification.channel == "email":
        _write(_mail(context, notification), target)
    elif target != STDOUT:
        raise UsageError("--preview: only a mail is written to a file")
    elif notification.channel == "sms":
        print_json(preview_sms(notification, context.settings))
    else:
        print_json(posted(notification))


def _mail(context: Context, notification: Notification) -> bytes:
    settings = context.settings
    providers = [p for p in settings.channel("email").providers if isinstance(p, SmtpProvider)]
    if not providers:
        raise UsageError("--preview: no provider of type smtp is configured")
    try:
        return compose(notification, providers[0], datetime.now(UTC), settings.attachments)
    except DeliveryFailure as failure:
        raise InvalidInput(f"it would be refused: {failure}") from None


def _write(content: bytes, target: str) -> None:
    if target == STDOUT:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(target).write_bytes(content)
    except OSError as error:
        raise InvalidInput(f"{target}: cannot be written: {error.strerror}") from error
    say(f"{target}: {len(content)} bytes")
