"""Which addresses a request may go to whose target somebody else chose. Pure.

The ranges are a table of our own: what ``ipaddress`` calls global differs between versions of
Python. They are from IANA's registries of special-purpose addresses (RFC 6890) and of IPv6
address space; of the latter only 2000::/3 is handed out for use on the public internet.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_network,
)
from typing import Final

Network = IPv4Network | IPv6Network

_PUBLIC_V6: Final = IPv6Network("2000::/3")
# Whatever is outside 2000::/3 is refused, among it ::/96 and ::ffff:0:0/96 (IPv4 in IPv6),
# 64:ff9b::/96 and 64:ff9b:1::/48 (NAT64), 100::/64, fc00::/7, fe80::/10, fec0::/10, ff00::/8.
FORBIDDEN: Final[tuple[Network, ...]] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers (CGNAT); 100.100.100.200 is a metadata service
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # public by number, but Azure answers it inside each machine
        "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata service of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is a metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
_ZONE: Final = re.compile(r"%.*", re.DOTALL)


class Forbidden(OSError):
    """A target that is not allowed; says why, and names neither host nor address."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guard:
    """Where requests may go: public addresses on some ports, and all of ``allow``."""

    allow: tuple[Network, ...] = ()
    ports: tuple[int, ...] = (80, 443)
    schemes: tuple[str, ...] = ("https", "http")

    def check_scheme(self, scheme: str) -> None:
        """Raises ``Forbidden``."""
        if scheme not in self.schemes:
            raise Forbidden("scheme not allowed")

    def check_host(self, host: str) -> None:
        """An address with a zone is never public. Raises ``Forbidden``."""
        if "%" in host:
            raise Forbidden("address not allowed")

    def check(self, addresses: Iterable[str], port: int) -> None:
        """Raises ``Forbidden`` unless every address may be connected to.

        One that is forbidden spoils all: its host is not what it should be, and whom we
        reach must not depend on the order of the answers.
        """
        for text in addresses:
            address = _parse(text)
            if address is not None and _within(address, self.allow):
                continue
            if address is None or not is_public(address):
                raise Forbidden("address not allowed")
            if port not in self.ports:
                raise Forbidden("port not allowed")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether the address is one host's on the public internet."""
    if isinstance(address, IPv6Address) and address not in _PUBLIC_V6:
        return False
    return not _within(address, FORBIDDEN)


def _within(address: IPv4Address | IPv6Address, networks: Iterable[Network]) -> bool:
    # An address is never within a network of the other version: an IPv4 address that is
    # written as IPv6 is not allowed by a network of IPv4.
    return any(address in network for network in networks)


def _parse(text: str) -> IPv4Address | IPv6Address | None:
    """The address as the resolver writes it; None if it is of another kind."""
    plain = _ZONE.sub("", text)
    for kind in (IPv4Address, IPv6Address):
        try:
            return kind(plain)
        except AddressValueError:
            continue
    return None
