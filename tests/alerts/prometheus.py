"""A real Prometheus with the shipped rules, in which a minute takes two seconds.

The transformation, so that alerts fire within a test's patience and still for their reasons:

* ``for`` and windows (``[5m]``) are divided by thirty;
* so are ages that are compared (``> 180`` of a heartbeat, of a message, of the last look).

Nothing else is changed: neither names nor labels nor counts. Rules are read as Prometheus itself
reads them, through its API.
"""

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import requests

from notify.local.ports import choose
from tests.alerts.promtool import RULES, program
from tests.waiting import eventually

SPEED: Final = 30
_EVERY: Final = "500ms"
_WINDOW: Final = re.compile(r"\[(\d+)([smhd])\]")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGES: Final = {
    "NotifyHeartbeatSilent",
    "NotifyQueueOld",
    "NotifyArchiverLate",
    "NotifyExporterBlind",
}
# Not the 5,000 messages of the queue of the dead.
_AGE: Final = re.compile(r"> (120|180|300|3600)\b")


class Prometheus:
    """What it says, by its API."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, what: str, **parameters: str) -> Any:
        answer = requests.get(f"{self._url}/api/v1/{what}", params=parameters, timeout=10)
        answer.raise_for_status()
        return answer.json()["data"]

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def alerts(self) -> list[dict[str, Any]]:
        """Those that fire."""
        return [each for each in self.ask("alerts")["alerts"] if each["state"] == "firing"]

    def query(self, expression: str) -> list[Any]:
        return list(self.ask("query", query=expression)["result"])


def faster(rules: list[dict[str, Any]]) -> dict[str, Any]:
    """The rules as a file for Prometheus, with the transformation above."""
    return {"groups": [{"name": "notify", "rules": [_faster(rule) for rule in rules]}]}


def _faster(rule: Mapping[str, Any]) -> dict[str, Any]:
    def window(found: re.Match[str]) -> str:
        return f"[{int(found[1]) * _UNITS[found[2]] * 1000 // SPEED}ms]"

    def age(found: re.Match[str]) -> str:
        return f"> {int(found[1]) / SPEED:g}"

    expression = _WINDOW.sub(window, rule["query"])
    if rule["name"] in _AGES:
        expression = _AGE.sub(age, expression)
    return {
        "alert": rule["name"],
        "expr": expression,
        "for": f"{int(rule['duration'] * 1000 / SPEED)}ms",
        "labels": rule["labels"],
        "annotations": rule["annotations"],
    }


@contextmanager
def running(directory: Path, config: Mapping[str, Any]) -> Iterator[Prometheus]:
    """Scrapes and evaluates twice a second."""
    directory.mkdir(parents=True)
    port = choose(["prometheus"])["prometheus"]
    everywhere = {
        "scrape_interval": _EVERY,
        "scrape_timeout": _EVERY,
        "evaluation_interval": _EVERY,
    }
    path = directory / "prometheus.yml"
    path.write_text(json.dumps({"global": everywhere, **config}))
    command = [
        program("prometheus"),
        f"--config.file={path}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        prometheus = Prometheus(f"http://127.0.0.1:{port}")
        eventually(lambda: _ready(prometheus), f"Prometheus; {directory / 'log'}", 30)
        yield prometheus
    finally:
        process.terminate()
        process.wait(30)


def _ready(prometheus: Prometheus) -> bool:
    with suppress(requests.RequestException):
        return prometheus.ask("status/runtimeinfo") is not None
    return False


def shipped_rules(directory: Path) -> list[dict[str, Any]]:
    """As Prometheus reads them."""
    with running(directory, {"rule_files": [str(RULES)]}) as prometheus:
        return eventually(prometheus.rules, "the rules")


class Witness:
    """Which alerts were seen firing, and with which texts."""

    def __init__(self, prometheus: Prometheus) -> None:
        self._prometheus = prometheus
        self.seen: dict[str, list[dict[str, str]]] = {}

    def query(self, expression: str) -> list[Any]:
        return self._prometheus.query(expression)

    def look(self) -> set[str]:
        """The names of those that fire now."""
        firing = self._prometheus.alerts()
        for alert in firing:
            name = alert["labels"]["alertname"]
            if name not in self.seen:
                self.seen[name] = [alert["labels"], alert["annotations"]]
        return {alert["labels"]["alertname"] for alert in firing}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Looks all the time: an alert may fire and end while the test waits for something else."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                with suppress(requests.RequestException):
                    self.look()

        thread = threading.Thread(target=watch, name="witness")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def until(self, *names: str, seconds: float = 60.0) -> None:
        """Returns when each of them was seen since the beginning."""

        deadline = time.monotonic() + seconds
        while missing := set(names) - self.seen.keys():
            assert time.monotonic() < deadline, f"not firing within {seconds} s: {missing}"
            time.sleep(0.1)
            self.look()
