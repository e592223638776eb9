"""Keys of a test's own in a real Redis."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from notify.config import Settings, load_settings
from notify.local import Servers
from tests.schedule.rig import Rig
from tests.unit.configs import EMAIL, write


@pytest.fixture
def raw(servers: Servers) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(servers.redis_url, decode_responses=True)
    yield client
    client.close()


@pytest.fixture
def prefix() -> str:
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def settings(servers: Servers, prefix: str, tmp_path: Path) -> Settings:
    main = f'[redis]\nprefix = "{prefix}"\ntimeout = "1s"\n'
    sms = '[[providers]]\nname = "texts"\ntype = "http-sms"\nurl = "http://127.0.0.1:1/sms"\n'
    write(tmp_path, {"notify.toml": main, "channels/sms.toml": sms, "channels/email.toml": EMAIL})
    return load_settings(tmp_path, environ={"NOTIFY_REDIS_URL": servers.redis_url})


@pytest.fixture
def rig(settings: Settings, raw: redis.Redis) -> Iterator[Rig]:
    made = Rig(settings, raw)
    yield made
    made.close()
