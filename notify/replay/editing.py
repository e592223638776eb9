"""What is changed of a notification before it is sent again: checked like a new one, and told
without what it says."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from notify import smsprep
from notify.config import Settings
from notify.config.matches import candidates
from notify.errors import InvalidNotification, UsageError
from notify.notification import PRIORITIES, Notification
from notify.publish import prepare
from notify.replay.values import OWN, Edits, Order
from notify.telemetry import mask

_LONGEST: Final = 366 * 86_400.0


def check_order(order: Order, settings: Settings) -> None:
    """Raises ``UsageError`` for what no letter could be sent with."""
    edits = order.edits
    if order.priority not in (*PRIORITIES, OWN):
        raise UsageError(f"priority: must be one of {', '.join((*PRIORITIES, OWN))}")
    if edits.expires_in is not None and not 0 < edits.expires_in <= _LONGEST:
        raise UsageError("expires-in: must be a time of at most a year")
    if order.rate < 0:
        raise UsageError("rate: must not be negative")
    names = {each.name for own in settings.channels.values() for each in own.providers}
    if edits.provider and edits.provider not in names:
        known = ", ".join(sorted(names))
        raise UsageError(f"provider: there is no {edits.provider!r}; there are {known}")


def check_content_edits(order: Order, number: int) -> None:
    """Raises ``UsageError`` where one text or recipient would become that of several."""
    if order.edits.content and number > 1:
        what = " and ".join(order.edits.content)
        raise UsageError(f"{what} can be changed of one dead letter only, and several match")


def edited(
    notification: Notification, edits: Edits, settings: Settings, now: datetime
) -> Notification:
    """As it is to be sent. Raises ``InvalidNotification``, naming the field."""
    changes: dict[str, Any] = {}
    if edits.recipient is not None:
        changes["recipient"] = smsprep.recipient(notification.channel, edits.recipient, settings)
    if edits.subject is not None:
        changes["subject"] = edits.subject
    if edits.body is not None:
        changes |= _body(notification, edits.body)
    changes |= _expiry(notification, edits, now)
    if not changes:
        return notification
    changed = notification.evolve(**changes)
    return prepare(changed, settings, now) if edits.content else changed


def _body(notification: Notification, text: str) -> dict[str, Any]:
    if notification.data is None:
        return {"body": text, "html": None}
    try:
        return {"data": json.loads(text)}
    except ValueError:
        raise InvalidNotification("body", "must be JSON, as this webhook posts data") from None


def _expiry(notification: Notification, edits: Edits, now: datetime) -> dict[str, Any]:
    """Never sooner than it was."""
    if edits.expires_in is None or notification.expires_at is None:
        return {}
    new = now + timedelta(seconds=edits.expires_in)
    return {"expires_at": new} if new > notification.expires_at else {}


def renewed(notification: Notification, edits: Edits, now: datetime) -> Notification:
    """With its new ``expires_at``, counted from now."""
    changes = _expiry(notification, edits, now)
    return notification.evolve(**changes) if changes else notification


def takes(provider: str, notification: Notification, settings: Settings) -> bool:
    """Whether a provider can be given this notification at all."""
    channel = settings.channel(notification.channel)
    return any(each.name == provider for each in candidates(channel.providers, notification))


def told(edits: Edits, before: Notification | None, after: Notification | None) -> dict[str, Any]:
    """The changes for people: masked, and of a text only how long it is.

    ``before`` and ``after`` are of the one letter whose content is changed.
    """
    facts: dict[str, Any] = {}
    if edits.provider:
        facts["provider"] = edits.provider
    if edits.expires_in is not None:
        facts["expires_in"] = edits.expires_in
    if before is not None and after is not None:
        facts |= _told_content(edits.content, before, after)
    return facts


def _told_content(
    content: Mapping[str, str], before: Notification, after: Notification
) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name in content:
        old, new = getattr(before, name), getattr(after, name)
        if name == "recipient":
            facts[name] = {"old": mask(old), "new": mask(new)}
        elif name == "body" and before.data is not None:
            facts["data"] = {"old": _length(before.data), "new": _length(after.data)}
        else:
            facts[name] = {"old": _length(old), "new": _length(new)}
    if before.html is not None and after.html is None:
        facts["html"] = {"old": _length(before.html), "new": "left out"}
    return facts


def _length(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{len(text)} characters"
