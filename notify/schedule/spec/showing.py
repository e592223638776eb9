"""A schedule for people to see: without what belongs to its recipient alone."""

import json
from typing import Any, Final

from notify.schedule.spec.value import ScheduleSpec
from notify.telemetry import mask

_TEXTS: Final = ("subject", "body", "html", "data", "variables", "unsubscribe")
Change = tuple[str, Any, Any]


def shown(spec: ScheduleSpec, *, reveal: bool = False) -> dict[str, Any]:
    """The JSON form; the recipient masked, and of texts only how long they are."""
    values = spec.to_dict()
    if reveal:
        return values
    if "recipient" in values:
        values["recipient"] = mask(values["recipient"])
    return values | {name: _length(values[name]) for name in _TEXTS if name in values}


def diff(old: ScheduleSpec, new: ScheduleSpec, *, reveal: bool = False) -> list[Change]:
    """Key, old and new value of what differs, masked; None where there was or is none."""
    before, after = old.to_dict(), new.to_dict()
    masked_before, masked_after = shown(old, reveal=reveal), shown(new, reveal=reveal)
    keys = dict.fromkeys([*before, *after])
    return [
        (key, masked_before.get(key), masked_after.get(key))
        for key in keys
        if before.get(key) != after.get(key)
    ]


def _length(value: Any) -> str:
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    return f"JSON of {len(json.dumps(value, ensure_ascii=False))} characters"
