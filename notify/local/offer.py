"""The servers to use, whoever runs them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

BROKER_URLS = "NOTIFY_BROKER_URLS"
MANAGEMENT_URL = "NOTIFY_MANAGEMENT_URL"
REDIS_URL = "NOTIFY_REDIS_URL"

MANAGEMENT_PORT = 15672


@dataclass(frozen=True, kw_only=True)
class Servers:
    """URLs of a RabbitMQ and a Redis; empty for one that is not there."""

    broker_urls: tuple[str, ...]
    management_url: str
    redis_url: str

    def environment(self) -> dict[str, str]:
        """The variables that lead another process to these servers."""
        return {
            BROKER_URLS: ",".join(self.broker_urls),
            MANAGEMENT_URL: self.management_url,
            REDIS_URL: self.redis_url,
        }


def servers_from_environment(environ: Mapping[str, str] | None = None) -> Servers | None:
    """The servers that the environment names, if it names both a broker and a Redis."""
    values = os.environ if environ is None else environ
    urls = tuple(filter(None, map(str.strip, values.get(BROKER_URLS, "").split(","))))
    redis = values.get(REDIS_URL, "").strip()
    if not (urls and redis):
        return None
    return Servers(
        broker_urls=urls,
        management_url=values.get(MANAGEMENT_URL, "").strip() or guess_management_url(urls[0]),
        redis_url=redis,
    )


def guess_management_url(broker_url: str) -> str:
    """The same host and login, on the port where RabbitMQ's management API usually is."""
    login, _, address = urlsplit(broker_url).netloc.rpartition("@")
    host = address if address.endswith("]") else address.rpartition(":")[0] or address
    return f"http://{login or 'guest:guest'}@{host}:{MANAGEMENT_PORT}"
