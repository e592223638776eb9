"""Endpoints: when webhooks to a URL are given up, and who is told."""

from typing import Literal, Self

from pydantic import Field, model_validator

from notify.config.types import Duration, Strict, Whole
from notify.recipients import RECIPIENT_CHECKS


class EndpointSettings(Strict):
    """An endpoint that only fails is disabled, and reported through another channel."""

    give_up_after: Duration = 5 * 86400.0
    minimum_failures: Whole = Field(default=10, ge=1, le=1_000_000)
    report_channel: Literal["sms", "email"] | None = None
    report_recipient: str | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _check_report(self) -> Self:
        if (self.report_channel is None) != (self.report_recipient is None):
            raise ValueError("report_channel and report_recipient go together")
        if self.report_channel is not None and self.report_recipient is not None:
            problem = RECIPIENT_CHECKS[self.report_channel](self.report_recipient)
            if problem:
                raise ValueError(f"report_recipient: {problem}")
        return self
