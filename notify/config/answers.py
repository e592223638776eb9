"""Rules that read a gateway's answer where its HTTP status does not say it all."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from notify.config.types import Strict, Whole
from notify.outcomes import Reason

# What an answer can mean; the first is what it means unless the rule says otherwise.
REASONS: dict[str, tuple[Reason, ...]] = {
    "sent": (),
    "temporary": (
        Reason.PROVIDER_ERROR,
        Reason.PROVIDER_BUSY,
        Reason.PROVIDER_DENIED,
        Reason.RECIPIENT_UNAVAILABLE,
    ),
    "permanent": (
        Reason.REFUSED,
        Reason.RECIPIENT_REFUSED,
        Reason.ENDPOINT_GONE,
        Reason.INVALID,
    ),
    "unknown": (Reason.CONNECTION_LOST,),
}


def _scalar(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str) or value != value:
        raise ValueError("must be a text, a number, true or false")
    return value


Scalar = Annotated[bool | int | float | str, BeforeValidator(_scalar)]
Status = Annotated[Whole, Field(ge=200, le=599)]


class AnswerRule(Strict):
    """What an answer with this status and this value in its JSON body means.

    A condition that is not set always holds. ``values`` and ``not_values`` are about a field
    that is there; one that is ``null`` counts as missing.
    """

    status: tuple[Status, ...] | None = Field(default=None, min_length=1)
    field: str | None = Field(default=None, min_length=1)
    values: tuple[Scalar, ...] | None = Field(default=None, min_length=1)
    not_values: tuple[Scalar, ...] | None = Field(default=None, min_length=1)
    outcome: Literal["sent", "temporary", "permanent", "unknown"]
    reason: Reason | None = None
    slow_down: bool = False

    @model_validator(mode="after")
    def _check_conditions(self) -> Self:
        if self.status is None and self.field is None:
            raise ValueError("needs status or field: it would hold for every answer")
        if self.field is None and (self.values is not None or self.not_values is not None):
            raise ValueError("values and not_values need field")
        if self.values is not None and self.not_values is not None:
            raise ValueError("values and not_values exclude each other")
        return self

    @model_validator(mode="after")
    def _check_meaning(self) -> Self:
        possible = REASONS[self.outcome]
        if self.slow_down and self.outcome != "temporary":
            raise ValueError("slow_down goes with outcome temporary only")
        if self.reason is not None and self.reason not in possible:
            names = ", ".join(possible) or "none"
            raise ValueError(f"reason: {self.outcome} goes with {names}")
        return self

    @property
    def means(self) -> Reason:
        """The reason of a rule that is not about success."""
        busy = Reason.PROVIDER_BUSY if self.slow_down else REASONS[self.outcome][0]
        return self.reason or busy
