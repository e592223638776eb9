"""What systemd is told, when, and in which words."""

import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from notify import systemd
from notify.systemd import Reporter
from notify.worker.doing import Doing, Teller


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """The datagrams since the last look."""
    address = tmp_path / "notify.socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.bind(str(address))
        out.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(address))

        def listen() -> str:
            said = []
            while True:
                try:
                    said.append(out.recv(4096).decode())
                except BlockingIOError:
                    return "|".join(said)

        yield listen


def test_one_datagram_for_each_thing_to_say(heard: Callable[[], str]) -> None:
    systemd.tell_ready("consuming")
    systemd.tell_status("consuming; 2 under way", alive=True)
    systemd.tell_status("consuming; 3 under way")
    systemd.tell_stopping("draining")
    assert heard() == (
        "READY=1\nSTATUS=consuming|WATCHDOG=1\nSTATUS=consuming; 2 under way"
        "|STATUS=consuming; 3 under way|STOPPING=1\nSTATUS=draining"
    )


def test_a_status_cannot_say_anything_else(heard: Callable[[], str]) -> None:
    systemd.tell_status("waiting\nWATCHDOG=1\n" + "x" * 500)
    said = heard()
    assert said.count("\n") == 0
    assert len(said) == len("STATUS=") + 200


def test_a_reload_says_when_it_began(heard: Callable[[], str]) -> None:
    systemd.tell_reloading()
    first, second = heard().split("\n")
    assert first == "RELOADING=1"
    assert int(second.removeprefix("MONOTONIC_USEC=")) > 0


def test_without_systemd_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    systemd.tell_ready("consuming")
    assert not systemd.supervised()


def test_a_systemd_that_does_not_listen_is_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    systemd.tell_ready("consuming")
    assert systemd.supervised()


@pytest.mark.parametrize(
    ("value", "seconds"), [("", 90.0), ("180", 180.0), ("soon", 90.0), ("-1", 90.0)]
)
def test_how_long_stopping_may_take(value: str, seconds: float) -> None:
    assert systemd.stop_timeout({"NOTIFY_STOP_TIMEOUT": value}) == seconds


def test_a_loop_is_ready_when_it_works_or_says_what_it_waits_for(
    heard: Callable[[], str],
) -> None:
    now = 0.0
    reporter = Reporter(begins="connecting", clock=lambda: now)
    reporter.status("connecting")
    assert heard() == "STATUS=connecting"
    reporter.status("archiving")
    assert heard() == "READY=1\nSTATUS=archiving"
    reporter.status("archiving")
    reporter.status("connecting")
    assert heard() == ""
    reporter.status("waiting")
    assert heard() == "STATUS=waiting"
    reporter.resumed("restart to use the new broker.urls")
    assert heard() == "READY=1\nSTATUS=waiting; restart to use the new broker.urls"


def test_a_loop_that_turns_fast_is_alive_once_a_second(heard: Callable[[], str]) -> None:
    times = iter((100.0, 100.1, 100.9, 101.0, 103.0))
    reporter = Reporter(clock=lambda: next(times))
    for _ in range(5):
        reporter.alive()
    assert heard() == "|".join(["WATCHDOG=1"] * 3)


NOW = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("doing", "line"),
    [
        (Doing(), "consuming"),
        (Doing(sending=3), "consuming; 3 under way"),
        (Doing(note="restart to use the new log"), "consuming; restart to use the new log"),
        (Doing(paused="first: breaker open"), "paused since 09:00:00 UTC; first: breaker open"),
        (Doing(trouble="no answer"), "waiting for RabbitMQ since 09:00:00 UTC; no answer"),
        (
            Doing(held=2, sending=1),
            "waiting for Redis or RabbitMQ since 09:00:00 UTC;"
            " 2 outcomes can be neither written nor published; 1 under way",
        ),
        (Doing(stopping=True, sending=2, paused="anything"), "draining; 2 under way"),
        (Doing(stopping=True), "draining; nothing under way"),
    ],
)
def test_what_a_worker_does_in_plain_words(doing: Doing, line: str) -> None:
    assert Teller(now=lambda: NOW).line(doing) == line


def test_since_is_when_the_waiting_began() -> None:
    now = NOW
    teller = Teller(now=lambda: now)
    assert teller.line(Doing()) == "consuming"
    now += timedelta(minutes=1)
    assert "since 09:01:00 UTC" in teller.line(Doing(trouble="no answer"))
    now += timedelta(minutes=1)
    assert "since 09:01:00 UTC" in teller.line(Doing(trouble="an alarm"))
    assert teller.line(Doing()) == "consuming"
    assert "since 09:02:00 UTC" in teller.line(Doing(trouble="no answer"))
