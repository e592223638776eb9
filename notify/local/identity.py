"""What a directory of private servers keeps from one run to the next: ports, names, password."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from notify.local import ports

FILE = "servers.json"
PORTS = ("amqp", "management", "distribution", "epmd", "redis")


@dataclass(frozen=True, kw_only=True)
class Identity:
    node: str
    user: str
    password: str
    ports: dict[str, int]

    @classmethod
    def new(cls) -> Self:
        return cls(
            node=f"notify-{secrets.token_hex(4)}@localhost",
            user="notify",
            password=secrets.token_hex(16),
            ports=ports.choose(PORTS),
        )

    @property
    def broker_url(self) -> str:
        return f"amqp://{self.user}:{self.password}@{ports.LOOPBACK}:{self.ports['amqp']}/"

    @property
    def management_url(self) -> str:
        port = self.ports["management"]
        return f"http://{self.user}:{self.password}@{ports.LOOPBACK}:{port}"

    @property
    def redis_url(self) -> str:
        return f"redis://{ports.LOOPBACK}:{self.ports['redis']}/0"


def load_or_create(directory: Path) -> Identity:
    """The directory's identity; its ports are kept unless somebody else has them now."""
    known = _load(directory / FILE)
    if known is None:
        identity = Identity.new()
    elif all(ports.is_free(port) for port in known.ports.values()):
        return known
    else:
        identity = replace(known, ports=ports.choose(PORTS))
    _save(directory / FILE, identity)
    return identity


def _load(path: Path) -> Identity | None:
    try:
        identity = Identity(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return identity if set(identity.ports) == set(PORTS) else None


def _save(path: Path, identity: Identity) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(identity), file, indent=2)
