"""Delivers one notification in a process of its own, which may die without harm to others."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from notify.config import load_settings
from notify.deliver import Pipeline
from notify.message import Envelope, decode, encode_parts
from notify.outcomes import Reason
from notify.sending import GRACE
from notify.steps import HandBack, Pause
from notify.telemetry import set_up_logging

_HANDED_BACK: Final = 75
_PAUSED: Final = 76
_STUCK: Final = 77
_LOOK_EVERY: Final = 1.0
# Longer than the wait for its turn, which is twenty minutes at most.
_LONGEST: Final = 1500.0


def deliver_alone(
    pipeline: Pipeline, envelope: Envelope, redelivered: bool, on_trial: bool = False
) -> str:
    """Like ``Pipeline.deliver``; what ends its process is archived as ``poison``."""
    headers, notification = encode_parts(envelope)
    document = {
        "headers": headers,
        "notification": notification,
        "redelivered": redelivered,
        "on_trial": on_trial,
    }
    with pipeline.busy():
        code = _run(pipeline.name, json.dumps(document), pipeline.tools.pause)
    if code in (_HANDED_BACK, -signal.SIGTERM, -signal.SIGINT):
        raise HandBack("handed back by the process of its own")
    if code == _PAUSED:
        raise Pause("nothing can be sent now")
    if code != 0:
        detail = f"the process that delivered it alone ended with {code}"
        return pipeline.archive(envelope, Reason.POISON, detail)
    return "alone"


def _run(channel: str, document: str, pause: Callable[[float], bool]) -> int:
    """The exit code of its process, which is told when the worker stops."""
    command = [sys.executable, "-m", "notify.worker.alone", channel]
    give_up = time.monotonic() + _LONGEST
    # In a group of its own: Ctrl-C is for the worker.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, process_group=0
    ) as child:
        assert child.stdin is not None
        with suppress(BrokenPipeError), child.stdin:
            child.stdin.write(document.encode())
        while True:
            try:
                return child.wait(_LOOK_EVERY)
            except subprocess.TimeoutExpired:
                if time.monotonic() > give_up:
                    child.kill()
                elif pause(0):
                    child.terminate()


def main(channel: str, document: dict[str, Any]) -> int:
    """The process of its own."""
    from notify.worker.assembly import make_pipeline

    settings = load_settings()
    set_up_logging(settings.log.level, settings.log.format)
    stopping = _stopping()
    pipeline = make_pipeline(settings, channel, stopping.wait)
    envelope = decode(document["headers"], document["notification"])
    threading.Thread(target=_end_when_stuck, args=(pipeline,), daemon=True).start()
    try:
        pipeline.tools.router.fleet.start()
        pipeline.deliver(
            envelope, redelivered=document["redelivered"], on_trial=document["on_trial"]
        )
    except Pause:
        return _PAUSED
    except HandBack:
        return _HANDED_BACK
    finally:
        pipeline.tools.router.close()
    return 0


def _stopping() -> threading.Event:
    """Set when the worker stops."""
    event = threading.Event()

    def stop(*_: object) -> None:
        # Not here: the thread that is interrupted may hold the lock of the event.
        threading.Thread(target=event.set, daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    return event


def _end_when_stuck(pipeline: Pipeline) -> None:
    """A thread cannot be killed, but its process can."""
    while True:
        time.sleep(_LOOK_EVERY)
        late = time.monotonic() - GRACE
        if any(deadline < late for deadline in list(pipeline.sending.values())):
            os._exit(_STUCK)


if __name__ == "__main__":
    code = main(sys.argv[1], json.load(sys.stdin))
    # A provider's stray thread may be writing a line, and take ours along.
    logging.shutdown()
    # It must not keep a finished process.
    os._exit(code)
