"""The gateway: an nginx that answers at once, after 200 ms, or with 503, and counts in its log.

What it notes about the probes is their bytes: all headers that it got a name for, and the body.
About all else it notes when, which id, and how many bytes.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import requests

from benching.children import Child, program
from benching.comparing import digest, each_once
from benching.values import Broken, Facts, Points, Unlike
from benching.waiting import until
from benching.work import PROBE

MODULES: Final = Path("/usr/lib/nginx/modules")
ECHO: Final = MODULES / "ngx_http_echo_module.so"
FAST, SLOW, FAIL = "fast", "slow", "fail"
SLOW_SECONDS: Final = 0.2
# Longer than nginx keeps lines to itself.
FLUSH: Final = 0.2
_START_SECONDS: Final = 10.0
_BLOCK: Final = 1 << 20

CONFIG: Final = """
load_module {echo};
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  client_body_temp_path {folder}/body; default_type application/json;
  keepalive_requests 1000000000; keepalive_timeout 600;
  log_format hits escape=json
    '$msec\\t$http_idempotency_key\\t$request_method $status $request_length $content_length';
  log_format probes escape=json
    '$http_idempotency_key\\t$request_method $content_length $http_user_agent $http_accept '
    '$http_accept_encoding $http_connection $content_type $http_authorization $request_body';
  map $http_idempotency_key $probe {{ default ""; ~^{probe} 1; }}
  map $http_idempotency_key $measured {{ default 1; ~^{probe} ""; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    access_log {folder}/hits.log hits buffer=16k flush={flush_ms}ms if=$measured;
    access_log {folder}/probes.log probes buffer=16k flush={flush_ms}ms if=$probe;
    location /fast/ {{ if ($probe) {{ rewrite ^ /probe last; }} return 200 '{answer}'; }}
    location /slow/ {{
      if ($probe) {{ rewrite ^ /probe last; }}
      echo_sleep {slow}; echo_exec @answer;
    }}
    location /fail/ {{ return 503 '{answer}'; }}
    location = /ready {{ access_log off; return 200; }}
    location = /probe {{ internal; echo_read_request_body; echo_exec @answer; }}
    location @answer {{ return 200 '{answer}'; }}
  }}
}}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One request: when (seconds since 1970, to the millisecond), for which id, and its size."""

    at: float
    id: str
    shape: str


class Gateway:
    """A private nginx, as a context manager."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._child: Child | None = None

    def __enter__(self) -> Self:
        if not ECHO.exists():
            raise Broken("nginx's echo module is missing; run: ops/setup --tests")
        self._folder.mkdir(parents=True)
        config = self._folder / "nginx.conf"
        config.write_text(
            CONFIG.format(
                echo=ECHO,
                folder=self._folder,
                port=self._port,
                probe=PROBE,
                slow=SLOW_SECONDS,
                flush_ms=round(FLUSH * 1000),
                answer='{"id":"abc"}',
            )
        )
        command = [program("nginx"), "-p", str(self._folder), "-c", str(config)]
        self._child = Child(command, os.environ, self._folder / "output.log")
        until(self._answers, "nginx answers", _START_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child is not None:
            self._child.end()

    def url(self, kind: str = FAST) -> str:
        """What answers in this way; texts go to ``/sms`` below it."""
        return f"http://127.0.0.1:{self._port}/{kind}"

    def begin(self) -> "Watch":
        """Counts from here on, once all that came before has been logged."""
        log, seen = self._folder / "hits.log", -1
        while (size := log.stat().st_size if log.exists() else 0) != seen:
            seen = size
            time.sleep(2 * FLUSH)
        return Watch(self._folder, self.url())

    def _answers(self) -> bool:
        assert self._child is not None
        self._child.check()
        try:
            return requests.get(f"http://127.0.0.1:{self._port}/ready", timeout=1).ok
        except requests.RequestException:
            return False


class Watch:
    """The hits since some moment."""

    def __init__(self, folder: Path, where: str) -> None:
        self._hits, self._probes = folder / "hits.log", folder / "probes.log"
        self._where = where
        self._start = self._hits.stat().st_size if self._hits.exists() else 0
        self._first_probe = self._probes.stat().st_size if self._probes.exists() else 0
        self._read = self._start
        self._count = 0

    def count(self) -> int:
        """Hits so far, without the probes."""
        with self._hits.open("rb") as log:
            log.seek(self._read)
            while block := log.read(_BLOCK):
                self._read += len(block)
                self._count += block.count(b"\n")
        return self._count

    def hits(self) -> Iterator[Hit]:
        """All of them, in the order in which they were answered."""
        with self._hits.open(encoding="utf-8") as log:
            log.seek(self._start)
            for line in log:
                if line.endswith("\n"):
                    at, id, shape = line[:-1].split("\t")
                    yield Hit(at=float(at), id=id, shape=shape)

    def facts(self, wanted: Iterator[str], times: int = 1) -> Facts:
        """What the gateway has seen. Raises ``Unlike`` unless it was each id so many times."""
        hits, ids = list(self.hits()), list(wanted)
        each_once((hit.id for hit in hits), ids, "at the gateway", times)
        shapes = sorted({hit.shape for hit in hits})
        if len(shapes) != 1:
            raise Unlike(f"at the gateway: requests of {len(shapes)} shapes: {', '.join(shapes)}")
        return {
            "count": len(hits),
            "ids": digest(sorted(ids)),
            "payload": self._probed(),
            "request": shapes[0],
            "counted at": "the gateway",
            "gateway": self._where,
        }

    def _probed(self) -> str:
        with self._probes.open(encoding="utf-8") as log:
            log.seek(self._first_probe)
            return digest(sorted(set(log)))


def pace(ordered: Sequence[float], low: int, high: int) -> float:
    """Hits a second from one place to another."""
    last = min(high, len(ordered)) - 1
    return (last - low) / max(ordered[last] - ordered[low], 0.001)


def steps(ordered: Sequence[float], most: int = 500) -> Points:
    """How many so many seconds after the first, for a plot."""
    stride = max(1, len(ordered) // most)
    return [(ordered[n] - ordered[0], n + 1.0) for n in range(0, len(ordered), stride)]
