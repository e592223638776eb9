"""``python -m notify.sandbox``: the sandbox in the foreground, until SIGTERM or SIGINT."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from notify.errors import NotifyError
from notify.sandbox.server import Sandbox


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sandbox; return the exit code."""
    options = _parser().parse_args(arguments)
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        with Sandbox(options.record, options.http_port, options.smtp_port, options.sync) as sandbox:
            _announce(sandbox)
            stop.wait()
    except NotifyError as error:
        sys.stderr.write(f"sandbox: {error}\n")
        return 1
    return 0


def _announce(sandbox: Sandbox) -> None:
    where = f"{sandbox.http_url} and smtp://127.0.0.1:{sandbox.smtp_port}"
    sys.stdout.write(f"sandbox listens on {where}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m notify.sandbox", description=__doc__)
    parser.add_argument("--http-port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--smtp-port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--record", type=Path, help="append what is received to this file")
    parser.add_argument("--sync", action="store_true", help="fsync the record each time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
