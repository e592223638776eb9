"""Where a webhook may lead: a table of every special range, in any notation."""

import socket
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.channels import build_provider, connecting
from notify.channels.addresses import FORBIDDEN, Forbidden, Guard, is_public
from notify.channels.connecting import Address
from notify.errors import InvalidNotification
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure

from .peers import OK, Peer, answering
from .values import failure, hook, hook_settings, kind

PUBLIC = ["8.8.8.8", "93.184.216.34", "1.1.1.1", "223.255.255.255", "168.63.129.15"]
PUBLIC += ["2606:4700::1111", "2a00:1450:4001:81b::200e", "2001:200::1", "2003::1"]
SPECIAL = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
    "",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str) -> None:
    Guard().check([address], 443)


@pytest.mark.parametrize("address", SPECIAL)
def test_special_addresses(address: str) -> None:
    with pytest.raises(Forbidden, match=r"^address not allowed$"):
        Guard().check([address], 443)


@pytest.mark.parametrize("network", FORBIDDEN, ids=str)
def test_forbidden_ranges_are_forbidden_to_their_ends(network: IPv4Network | IPv6Network) -> None:
    assert not is_public(network[0])
    assert not is_public(network[-1])


@pytest.mark.parametrize(
    "address",
    [
        *("9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
        *("128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0"),
        *("192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"),
        *("1.0.0.0", "2001:200::", "2003::", "3ffe:ffff::1", "3fff:1000::"),
    ],
)
def test_and_not_beyond(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.ip_addresses())
def test_nothing_public_is_private_to_python(address: Any) -> None:
    """Python's own list may have gaps, but what it knows to be private is never let through."""
    if is_public(address):
        assert not address.is_private
        assert not address.is_multicast
        assert not address.is_reserved
        assert not address.is_loopback
        assert not address.is_link_local


@pytest.mark.parametrize("others", [["10.0.0.1"], ["10.0.0.1", "8.8.4.4"]])
def test_one_forbidden_address_spoils_all(others: list[str]) -> None:
    for addresses in (["8.8.8.8", *others], [*others, "8.8.8.8"]):
        with pytest.raises(Forbidden, match="address"):
            Guard().check(addresses, 443)


def test_what_is_allowed_is_allowed_on_every_port() -> None:
    guard = Guard(allow=(ip_network("10.20.0.0/16"), ip_network("64:ff9b::/96")))
    guard.check(["10.20.255.255", "64:ff9b::8.8.8.8", "8.8.8.8"], 443)
    guard.check(["10.20.0.1"], 6379)
    for address in ("10.21.0.1", "::ffff:10.20.0.1", "::10.20.0.1", "127.0.0.1"):
        with pytest.raises(Forbidden, match="address"):
            guard.check([address], 443)
    with pytest.raises(Forbidden, match="port"):
        guard.check(["10.20.0.1", "8.8.8.8"], 6379)


@pytest.mark.parametrize("port", [0, 22, 25, 6379, 8080, 65535])
def test_ports(port: int) -> None:
    with pytest.raises(Forbidden, match=r"^port not allowed$"):
        Guard().check(["8.8.8.8"], port)
    Guard(ports=(port,)).check(["8.8.8.8"], port)


# What follows goes through a whole attempt.

FORBIDDEN_BY = PermanentFailure, Reason.ADDRESS_FORBIDDEN


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "%31%32%37.0.0.1",
        "localhost",
        "LOCALHOST",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
    ],
)
def test_loopback_in_any_notation(host: str) -> None:
    with Peer(answering(OK)) as peer:
        own = build_provider(hook_settings(allow="", ports=[80, peer.port]))
        error = failure(own, hook(f"http://{host}:{peer.port}/secret"))
        assert kind(error) == FORBIDDEN_BY
        assert (error.detail, peer.connections) == ("address not allowed", 0)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1%25lo]/",
        "http://[fe80::1%lo]/",
        "http://[fd00:ec2::254]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
        "https://10.0.0.1/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
    ],
)
def test_special_addresses_in_urls(url: str) -> None:
    assert kind(failure(build_provider(hook_settings(allow="")), hook(url))) == FORBIDDEN_BY


@pytest.mark.parametrize(
    "url",
    [
        "http://good.example\\.127.0.0.1/",
        "http://127.0.0.1\\.good.example/",
        "http://127.0.0.1%00.good.example/",
        "http://127.0.0.1%0d%0a.good.example/",
        "http://127.0.0.1%2f.good.example/",
        "http://127.0.0.1./",
        "http://localhost./",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://.127.0.0.1/",
        "http://*/",
        "http://[::1/",
        "http://[v1.fe]/",
        "http://127.0.0.1:/",
        "http://127.0.0.1:0x50/",
    ],
)
def test_odd_hosts_lead_nowhere(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused as URLs, by the resolver, or by the guard: never connected to."""
    opened = Opened(monkeypatch)
    try:
        notification = hook(url)
    except InvalidNotification:
        return
    own = build_provider(hook_settings(allow=""))
    error = failure(own, notification)
    assert error.reason in (Reason.REFUSED, Reason.ADDRESS_FORBIDDEN, Reason.CONNECTION_FAILED)
    assert opened.places == []


@pytest.mark.parametrize("url", ["ftp://8.8.8.8/", "httpx://8.8.8.8/", "file:///etc/passwd"])
def test_other_schemes_are_no_recipients(url: str) -> None:
    with pytest.raises(InvalidNotification, match="recipient"):
        hook(url)


def test_a_scheme_can_be_forbidden() -> None:
    own = build_provider(hook_settings(schemes=["https"]))
    with Peer(answering(OK)) as peer:
        error = failure(own, hook(peer.url))
        assert (*kind(error), error.detail) == (*FORBIDDEN_BY, "scheme not allowed")
        assert peer.connections == 0


def test_a_port_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened(monkeypatch)
    error = failure(build_provider(hook_settings()), hook("http://8.8.8.8:22/"))
    assert (*kind(error), error.detail) == (*FORBIDDEN_BY, "port not allowed")
    assert opened.places == []


class Opened:
    """Connections are noted and refused, so that no test leaves this machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.places: list[Any] = []
        monkeypatch.setattr(connecting, "_open", self._open)

    def _open(self, address: Address, timeout: float) -> socket.socket:
        self.places.append(address[4])
        raise ConnectionRefusedError


class Resolver:
    """Answers each lookup of a name with the next of these lists."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.asked = 0
        self._answers = iter(answers)
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._answer)

    def _answer(self, host: str, port: int, *others: Any, **options: Any) -> list[Address]:
        if options.get("flags") or host[0].isdecimal():
            return list(self._real(host, port, *others, **options))
        self.asked += 1
        return list(self._found(next(self._answers), port))

    def _found(self, addresses: list[str], port: int) -> Iterator[Address]:
        for text in addresses:
            yield from self._real(text, port, type=socket.SOCK_STREAM)


def test_a_name_is_looked_up_once_for_check_and_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = Opened(monkeypatch)
    resolver = Resolver(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    own = build_provider(hook_settings(allow=""))
    error = failure(own, hook("http://rebinding.example/"))
    assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
    assert (resolver.asked, opened.places) == (1, [("93.184.216.34", 80)])
    assert kind(failure(own, hook("http://rebinding.example/"))) == FORBIDDEN_BY
    assert (resolver.asked, len(opened.places)) == (2, 1)


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_with_one_forbidden_address(monkeypatch: pytest.MonkeyPatch, order: int) -> None:
    opened = Opened(monkeypatch)
    Resolver(monkeypatch, ["93.184.216.34", "2606:4700::1111", "169.254.169.254"][::order])
    error = failure(build_provider(hook_settings()), hook("https://mixed.example/"))
    assert kind(error) == FORBIDDEN_BY
    assert opened.places == []
    assert "mixed" not in str(error)
    assert "169" not in str(error)


def test_the_host_is_named_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        seen.append(connection.recv(65536))
        connection.sendall(OK)

    Resolver(monkeypatch, ["127.0.0.1"])
    with Peer(serve) as peer:
        build_provider(hook_settings()).send(hook(f"http://hooks.test:{peer.port}/"), deadline=2)
        assert f"\r\nHost: hooks.test:{peer.port}\r\n".encode() in seen[0]
