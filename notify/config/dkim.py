"""The key that signs mails (DKIM), looked at when it is read."""

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SecretStr

from notify.config.types import SecretFile, Strict

# RFC 8301 has verifiers ignore shorter ones.
_LEAST_BITS: Final = 1024
_PEM: Final = re.compile(
    r"-----BEGIN (RSA PRIVATE KEY|PRIVATE KEY)-----\s+([A-Za-z0-9+/=\s]+?)-----END \1-----"
)
_SEED: Final = re.compile(r"[A-Za-z0-9+/]{43}=")
_SEQUENCE, _INTEGER, _OCTETS = 0x30, 0x02, 0x04
_RSA_OID: Final = bytes.fromhex("06092a864886f70d010101")
_ED25519_OID: Final = bytes.fromhex("06032b6570")
_UNUSABLE: Final = (
    "must be an RSA or Ed25519 private key without a passphrase, in PEM, or the base64 of an"
    " Ed25519 seed"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SigningKey:
    """What the signer takes: for RSA a PEM text (PKCS#1), for Ed25519 the seed in base64."""

    algorithm: Literal["rsa-sha256", "ed25519-sha256"]
    text: str = field(repr=False)


def read_key(text: str) -> SigningKey:
    """The key in the text of a file. Raises ``ValueError`` without quoting it."""
    if _SEED.fullmatch(text.strip()):
        return SigningKey(algorithm="ed25519-sha256", text=text.strip())
    found = _PEM.search(text)
    if found is None:
        raise ValueError(_UNUSABLE)
    try:
        der = b64decode(re.sub(r"\s", "", found[2]), validate=True)
        return _rsa(der) if found[1].startswith("RSA") else _from_pkcs8(der)
    except (ValueError, IndexError) as error:
        raise ValueError(str(error) if isinstance(error, _Weak) else _UNUSABLE) from None


class _Weak(ValueError):
    """The key can be read, but not be used."""


def _from_pkcs8(der: bytes) -> SigningKey:
    """RFC 5958: version, algorithm, key."""
    _, algorithm, key, *_ = _items(_content(der, _SEQUENCE))
    body = _content(key, _OCTETS)
    if algorithm[2:].startswith(_RSA_OID):
        return _rsa(body)
    seed = _content(body, _OCTETS)
    if not algorithm[2:].startswith(_ED25519_OID) or len(seed) != 32:
        raise ValueError(_UNUSABLE)
    return SigningKey(algorithm="ed25519-sha256", text=b64encode(seed).decode())


def _rsa(der: bytes) -> SigningKey:
    """RFC 8017: version, modulus, two exponents, two primes and what follows from them."""
    items = _items(_content(der, _SEQUENCE))
    numbers = [int.from_bytes(_content(item, _INTEGER), "big") for item in items]
    _, modulus, _, _, first, second, *rest = numbers
    if first * second != modulus or len(rest) != 3:
        raise ValueError(_UNUSABLE)
    if modulus.bit_length() < _LEAST_BITS:
        raise _Weak(f"an RSA key must have at least {_LEAST_BITS} bits")
    lines = re.findall(".{1,64}", b64encode(der).decode())
    text = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    return SigningKey(algorithm="rsa-sha256", text=f"{text}\n")


def _items(content: bytes) -> list[bytes]:
    """The items, each with its tag and length, that stand one after another."""
    items = []
    while content:
        start, size = _head(content)
        if start + size > len(content):
            raise ValueError(_UNUSABLE)
        items.append(content[: start + size])
        content = content[start + size :]
    return items


def _content(item: bytes, tag: int) -> bytes:
    start, size = _head(item)
    if item[0] != tag or start + size != len(item):
        raise ValueError(_UNUSABLE)
    return item[start:]


def _head(item: bytes) -> tuple[int, int]:
    """Where the content begins, and how long it is."""
    first = item[1]
    if first < 0x80:
        return 2, first
    more = first & 0x7F
    return 2 + more, int.from_bytes(item[2 : 2 + more], "big")


def _usable(secret: SecretStr) -> SecretStr:
    read_key(secret.get_secret_value())
    return secret


_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
KeyFile = Annotated[SecretFile, AfterValidator(_usable)]
Selector = Annotated[str, Field(pattern=rf"^{_LABEL}(?:\.{_LABEL})*$", max_length=253)]
Domain = Annotated[str, Field(pattern=rf"^{_LABEL}(?:\.{_LABEL})+$", max_length=253)]


class DkimSettings(Strict):
    """Whose signature, and with which key: its public half stands below the domain."""

    domain: Domain
    selector: Selector
    key_file: KeyFile

    @property
    def key(self) -> SigningKey:
        return read_key(self.key_file.get_secret_value())
