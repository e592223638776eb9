"""SIGHUP: what changes in a running process, what does not, and what is refused."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from notify.config import Settings, load_settings
from notify.errors import ConfigError
from notify.provision import stop_problem
from notify.reloading import Reloader, differing
from notify.routing import Fleet, Router
from notify.systemd import supervised
from notify.worker import beginning
from notify.worker.reload import adoptable, make_reloader

SHIPPED = Path(__file__).parents[2] / "config"


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Settings]:
    """The shipped configuration with replacements: ``config("sms", old="new")``."""

    def make(name: str = "", *changes: tuple[str, str]) -> Settings:
        root = tmp_path / "config"
        for path in sorted(SHIPPED.rglob("*.toml")):
            target = root / path.relative_to(SHIPPED)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text()
            if path.stem == name:
                for old, new in changes:
                    assert old in text
                    text = text.replace(old, new, 1)
            target.write_text(text)
        return load_settings(root, {})

    return make


SECOND = """
[[providers]]
name = "second"
type = "http-sms"
url = "http://127.0.0.1:1/sms"
"""


def test_what_differs_is_named_by_its_key_and_never_by_its_value(
    config: Callable[..., Settings],
) -> None:
    old = config()
    new = config(
        "sms",
        ("# first = ", "first = "),
        ("max_bytes = 16384", "max_bytes = 9000"),
        ('name = "sandbox-sms"', 'name = "other"'),
    )
    assert differing(old, old) == []
    new_first = "channels.sms.retry.first"
    found = differing(old, new)
    assert "channels.sms.send.max_bytes" in found
    assert "channels.sms.providers" in found
    assert (new_first in found) == (old.channel("sms").retry != new.channel("sms").retry)


def test_retries_throttles_limits_and_order_change_and_nothing_else(
    config: Callable[..., Settings],
) -> None:
    old = config("sms", ("[providers.limits]\n", "[providers.limits]\n")).channel("sms")
    new = config(
        "sms",
        ("# factor = 2", "factor = 3"),
        ('# rate = "50/s"', 'rate = "5/s"'),
        ("error_rate = 0.5", "error_rate = 0.9"),
        ("# weight = 1", "weight = 2"),
        ("concurrency = 8", "concurrency = 9"),
        ("max_bytes = 16384", "max_bytes = 9000"),
        ("/sms", "/other"),
    ).channel("sms")
    adopted = adoptable(old, new)
    assert adopted.retry.factor == 3
    (provider,) = adopted.providers
    assert (provider.limits.rate, provider.weight, provider.breaker.error_rate) == (5, 2, 0.9)
    assert provider.url == old.providers[0].url  # type: ignore[union-attr]
    assert adopted.queues == old.queues
    assert adopted.send == old.send


def test_a_provider_more_or_less_needs_a_restart(config: Callable[..., Settings]) -> None:
    old = config().channel("sms")
    path_text = (SHIPPED / "channels" / "sms.toml").read_text()
    new = config("sms", (path_text[-20:], path_text[-20:] + SECOND)).channel("sms")
    assert len(new.providers) == 2
    assert adoptable(old, new).providers == old.providers
    assert adoptable(new, old).providers == new.providers


def test_the_router_goes_on_with_what_was_adopted(config: Callable[..., Settings]) -> None:
    path_text = (SHIPPED / "channels" / "sms.toml").read_text()
    two = (path_text[-20:], path_text[-20:] + SECOND)
    old = config("sms", two).channel("sms")
    limits: Any = SimpleNamespace()
    fleet = Fleet("sms", old.providers, limits, owner="me", lease=30)
    provider: Any = SimpleNamespace(name="any")
    router = Router(
        fleet,
        {each.name: (provider, each) for each in old.providers},
        limits,
        lease=30,
        throttle=old.throttle,
        pause=lambda _: False,
    )
    turned = old.model_copy(update={"providers": tuple(reversed(old.providers))})
    router.adopt(turned)
    assert [each.name for each in fleet.standings(True)] == ["second", "sandbox-sms"]


class Scene:
    """A process whose configuration a test changes."""

    def __init__(self, settings: Settings, sections: list[str]) -> None:
        self.read: Callable[[], Settings] = lambda: settings
        self.notes: list[str] = []
        self.reloader = Reloader(
            settings, sections=sections, then=self.notes.append, read=lambda: self.read()
        )


@pytest.fixture(autouse=True)
def _logging() -> Any:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before


def test_what_needs_a_restart_is_said_if_it_is_of_concern(config: Callable[..., Settings]) -> None:
    scene = Scene(config(), ["broker", "log"])
    changed = config(
        "notify",
        ('level = "INFO"', 'level = "DEBUG"'),
        ("heartbeat = 10", "heartbeat = 9"),
        ('prefix = "notify"', 'prefix = "other"'),
    )
    scene.read = lambda: changed
    scene.reloader.reload()
    assert scene.notes == ["restart to use the new broker.heartbeat"]
    assert logging.getLogger().level == logging.DEBUG
    scene.read = config
    scene.reloader.reload()
    assert scene.notes[-1] == ""
    assert logging.getLogger().level == logging.INFO


def test_what_is_wrong_changes_nothing(config: Callable[..., Settings]) -> None:
    scene = Scene(config(), ["log"])

    def broken() -> Settings:
        raise ConfigError(["notify.toml: log.level: is wrong"])

    scene.read = broken
    scene.reloader.reload()
    assert scene.notes == ["new configuration refused, see the log"]


def test_whatever_happens_the_process_says_that_it_goes_on(
    config: Callable[..., Settings],
) -> None:
    scene = Scene(config(), ["log"])

    def failing() -> Settings:
        raise OSError("disk")

    scene.read = failing
    with pytest.raises(OSError, match="disk"):
        scene.reloader.reload()
    assert len(scene.notes) == 1


def test_a_worker_without_its_channel_goes_on_with_the_old_one(
    config: Callable[..., Settings], tmp_path: Path
) -> None:
    settings = config()
    adopted: list[object] = []
    pipeline: Any = SimpleNamespace(name="sms", adopt=adopted.append)
    notes: list[str] = []
    reloader = make_reloader(settings, pipeline, notes.append)
    less = settings.model_copy(
        update={"channels": {k: v for k, v in settings.channels.items() if k != "sms"}}
    )
    reloader._read = lambda: less
    reloader.reload()
    assert adopted == []
    assert notes == ["restart to use the new channels.sms"]


def test_a_long_deadline_needs_a_longer_stop(
    config: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(
        "sms", ('deadline = "10s"', 'deadline = "80s"'), ('lease = "30s"', 'lease = "90s"')
    )
    assert stop_problem(settings, "email") == ""
    assert "send.deadline: stopping may take 93 s, and systemd waits 90 s" in stop_problem(
        settings, "sms"
    )
    monkeypatch.setenv("NOTIFY_STOP_TIMEOUT", "180")
    assert stop_problem(settings, "sms") == ""
    monkeypatch.setenv("NOTIFY_STOP_TIMEOUT", "90")
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere")
    assert supervised()
    with pytest.raises(ConfigError, match="deadline"):
        beginning.check(settings, "sms", "urgent")


def test_reloading_twice_at_once_is_one_after_the_other(config: Callable[..., Settings]) -> None:
    scene = Scene(config(), ["log"])
    inside, most = 0, 0
    lock = threading.Lock()

    def slow() -> Settings:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.05)
        with lock:
            inside -= 1
        return config()

    scene.read = slow
    threads = [threading.Thread(target=scene.reloader.reload) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert len(scene.notes) == 3
