"""How long the archive keeps dead letters, and when that is too short to be safe."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from notify.config.types import Strict, Whole, parse_duration
from notify.notification import CHANNELS
from notify.outcomes import Reason

_DAY: Final = 86400.0
_LONGEST: Final = 20 * 366 * _DAY

ChannelName = Literal["sms", "email", "webhook"]


def _an_age(value: float) -> float:
    if not _DAY <= value <= _LONGEST:
        raise ValueError("must be at least a day and at most 20 years")
    return value


def _a_reason(value: str) -> str:
    if value not in {*map(str, Reason)}:
        raise ValueError(f"{value!r} is no reason; see notify dead count")
    return value


ReasonName = Annotated[str, AfterValidator(_a_reason)]
Age = Annotated[float, BeforeValidator(parse_duration), AfterValidator(_an_age)]


class KeepLess(Strict):
    """Letters of a reason, a channel or both that are kept for a shorter time."""

    reason: ReasonName | None = None
    channel: ChannelName | None = None
    keep: Age

    @model_validator(mode="after")
    def _check_what(self) -> Self:
        if self.reason is None and self.channel is None:
            raise ValueError("needs a reason or a channel; for all letters set archive.keep")
        return self


class RetentionSettings(Strict):
    """Without ``keep`` and ``keep_most`` letters stay until somebody purges them.

    Letters that nobody has sent again stay for ``keep_open`` in any case.
    """

    keep: Age | None = None
    keep_most: Whole | None = Field(default=None, ge=1000)
    keep_open: Age = 30 * _DAY
    keep_less: tuple[KeepLess, ...] = ()

    @property
    def limited(self) -> bool:
        """Whether anything is ever purged."""
        return self.keep is not None or self.keep_most is not None or bool(self.keep_less)


def retention_problems(
    path: Path, archive: RetentionSettings, channels: Mapping[Any, Any]
) -> Iterator[str]:
    """Where letters go while the ledger still refers to them."""
    remembered = {name: channels[name].send.retention for name in CHANNELS if name in channels}
    ages: list[tuple[str, float | None, str | None]] = [("archive.keep", archive.keep, None)]
    ages += [
        (f"archive.keep_less.{number}.keep", each.keep, each.channel)
        for number, each in enumerate(archive.keep_less)
    ]
    for key, age, only in ages:
        for name, least in remembered.items():
            if age is not None and age < least and only in (None, name):
                yield (
                    f"{path}: {key}: must not be shorter than send.retention of {name}"
                    f" ({least / _DAY:g} days): until then a letter can be replayed, and it is"
                    " asked what became of it"
                )
                break
