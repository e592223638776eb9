"""Schedules: where the truth about them is, and how long what became of them is kept."""

from typing import Literal

from notify.config.types import Duration, Strict


class ScheduleSettings(Strict):
    """With ``truth = "database"`` whatever Redis lost or kept too long is put right from there."""

    truth: Literal["database", "redis"] = "database"
    history: Duration = 90 * 86400.0
