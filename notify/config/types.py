"""Field types of the configuration: durations, secrets in files, URLs."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd])")


class Strict(BaseModel):
    """A section of the configuration: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


def parse_duration(value: Any) -> float:
    """Seconds from a number or from text such as ``"15m"``. Raises ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('must be a duration such as "10s", "15m", "24h" or "7d"')
    if isinstance(value, int | float):
        return float(value)
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError('must be a duration such as "10s", "15m", "24h" or "7d"')
    return float(match[1]) * _UNITS[match[2]]


def _positive(value: float) -> float:
    if not 0 < value <= 366 * 86400:
        raise ValueError("must be longer than 0 and at most a year")
    return value


def _secret(value: Any) -> SecretStr:
    """Reads a secret from its file; one trailing line break is not part of it."""
    if isinstance(value, SecretStr):
        return value
    if not isinstance(value, str) or not value:
        raise ValueError("must be the path of a file")
    try:
        text = Path(value).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    if not text.strip():
        raise ValueError("is empty")
    return SecretStr(text.removesuffix("\n").removesuffix("\r"))


def _url_of(*schemes: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        try:
            parts = urlsplit(value)
            usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ValueError(f"must be a URL with a host, starting with {' or '.join(schemes)}://")
        return value

    return check


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


Whole = Annotated[int, BeforeValidator(_no_boolean)]
Number = Annotated[float, BeforeValidator(_no_boolean)]
Duration = Annotated[float, BeforeValidator(parse_duration), AfterValidator(_positive)]
SecretFile = Annotated[SecretStr, BeforeValidator(_secret)]
AmqpUrl = Annotated[str, AfterValidator(_url_of("amqp", "amqps"))]
HttpUrl = Annotated[str, AfterValidator(_url_of("http", "https"))]
RedisUrl = Annotated[str, AfterValidator(_url_of("redis", "rediss"))]
