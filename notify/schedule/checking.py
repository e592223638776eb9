"""A schedule as somebody wrote it, checked against all that this configuration would say to it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from notify.config import Settings
from notify.errors import ConfigError, InvalidInput, InvalidNotification
from notify.publish import prepare
from notify.schedule.spec import COMMAND, ScheduleSpec, notification, parse_spec
from notify.smsprep import recipient
from notify.templates import Templates


def read_schedule(
    settings: Settings,
    templates: Templates,
    name: str,
    values: Mapping[str, Any],
    *,
    origin: str = COMMAND,
    now: datetime | None = None,
) -> ScheduleSpec:
    """What ``parse_spec`` reads, and what is published would be taken.

    Raises ``InvalidInput`` with a line for each problem, which names the key.
    """
    at = now or datetime.now(UTC)
    spec = parse_spec(
        name,
        values,
        normalise=lambda channel, text: recipient(channel, text, settings),
        templates=templates,
        origin=origin,
        now=at,
    )
    try:
        check_content(settings, templates, spec, at)
    except (InvalidNotification, ConfigError) as error:
        raise InvalidInput(str(error)) from error
    return spec


def check_content(
    settings: Settings, templates: Templates, spec: ScheduleSpec, now: datetime
) -> None:
    """Raises ``InvalidNotification`` for what would never be delivered."""
    if spec.audience.recipient is not None:
        made = notification(spec, now, now, templates)
        prepare(made.evolve(expires_at=None), settings, now)
        return
    channel = spec.content.get("channel")
    if channel is not None and channel not in settings.channels:
        raise InvalidNotification("channel", f"{channel} is not configured")
