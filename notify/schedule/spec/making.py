"""The notification that a firing is.

Two beats may fire the same occurrence at different times, and what they publish under one id
must have one digest. So the planned instant may stand anywhere, and the actual one only where
digests do not look: in the labels. A template that declares ``occurrence_actual`` or
``occurrence_lag`` gets them nevertheless; then whoever fires remembers the first actual instant
of an occurrence and gives the same one each time (``depends_on_actual`` tells).
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from notify.attachments import read_attachments
from notify.errors import InvalidInput
from notify.notification import Notification
from notify.recurrence import occurrence_id
from notify.rendering import from_template
from notify.schedule.spec.value import ONCE, ScheduleSpec
from notify.templates import Template, Templates

PLANNED: Final = "occurrence_planned"
ACTUAL: Final = "occurrence_actual"
LAG: Final = "occurrence_lag"
DATE: Final = "occurrence_date"
TIME: Final = "occurrence_time"
LABELS: Final = ("schedule", "planned", "actual", "lag")
_TEXTS: Final = ("priority", "subject", "body", "html", "unsubscribe", "template")
_FIELDS: Final = ("channel", "priority", "subject", "body", "html", "data", "unsubscribe")


def notification(
    spec: ScheduleSpec, planned: datetime, actual: datetime, templates: Templates | None = None
) -> Notification:
    """What a schedule with one recipient sends for the firing that was planned then.

    A template that declares them gets ``occurrence_planned`` and ``occurrence_actual``
    (datetime); ``occurrence_date`` (date) and ``occurrence_time`` (line, like 09:00), as
    planned on the clock of the schedule's zone; and ``occurrence_lag`` (integer, seconds).
    Raises ``InvalidNotification``; ``ConfigError`` for a template that is not valid.
    """
    content = spec.content
    fields = {name: content[name] for name in _FIELDS if name in content}
    fields |= {"recipient": spec.audience.recipient, "id": notification_id(spec, planned)}
    if "attachments" in content:
        fields["attachments"] = read_attachments(content["attachments"])
    if "template" in content:
        made = _rendered(spec, planned, actual, _needed(templates), fields)
    else:
        made = Notification(**fields)
    return stamped(spec, made, planned, actual)


def notification_id(spec: ScheduleSpec, planned: datetime) -> str:
    """That of the firing; what is sent once has the name of its schedule for an id."""
    return spec.name if spec.origin == ONCE else occurrence_id(spec.name, planned)


def stamped(
    spec: ScheduleSpec, made: Notification, planned: datetime, actual: datetime
) -> Notification:
    """With what every notification of a firing has: labels, and when it expires.

    The label ``schedule`` is its name, ``planned`` and ``actual`` are instants, ``lag`` is the
    seconds between them; labels and expiry of its own have precedence over the schedule's.
    """
    labels = {**spec.content.get("labels", {}), **made.labels, **_facts(spec, planned, actual)}
    expires_at = made.expires_at or spec.expires_at(planned)
    return made.evolve(labels=labels, expires_at=expires_at, created_at=actual)


def row_defaults(
    spec: ScheduleSpec, planned: datetime, actual: datetime, templates: Templates | None = None
) -> dict[str, str]:
    """Cells by column for the rows of a file, where these have none."""
    content = spec.content
    cells = {name: str(content[name]) for name in ("channel", *_TEXTS) if name in content}
    if "template" in content:
        template = _needed(templates).get(content["template"])
        variables = _variables(spec, template, planned, actual)
        cells |= {f"var.{name}": text for name, text in variables.items()}
    return cells


def depends_on_actual(spec: ScheduleSpec, templates: Templates) -> bool:
    """Whether the content would differ between two firings of the same occurrence."""
    name = spec.content.get("template")
    return name is not None and not {ACTUAL, LAG}.isdisjoint(templates.get(name).variables)


def _rendered(
    spec: ScheduleSpec,
    planned: datetime,
    actual: datetime,
    templates: Templates,
    fields: dict[str, Any],
) -> Notification:
    name = spec.content["template"]
    template = templates.get(name)
    variables = template.read(_variables(spec, template, planned, actual))
    return from_template(templates, name, variables, **fields)


def _variables(
    spec: ScheduleSpec, template: Template, planned: datetime, actual: datetime
) -> dict[str, str]:
    """As texts, which a template reads as it declares them."""
    where = spec.recurrence.where
    local = planned.astimezone(where)
    facts = {
        PLANNED: local.isoformat(),
        DATE: local.date().isoformat(),
        TIME: f"{local:%H:%M}",
        ACTUAL: actual.astimezone(where).isoformat(),
        LAG: str(_lag(planned, actual)),
    }
    declared = {key: text for key, text in facts.items() if key in template.variables}
    given = spec.content.get("variables", {})
    return declared | {name: _text(value) for name, value in given.items()}


def _needed(templates: Templates | None) -> Templates:
    if templates is None:
        raise InvalidInput("template: no templates are at hand")
    return templates


def _facts(spec: ScheduleSpec, planned: datetime, actual: datetime) -> Mapping[str, str]:
    return {
        "schedule": spec.name,
        "planned": planned.astimezone(UTC).isoformat(),
        "actual": actual.astimezone(UTC).isoformat(),
        "lag": str(_lag(planned, actual)),
    }


def _lag(planned: datetime, actual: datetime) -> int:
    """Whole seconds; a clock that was set back gives no negative ones."""
    return max(0, int((actual - planned).total_seconds()))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
