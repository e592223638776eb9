"""Texts by SMS: how numbers and words are read before they are published."""

from typing import Annotated

from pydantic import AfterValidator, Field

from notify.config.types import Strict, Whole


def _known(region: str) -> str:
    # The numbering plans are for those who publish; a worker sends to what it is given.
    from notify.phones import is_region

    if not is_region(region):
        raise ValueError('must be a country or territory of ISO 3166, such as "DE"')
    return region


Region = Annotated[str, AfterValidator(_known)]


class TextSettings(Strict):
    """What becomes of numbers and words; for channel sms only."""

    # Where numbers are written without a country code; without it they need one.
    default_region: Region | None = None
    max_segments: Annotated[Whole, Field(ge=1, le=255)] = 6
    transliterate: bool = False
