"""What a schedule may say of what is sent, as far as it can be told without sending it. Pure."""

import json
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from notify.errors import InvalidNotification
from notify.notification import CHANNELS, PRIORITIES, Notification
from notify.recurrence import shown_key
from notify.schedule.spec.making import LABELS

_TEXTS: Final = ("subject", "body", "html", "unsubscribe", "template")


def plain(value: Any) -> Any:
    """As JSON has it: dates and numbers of TOML as the texts that templates read."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def unkept(values: Mapping[str, Any]) -> Iterator[str]:
    """A problem for each key whose value cannot be stored everywhere."""
    for key, value in values.items():
        try:
            text = json.dumps(plain(value), ensure_ascii=False)
            text.encode()
        except UnicodeEncodeError:
            yield f"{shown_key(key)}: contains an unpaired surrogate"
        except (TypeError, ValueError, RecursionError):
            yield f"{shown_key(key)}: must be a JSON value"
        else:
            if "\\u0000" in text:
                yield f"{shown_key(key)}: must not contain NUL"


def content_problems(content: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with it whoever is to get it."""
    if content.get("channel", CHANNELS[0]) not in CHANNELS:
        yield f"channel: must be one of {', '.join(CHANNELS)}"
    if content.get("priority", PRIORITIES[0]) not in PRIORITIES:
        yield f"priority: must be one of {', '.join(PRIORITIES)}"
    for key in _TEXTS:
        if not isinstance(content.get(key, ""), str):
            yield f"{key}: must be text"
    if "variables" in content and "template" not in content:
        yield "variables: need a template"
    if not isinstance(content.get("variables", {}), Mapping):
        yield "variables: must be values by name"
    yield from _label_problems(content.get("labels", {}))


def _label_problems(labels: Any) -> Iterator[str]:
    if not isinstance(labels, Mapping):
        yield "labels: must be texts by name"
        return
    for name in LABELS:
        if name in labels:
            yield f"labels: {name} is set by the firing itself"
    try:
        room = dict.fromkeys(LABELS, "x")
        Notification(channel="sms", recipient="+491701234567", body="x", labels={**labels, **room})
    except InvalidNotification as error:
        yield str(error)
