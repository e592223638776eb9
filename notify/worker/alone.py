"""Delivers one notification in a process of its own, which may die without harm to others."""

import json
import os
import subprocess
import sys
import threading
from typing import Any, Final

from notify.config import load_settings
from notify.deliver import Pipeline
from notify.message import Envelope, decode, encode_parts
from notify.outcomes import Reason
from notify.steps import HandBack, Pause
from notify.telemetry import set_up_logging

_HANDED_BACK: Final = 75
_PAUSED: Final = 76
# Beside the send itself: the start of Python, and the wait for a step to become durable.
_MORE_SECONDS: Final = 60.0


def deliver_alone(pipeline: Pipeline, envelope: Envelope, redelivered: bool) -> str:
    """Like ``Pipeline.deliver``; what ends its process is archived as ``poison``."""
    headers, notification = encode_parts(envelope)
    document = {"headers": headers, "notification": notification, "redelivered": redelivered}
    code = _run(pipeline.name, json.dumps(document), pipeline.settings.send.deadline)
    if code == _HANDED_BACK:
        raise HandBack("handed back by the process of its own")
    if code == _PAUSED:
        raise Pause("nothing can be sent now")
    if code != 0:
        detail = f"the process that delivered it alone ended with {code}"
        return pipeline.archive(envelope, Reason.POISON, detail)
    return "alone"


def _run(channel: str, document: str, deadline: float) -> int:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "notify.worker.alone", channel],
            input=document.encode(),
            stdout=subprocess.DEVNULL,
            timeout=deadline + _MORE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -9
    return done.returncode


def main(channel: str, document: dict[str, Any]) -> int:
    """The process of its own."""
    from notify.worker.assembly import make_pipeline

    settings = load_settings()
    set_up_logging(settings.log.level, settings.log.format)
    pipeline = make_pipeline(settings, channel, threading.Event().wait)
    envelope = decode(document["headers"], document["notification"])
    try:
        pipeline.tools.router.open()
        pipeline.deliver(envelope, redelivered=document["redelivered"])
    except Pause:
        return _PAUSED
    except HandBack:
        return _HANDED_BACK
    finally:
        pipeline.tools.router.close()
    return 0


if __name__ == "__main__":
    # A provider's stray thread must not keep a finished process.
    os._exit(main(sys.argv[1], json.load(sys.stdin)))
