"""Requests as they go out. What is the same for all requests to a URL is worked out once. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import requests
from requests.utils import urldefragauth
from urllib3.connection import HTTPConnection, port_by_scheme
from urllib3.util import parse_url

# What requests and http.client take for a header, in one: printable names, values on one line.
_SENDABLE: Final = re.compile(r"[!-9;-~]+: (?:[^\s\x00\ud800-\udfff][^\r\n\x00\ud800-\udfff]*)?")
_BODILESS: Final = ("GET", "HEAD")
# Names and values, by the names in lower case.
Headers = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """What a connection is kept for."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Outline:
    """What all requests with one method to one URL have in common."""

    method: str
    url: str = field(repr=False)
    origin: Origin
    # The line of the request.
    start: str = field(repr=False)
    # Those that nobody may change, and ``Host``, which may stand among the others already.
    headers: Headers = field(repr=False)
    host: tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request; ``headers`` has all of them but ``Host``."""

    outline: Outline
    headers: Headers = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def method(self) -> str:
        return self.outline.method

    @property
    def url(self) -> str:
        return self.outline.url

    def head(self) -> bytes:
        """The lines before the body."""
        outline = self.outline
        pairs = [": ".join(pair) for pair in self.headers.values()]
        if "host" not in self.headers:
            pairs.insert(0, ": ".join(outline.host))
        return "\r\n".join([outline.start, *pairs, "", ""]).encode()


def outline(method: str, url: str, proxied: Mapping[str, str] | None = None) -> Outline:
    """Raises ``ValueError`` where no request can be made of it.

    ``proxied`` are the headers for a proxy that takes plain HTTP, if there is one: it wants the
    whole URL in the request.
    """
    prepared = requests.Request(method, url).prepare()
    whole = str(prepared.url)
    parts = parse_url(whole)
    scheme = parts.scheme or ""
    host = (parts.host or "").strip("[]")
    origin = Origin(scheme=scheme, host=host, port=parts.port or port_by_scheme.get(scheme, 0))
    own = dict(prepared.headers)
    own.pop("Content-Length", None)
    target = parts.request_uri
    if proxied is not None and scheme == "http":
        target = urldefragauth(whole)
        own.update(proxied)
    start, named = _first_lines(str(prepared.method), target, origin)
    return Outline(
        method=str(prepared.method),
        url=whole,
        origin=origin,
        start=start,
        headers=by_name(own),
        host=named,
    )


def by_name(headers: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    return {name.lower(): (name, value) for name, value in headers.items()}


def merged(
    usual: Headers, further: Iterable[Mapping[str, str]], of: Outline, body: bytes
) -> Request:
    """A request with all these headers, of which the later ones prevail.

    Raises ``ValueError`` where one of ``further`` cannot be sent.
    """
    headers = dict(usual)
    for each in further:
        for name, value in each.items():
            check_header(name, value)
            headers[name.lower()] = name, value
    headers.update(of.headers)
    if body or of.method not in _BODILESS:
        headers["content-length"] = "Content-Length", str(len(body))
    return Request(outline=of, headers=headers, body=body)


def check_header(name: str, value: str) -> None:
    """Raises ``ValueError`` unless it can be sent."""
    if not _SENDABLE.fullmatch(f"{name}: {value}"):
        raise ValueError("not a header")


class _Scribe(HTTPConnection):
    """Writes down what the library would send."""

    written: bytes = b""

    def send(self, data: Any) -> None:
        self.written = data


def _first_lines(method: str, target: str, origin: Origin) -> tuple[str, tuple[str, str]]:
    """The line of a request, and its header ``Host``, as the library writes them."""
    scribe = _Scribe(origin.host, origin.port)
    scribe.default_port = port_by_scheme.get(origin.scheme, 0)  # type: ignore[misc]
    scribe.putrequest(method, target, skip_accept_encoding=True)
    scribe.endheaders()
    start, host = scribe.written.decode("ascii").split("\r\n")[:2]
    name, _, value = host.partition(": ")
    return start, (name, value)
