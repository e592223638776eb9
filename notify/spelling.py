"""When two recipients are the same one, however they are written."""

import hashlib
import unicodedata
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import idna

_PORTS: Final = {"http": 80, "https": 443}


def digest(channel: str, recipient: str) -> str:
    """128 bits that stand for a recipient in keys, which are shown, logged and dumped."""
    same = canonical(channel, recipient)
    content = f"{channel}\0{same}".encode(errors="replace")
    return hashlib.sha256(content).hexdigest()[:32]


def canonical(channel: str, recipient: str) -> str:
    """One spelling for all that reach the same recipient. Never raises."""
    if channel == "email":
        return _address(recipient)
    return _url(recipient) if channel == "webhook" else recipient


def _address(address: str) -> str:
    """Lower case throughout: who opted out as Ada@ must not get what is sent to ada@.

    Mailboxes that differ by case alone are allowed, but nobody runs them.
    """
    local, _, domain = unicodedata.normalize("NFC", address).rpartition("@")
    return f"{local.lower()}@{_domain(domain)}"


@lru_cache(maxsize=4096)
def _domain(domain: str) -> str:
    try:
        name = idna.encode(domain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        name = domain
    return name.lower().rstrip(".")


def _url(url: str) -> str:
    """Scheme and host in lower case, without a port that goes without saying or a fragment."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url
    shown = f"[{host}]" if ":" in host else _domain(host)
    if port is not None and port != _PORTS.get(parts.scheme):
        shown = f"{shown}:{port}"
    return urlunsplit((parts.scheme, shown, parts.path or "/", parts.query, ""))
