"""What is done about dead letters without anybody: rules, caps, and the daily digest."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from notify.config.retention import ChannelName, RetentionSettings
from notify.config.types import Duration, Number, Strict, Whole
from notify.outcomes import PROVIDER_FAULTS, Reason
from notify.recipients import RECIPIENT_CHECKS

# Not a reason of a letter but of its last attempt: the retries were used up, and it was the
# provider who failed.
PROVIDER_OUTAGE: Final = "provider_outage"
# Sending these again cannot help, or must not happen before a person has looked.
_NEVER: Final = (
    *(Reason.CONFLICT, Reason.INVALID, Reason.UNPARSEABLE, Reason.POISON, Reason.EXPIRED),
    *(Reason.SUPPRESSED, Reason.ENDPOINT_DISABLED),
)
_MAY_HAVE_ARRIVED: Final = (
    *(Reason.UNKNOWN_OUTCOME, Reason.CONNECTION_LOST, Reason.DEADLINE_PASSED),
    *(Reason.WORKER_DIED, Reason.LEDGER_LOST),
)
_HOUR: Final = 3600.0
_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _reasons(values: tuple[str, ...]) -> tuple[str, ...]:
    known = {*map(str, Reason), PROVIDER_OUTAGE}
    for value in values:
        if value not in known:
            raise ValueError(f"{value!r} is no reason; see notify dead count, or {PROVIDER_OUTAGE}")
    return values


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        raise ValueError('must be a time zone such as "Europe/Berlin"') from None
    return value


def _clock(value: str) -> str:
    if not _CLOCK.fullmatch(value):
        raise ValueError('must be a time of day such as "08:00"')
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Reasons = Annotated[Texts, AfterValidator(_reasons)]


class CareMatch(Strict):
    """Letters that match all of what is given; of several values, one has to match."""

    reason: Reasons = ()
    channel: Annotated[tuple[ChannelName, ...], BeforeValidator(_listed)] = ()
    priority: Annotated[tuple[Literal["urgent", "normal"], ...], BeforeValidator(_listed)] = ()
    provider: Texts = ()
    code: Texts = ()
    template: Texts = ()
    batch: Texts = ()
    schedule: Texts = ()
    label: dict[str, str] = Field(default_factory=dict)


class CareRule(Strict):
    """One rule; the first that matches a letter decides about it.

    A letter is sent again ``first`` after it died, the next time after ``factor`` times that, at
    most ``cap``; never once it is dead for ``not_after``, or has been sent again ``most`` times,
    by whomever. ``rate`` is in letters per second.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    match: CareMatch
    action: Literal["replay", "hold", "ignore"]
    when: Literal["breaker_closed", "always"] = "breaker_closed"
    first: Duration = 900.0
    factor: Number = Field(default=2.0, ge=1.0, le=10.0)
    cap: Duration = 6 * _HOUR
    most: Whole = Field(default=3, ge=1, le=20)
    most_per_hour: Whole = Field(default=10_000, ge=1, le=1_000_000)
    rate: Number = Field(default=10.0, ge=0.01, le=1000.0)
    not_after: Duration = 24 * _HOUR
    may_repeat: bool = False

    @model_validator(mode="after")
    def _check_spacing(self) -> Self:
        if self.cap < self.first:
            raise ValueError("cap must not be shorter than first")
        if self.not_after <= self.first:
            raise ValueError("not_after must be longer than first, or nothing is ever sent again")
        return self

    @model_validator(mode="after")
    def _check_reasons(self) -> Self:
        if self.action != "replay":
            return self
        if not self.match.reason:
            raise ValueError("match.reason is needed to send again: not all letters may be")
        for reason in self.match.reason:
            if reason in _NEVER:
                raise ValueError(f"match.reason: {reason} must not be sent again by a rule")
            if reason in _MAY_HAVE_ARRIVED and not self.may_repeat:
                raise ValueError(
                    f"match.reason: {reason} may have arrived: needs may_repeat = true"
                )
        return self


class DigestSettings(Strict):
    """When and to whom it is told what is new; nothing is sent when nothing is, but ``always``."""

    at: Annotated[str, AfterValidator(_clock)] = "08:00"
    zone: Annotated[str, AfterValidator(_zone)] = "UTC"
    channel: ChannelName
    recipient: str = Field(repr=False)
    always: bool = False

    @model_validator(mode="after")
    def _check_recipient(self) -> Self:
        problem = RECIPIENT_CHECKS[self.channel](self.recipient)
        if problem:
            raise ValueError(f"recipient: {problem}")
        return self


def _shipped_rules() -> tuple[CareRule, ...]:
    """Normal priority only: what is urgent is worth nothing hours later."""
    outage = CareMatch(reason=(PROVIDER_OUTAGE,), priority=("normal",))
    unknown = CareMatch(reason=(str(Reason.UNKNOWN_OUTCOME),), channel=("sms",))
    return (
        CareRule(name="provider-outage", match=outage, action="replay"),
        CareRule(name="unknown-sms", match=unknown, action="hold"),
    )


class CareSettings(Strict):
    """The rules, how often they are looked at, and what all of them may do in an hour."""

    enabled: bool = True
    # Each look opens the archive anew: oftener than this, the archiver would do little else.
    every: Duration = Field(default=30.0, ge=1.0)
    most_per_hour: Whole = Field(default=20_000, ge=1, le=10_000_000)
    rules: tuple[CareRule, ...] = Field(default_factory=_shipped_rules)
    digest: DigestSettings | None = None

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [rule.name for rule in self.rules]
        if len(set(names)) < len(names):
            raise ValueError("two rules have the same name")
        return self


def care_problems(
    path: Path, care: CareSettings, archive: RetentionSettings, channels: Mapping[Any, Any]
) -> Iterator[str]:
    """What rules and digest name that is not configured, or that goes before they come to it."""
    digest = care.digest
    if digest is not None and digest.channel not in channels:
        yield f"{path}: care.digest.channel: channel {digest.channel} is not configured"
    for number, rule in enumerate(care.rules):
        if archive.keep is not None and rule.action == "replay" and rule.not_after > archive.keep:
            yield f"{path}: care.rules.{number}.not_after: must not be longer than archive.keep"


def is_outage(reason: str, last_reason: str) -> bool:
    """Whether a letter that died of ``reason`` did so because of its provider."""
    faults = PROVIDER_FAULTS - {*_MAY_HAVE_ARRIVED}
    return reason == Reason.RETRIES_EXHAUSTED and last_reason in faults
