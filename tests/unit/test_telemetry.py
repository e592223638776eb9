"""Logs: one line per event, in which nobody's data can appear."""

import io
import json
import logging
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from select import PIPE_BUF

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.telemetry import event, mask, safe_traceback, set_up_logging
from tests.waiting import eventually

log = logging.getLogger("notify.test")
SECRET = "Ihr Code lautet 314159"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def logs() -> Iterator[Callable[..., io.StringIO]]:
    """Sets logging up into a text; as it was before, afterwards."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level

    def set_up(style: str, level: str = "INFO", stream: io.StringIO | None = None) -> io.StringIO:
        output = stream or io.StringIO()
        set_up_logging(level, style, output)
        return output

    yield set_up
    root.handlers[:] = before
    root.setLevel(level)


def test_json_lines(logs: Callable[..., io.StringIO]) -> None:
    output = logs("json")
    log.info("delivered", extra=event(id="a-1", attempt=2, reason="", code=None, name="您好"))
    log.debug("not at this level")
    (line,) = output.getvalue().splitlines()
    values = json.loads(line)
    assert values.pop("time").endswith("+00:00")
    assert values == {
        "level": "INFO",
        "logger": "notify.test",
        "event": "delivered",
        "id": "a-1",
        "attempt": 2,
        "name": "您好",
    }
    assert line.startswith('{"time":"')


def test_text_lines(logs: Callable[..., io.StringIO]) -> None:
    output = logs("text")
    log.warning("paused", extra=event(queue="notify.sms.urgent", why="no answer", n=0))
    line = output.getvalue()
    assert line[12:] == ' WARNING paused queue=notify.sms.urgent why="no answer" n=0\n'
    assert line[2] == line[5] == ":"


@pytest.mark.parametrize(
    ("style", "terminal", "as_json"),
    [("auto", True, False), ("auto", False, True), ("text", False, False), ("json", True, True)],
)
def test_auto_is_json_unless_on_a_terminal(
    logs: Callable[..., io.StringIO], style: str, terminal: bool, as_json: bool
) -> None:
    output = logs(style, stream=Terminal() if terminal else io.StringIO())
    log.info("delivered")
    assert output.getvalue().startswith("{") is as_json


@pytest.mark.parametrize("style", ["json", "text"])
@given(text=st.text())
def test_an_event_is_always_one_line(style: str, text: str) -> None:
    """A gateway's answer must not be able to write lines of its own into the log."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    output = io.StringIO()
    try:
        set_up_logging("INFO", style, output)
        log.info("refused", extra=event(code=f"{text}\r\n\x1b[2K\x85\u2028ok", other=text))
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    written = output.getvalue()
    assert written.count("\n") == 1
    assert "\x1b" not in written
    assert "\r" not in written


def test_what_is_not_given_as_an_event_field_does_not_appear(
    logs: Callable[..., io.StringIO],
) -> None:
    output = logs("json")
    log.info("delivered", extra={"recipient": "+491701234567", **event(id="a-1")})
    assert "491701234567" not in output.getvalue()


@pytest.mark.parametrize("style", ["json", "text"])
def test_an_exception_is_logged_by_kind_and_place_without_its_message(
    logs: Callable[..., io.StringIO], style: str
) -> None:
    output = logs(style)
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.exception("delivery is broken", extra=event(id="a-1"))
    written = output.getvalue()
    assert written.count("\n") == 1
    assert "ValueError at test_telemetry.py:" in written
    assert SECRET not in written


def test_a_chain_of_exceptions_shows_no_message_either() -> None:
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError as error:
        trace = safe_traceback(error)
    assert trace.startswith("RuntimeError at test_telemetry.py:")
    assert SECRET not in trace
    assert safe_traceback(OSError(SECRET)) == "OSError at unknown place"


@pytest.mark.parametrize(
    ("name", "level", "appears"),
    [
        ("celery.app.trace", logging.ERROR, False),
        ("celery.worker.strategy", logging.INFO, False),
        ("celery.redirected", logging.INFO, False),
        ("urllib3.connectionpool", logging.DEBUG, False),
        ("pika.adapters", logging.INFO, False),
        ("mail.log", logging.INFO, False),
        ("pika.adapters", logging.CRITICAL, True),
        ("celery.worker.consumer", logging.WARNING, True),
    ],
)
@pytest.mark.parametrize("level_set", ["DEBUG", "INFO"])
def test_libraries_that_log_content_are_quiet(
    logs: Callable[..., io.StringIO], level_set: str, name: str, level: int, appears: bool
) -> None:
    output = logs("json", level_set)
    logging.getLogger(name).log(level, SECRET)
    assert (SECRET in output.getvalue()) is appears


@pytest.mark.parametrize(
    ("created", "shown"),
    [
        (1767225599.9996, "2025-12-31T23:59:59.999+00:00"),
        (1767225600.0, "2026-01-01T00:00:00.000+00:00"),
        (1767225600.423, "2026-01-01T00:00:00.423+00:00"),
        (1767225599.9999998, "2025-12-31T23:59:59.999+00:00"),
        (1709164800.0405, "2024-02-29T00:00:00.040+00:00"),
        (0.5, "1970-01-01T00:00:00.500+00:00"),
    ],
)
def test_the_time_of_a_line(logs: Callable[..., io.StringIO], created: float, shown: str) -> None:
    output = logs("json")
    record = log.makeRecord(log.name, logging.INFO, "", 0, "delivered", (), None)
    record.created = created
    log.handle(record)
    time = json.loads(output.getvalue())["time"]
    assert time == shown
    whole = datetime.fromtimestamp(created, UTC)
    assert abs((datetime.fromisoformat(time) - whole).total_seconds()) <= 0.001


class Slow(io.StringIO):
    """A stream whose writes end when they are let."""

    def __init__(self) -> None:
        super().__init__()
        self.writing = threading.Event()
        self.go_on = threading.Event()

    def write(self, text: str) -> int:
        self.writing.set()
        assert self.go_on.wait(20)
        return super().write(text)


def _events(output: io.StringIO) -> list[str]:
    return [json.loads(line)["event"] for line in output.getvalue().splitlines()]


def test_who_writes_takes_along_what_others_say_meanwhile(
    logs: Callable[..., io.StringIO],
) -> None:
    output = Slow()
    logs("json", stream=output)
    writer = threading.Thread(target=lambda: log.info("first"))
    writer.start()
    assert output.writing.wait(20)
    log.info("second")  # comes back at once, though nothing is written yet
    log.info("third")
    assert output.getvalue() == ""
    output.go_on.set()
    writer.join(20)
    assert _events(output) == ["first", "second", "third"]


def test_a_warning_is_out_when_it_was_said(logs: Callable[..., io.StringIO]) -> None:
    output = Slow()
    logs("json", stream=output)
    threads = [threading.Thread(target=lambda: log.info("first"))]
    threads[0].start()
    assert output.writing.wait(20)
    threads.append(threading.Thread(target=lambda: log.warning("second")))
    threads[1].start()
    threads[1].join(0.2)
    assert threads[1].is_alive()
    output.go_on.set()
    for thread in threads:
        thread.join(20)
    assert _events(output) == ["first", "second"]


def test_flushing_waits_for_what_is_being_written(logs: Callable[..., io.StringIO]) -> None:
    output = Slow()
    logs("json", stream=output)
    writer = threading.Thread(target=lambda: log.info("first"))
    writer.start()
    assert output.writing.wait(20)
    (handler,) = logging.getLogger().handlers
    last = threading.Thread(target=handler.flush)
    last.start()
    last.join(0.2)
    assert last.is_alive()
    output.go_on.set()
    last.join(20)
    assert _events(output) == ["first"]


def test_who_says_too_much_waits(
    logs: Callable[..., io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notify.telemetry._MOST_WAITING", 10)
    output = Slow()
    logs("json", stream=output)
    said: list[int] = []

    def say() -> None:
        for number in range(100):
            log.info("said", extra=event(n=number))
            said.append(number)

    threads = [threading.Thread(target=lambda: log.info("first"))]
    threads[0].start()
    assert output.writing.wait(20)
    threads.append(threading.Thread(target=say))
    threads[1].start()
    eventually(lambda: len(said) == 10, "as many lines wait as may")
    threads[1].join(0.2)
    assert len(said) == 10
    output.go_on.set()
    for thread in threads:
        thread.join(20)
    assert len(_events(output)) == 101


class Talkative(io.StringIO):
    """While it is written to, somebody has something else to say."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.said = threading.Event()

    def write(self, text: str) -> int:
        self.said.clear()
        self.begun.release()
        self.said.wait(0.2)
        return super().write(text)


def test_nobody_writes_for_the_others_for_ever(
    logs: Callable[..., io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notify.telemetry._LONGEST_TURN", 0.0)
    output = Talkative()
    logs("json", stream=output)
    stop = threading.Event()

    def talk() -> None:
        while output.begun.acquire(timeout=20) and not stop.is_set():
            log.info("more")
            output.said.set()

    threads = [threading.Thread(target=talk), threading.Thread(target=lambda: log.info("first"))]
    for thread in threads:
        thread.start()
    try:
        threads[1].join(20)
        assert not threads[1].is_alive()
    finally:
        stop.set()
        output.begun.release()
        for thread in threads:
            thread.join(20)
    assert _events(output)[0] == "first"


class Pieces(Slow):
    """Remembers what it was given at once."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return super().write(text)


def test_lines_of_two_processes_in_one_pipe_are_not_mixed(
    logs: Callable[..., io.StringIO],
) -> None:
    output = Pieces()
    logs("json", stream=output)
    writer = threading.Thread(target=lambda: log.info("first"))
    writer.start()
    assert output.writing.wait(20)
    for number in range(100):
        log.info("said", extra=event(n=number, name="您好" * (5000 if number == 50 else 10)))
    output.go_on.set()
    writer.join(20)
    lines = output.getvalue().splitlines()
    assert [json.loads(line).get("n") for line in lines] == [None, *range(100)]
    assert 2 < len(output.pieces) < 50
    for piece in output.pieces:
        assert piece.endswith("\n")
        assert piece.count("\n") == 1 or len(piece.encode()) <= PIPE_BUF


class Interrupted(io.StringIO):
    """A signal comes while it is written to; streams refuse to be written to meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0

    def write(self, text: str) -> int:
        assert self.depth == 0
        self.depth += 1
        if not self.getvalue():
            log.info("stopping")
            log.warning("in a hurry")
        self.depth -= 1
        return super().write(text)


def test_what_is_said_when_a_signal_comes_is_written_after_the_line_it_interrupts(
    logs: Callable[..., io.StringIO],
) -> None:
    output = Interrupted()
    logs("json", stream=output)
    log.info("delivered")
    assert _events(output) == ["delivered", "stopping", "in a hurry"]


_FORKS = """
import io, logging, os, threading
from notify.telemetry import set_up_logging

class Stuck(io.StringIO):
    def write(self, text):
        writing.set()
        go_on.wait(20)
        os.write(1, text.encode())
        return len(text)

writing, go_on, log = threading.Event(), threading.Event(), logging.getLogger("notify.test")
set_up_logging("INFO", "json", Stuck())
writer = threading.Thread(target=log.info, args=("first",))
writer.start()
writing.wait(20)
log.info("second")
child = os.fork()
go_on.set()
if child:
    os.waitpid(child, 0)
    writer.join(20)
else:
    log.info("of the child")
    logging.shutdown()
    os._exit(0)
"""


def test_a_forked_process_writes_no_lines_of_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", _FORKS], capture_output=True, timeout=30)
    said = sorted(json.loads(line)["event"] for line in done.stdout.splitlines())
    assert said == ["first", "of the child", "second"], done.stderr


def test_each_line_is_written_once_and_those_of_a_thread_in_order(
    logs: Callable[..., io.StringIO],
) -> None:
    output = logs("json")

    def say(who: int) -> None:
        for number in range(500):
            log.info("said", extra=event(who=who, n=number))

    threads = [threading.Thread(target=say, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heard: dict[int, list[int]] = defaultdict(list)
    for line in output.getvalue().splitlines():
        values = json.loads(line)
        heard[values["who"]].append(values["n"])
    assert heard == {who: list(range(500)) for who in range(8)}


def test_a_stream_that_fails_costs_its_lines_only(
    logs: Callable[..., io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    output = logs("json")
    with monkeypatch.context() as broken:

        def write(_: str) -> int:
            raise OSError("the disk is full")

        broken.setattr(output, "write", write)
        log.info("lost")
    log.info("delivered")
    assert _events(output) == ["delivered"]


@pytest.mark.parametrize(
    ("recipient", "masked"),
    [
        ("+491701234567", "+49***67"),
        ("ada.lovelace@example.com", "a***@example.com"),
        ("@example.com", "***@example.com"),
        ("https://example.com/hook/secret", "https://example.com/***"),
        ("https://example.com", "https://example.com/***"),
        ("https://example.com?token=secret", "https://example.com/***"),
        ("https://example.com#secret", "https://example.com/***"),
        ("https://example.com:8443/u/ada@secret?x", "https://example.com:8443/***"),
        ("https://user:secret@example.com/", "https://example.com/***"),
        ("secret", "***"),
        ("", "***"),
    ],
)
def test_a_masked_recipient_tells_only_who_knows_it(recipient: str, masked: str) -> None:
    assert mask(recipient) == masked
