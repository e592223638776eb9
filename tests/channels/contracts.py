"""Contract fixtures of the shipped profiles: a request byte for byte, and answers with verdicts."""

import json
import socket
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from notify.channels.profiled import Profiled
from notify.config.described import ProfileProvider
from notify.notification import Notification

from .peers import Peer, Serve, answering, read_request
from .values import LOOPBACK

FOLDER: Final = Path(__file__).parent / "profiles"
NAMES: Final = sorted(path.stem for path in FOLDER.glob("*.toml"))


def contract(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def cases(kind: str) -> list[Any]:
    """(profile, case) for every case of a kind in all files."""
    return [(name, case) for name in NAMES for case in contract(name)[kind]]


def case_id(value: Any) -> str:
    return value if isinstance(value, str) else str(value.get("code", value["status"]))


def settings_of(name: str, fixture: Mapping[str, Any], **changes: Any) -> ProfileProvider:
    values: dict[str, Any] = {
        "type": "profile",
        "name": f"our-{name}",
        "profile": name,
        "values": fixture.get("values", {}),
        "secrets": {f"{n}_file": SecretStr(s) for n, s in fixture.get("secrets", {}).items()},
        "allow": LOOPBACK,
    }
    if "match" in fixture:
        values["match"] = [{"host": fixture["match"]}]
    return ProfileProvider(**values | changes)


def described(profile: str, **changes: Any) -> ProfileProvider:
    values: dict[str, Any] = {"type": "profile", "name": "ours", "profile": profile}
    return ProfileProvider(**values | changes)


def notification_of(fixture: Mapping[str, Any], **changes: Any) -> Notification:
    return Notification(**fixture["notification"] | changes)


def provider_of(name: str, **changes: Any) -> tuple[Profiled, Notification]:
    """As the fixture says, with its clock."""
    fixture = contract(name)
    settings = settings_of(name, fixture, **changes)
    return Profiled(settings, clock=lambda: fixture["now"]), notification_of(fixture)


@dataclass(frozen=True, kw_only=True)
class Local:
    """A provider whose requests go to a server of this machine."""

    provider: Profiled
    notification: Notification


def localised(name: str, url: str, clock: Callable[[], float] | None = None) -> Local:
    """The same, with its host replaced by that of ``url``."""
    fixture = contract(name)
    clock = clock or (lambda: fixture["now"])

    def here(text: str) -> str:
        return text if "://" not in text else _moved(text, url)

    values = {key: here(text) for key, text in fixture.get("values", {}).items()}
    changes: dict[str, Any] = {"values": values}
    if fixture["notification"]["channel"] == "webhook":
        changes["match"] = [{"host": "127.0.0.1"}]
    notification = notification_of(fixture)
    moved = notification.evolve(recipient=here(notification.recipient))
    provider = Profiled(settings_of(name, fixture, **changes), clock=clock)
    return Local(provider=provider, notification=moved)


def _moved(text: str, url: str) -> str:
    to = urlsplit(url)
    return urlsplit(text)._replace(scheme=to.scheme, netloc=to.netloc).geturl()


def serving(name: str, case: Mapping[str, Any]) -> Peer:
    """A server that gives the answer of a case, and the token of its contract."""
    token = contract(name).get("token")
    answer = answer_of(case)
    return Peer(answering(answer) if token is None else issuing(token, lambda request: answer))


def answer_of(case: Mapping[str, Any]) -> bytes:
    body: bytes = case["body"].encode()
    lines = [f"HTTP/1.1 {case.get('status', 200)} As Told", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in case.get("headers", {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def issuing(token: Mapping[str, Any], answer: Callable[[bytes], bytes]) -> Serve:
    """Answers requests for a token as the contract says, and all others with ``answer``."""

    def serve(connection: socket.socket) -> None:
        while request := read_request(connection):
            asked = request.startswith(token["request"].encode())
            connection.sendall(answer_of(token) if asked else answer(request))

    return serve


def token_of(name: str) -> tuple[str, ...]:
    """The token of a contract, if it has one."""
    fixture = contract(name)
    return (fixture["token"]["text"],) if "token" in fixture else ()


def said_in(case: Mapping[str, Any]) -> Any:
    try:
        return json.loads(case["body"])
    except ValueError:
        return case["body"]
