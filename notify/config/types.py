"""Field types of the configuration: durations, files with secrets, URLs, networks."""

import re
import ssl
from base64 import b64decode
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr

from notify.recipients import address_problem

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd])")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.S)


class Strict(BaseModel):
    """A section of the configuration: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


def parse_duration(value: Any) -> float:
    """Seconds from a number or from text such as ``"15m"``. Raises ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('must be a duration such as "10s", "15m", "24h" or "7d"')
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            raise ValueError("must be a shorter duration") from None
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


def read_signing_secret(value: Any) -> SecretStr:
    """A key of Standard Webhooks from its file: base64, perhaps after "whsec_".

    Raises ``ValueError``. Stricter than libraries, which skip what is not base64 and then
    sign with another key than the receiver has.
    """
    secret = _secret(value)
    coded = secret.get_secret_value().removeprefix("whsec_")
    try:
        key = b64decode(coded + "=" * (-len(coded) % 4), validate=True)
    except ValueError:
        raise ValueError('must be base64, with or without "whsec_" before it') from None
    if not 24 <= len(key) <= 64:
        raise ValueError("must be a key of 24 to 64 bytes")
    return secret


def _certificates(value: Any) -> str:
    """Reads the certificates of a PEM file, without the comments that surround them."""
    if not isinstance(value, str) or not value:
        raise ValueError("must be the path of a file")
    try:
        text = Path(value).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    found = "\n".join(_CERTIFICATE.findall(text))
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except (ssl.SSLError, ValueError):
        raise ValueError("is not a certificate file") from None
    return found


def _listed(value: Any) -> Any:
    """A list may come as one text with commas, for it to fit into an environment variable."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return value


def _network(value: Any) -> IPv4Network | IPv6Network:
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    try:
        network = ip_network(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError('must be a network such as "10.20.0.0/16" or "fd12:3456::/32"') from None
    if network.prefixlen == 0:
        raise ValueError("must not be every address there is")
    return network


def is_loopback(host: str) -> bool:
    """Whether that is this machine by its name or address, nothing being asked."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _mailbox(value: str) -> str:
    problem = address_problem(value)
    if problem is not None:
        raise ValueError(problem)
    if not value.rpartition("@")[0].isascii():
        raise ValueError("must be ASCII before the @, for every server to take it")
    return value


def _no_empty(value: Any) -> Any:
    return None if value == "" else value


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


def _each(check: Callable[[str], str]) -> Callable[[str], str]:
    """For texts with several values, separated by commas."""

    def check_all(value: str) -> str:
        return ",".join(check(part.strip()) for part in value.split(","))

    return check_all


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


Whole = Annotated[int, BeforeValidator(_no_boolean)]
Number = Annotated[float, BeforeValidator(_no_boolean)]
Duration = Annotated[float, BeforeValidator(parse_duration), AfterValidator(_positive)]
CertificateFile = Annotated[str, BeforeValidator(_certificates)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Networks = Annotated[tuple[Network, ...], BeforeValidator(_listed)]
SecretFile = Annotated[SecretStr, BeforeValidator(_secret)]
SigningSecretFile = Annotated[SecretStr, BeforeValidator(read_signing_secret)]
SigningSecretFiles = Annotated[tuple[SigningSecretFile, ...], BeforeValidator(_listed)]
AmqpUrl = Annotated[str, AfterValidator(_url_of("amqp", "amqps"))]
Mailbox = Annotated[str, AfterValidator(_mailbox)]
HttpUrls = Annotated[str, AfterValidator(_each(_url_of("http", "https")))]
HttpUrl = Annotated[str, AfterValidator(_url_of("http", "https"))]
RedisUrl = Annotated[str, AfterValidator(_url_of("redis", "rediss"))]
ProxyUrl = Annotated[
    Annotated[str, AfterValidator(_url_of("http"))] | None, BeforeValidator(_no_empty)
]
