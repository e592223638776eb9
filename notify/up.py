"""``notify up``: everything on this machine in the foreground, for development.

honcho runs the processes and colours their logs. It runs behind a guard, so that nothing
outlives this program, even when it is killed.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType

from honcho.manager import Manager

from notify import provision
from notify.config import load_settings
from notify.local import PrivateServers, guard, servers_from_environment
from notify.processes import commands, environment, find_config, notify
from notify.sandbox import Sandbox

_NAME = "notify-up"


def run_up(directory: Path, say: Callable[[str], None]) -> int:
    """Runs until SIGINT or SIGTERM, or until one of the processes ends.

    Raises ``Unavailable`` with one line that says what does not start.
    """
    with ExitStack() as stack:
        servers = servers_from_environment() or stack.enter_context(
            PrivateServers(directory / "servers", progress=say)
        )
        directory.mkdir(parents=True, exist_ok=True)
        sandbox = stack.enter_context(Sandbox(directory / "received.jsonl"))
        config = {"NOTIFY_CONFIG": str(find_config(os.environ).absolute())}
        environ = (
            {"NOTIFY_LOG_FORMAT": "text"} | environment(servers, sandbox, directory, _NAME) | config
        )
        settings = load_settings(environ=environ)
        provision.declare_all(settings)
        say(_how_to_use(environ))
        return _supervise(commands(settings) | {"exporter": notify("exporter")}, environ)


def _how_to_use(environ: Mapping[str, str]) -> str:
    names = (
        "NOTIFY_BROKER_URLS",
        "NOTIFY_MANAGEMENT_URL",
        "NOTIFY_REDIS_URL",
        "NOTIFY_REDIS_PREFIX",
        "NOTIFY_ARCHIVE_URL",
        "NOTIFY_SANDBOX_HTTP",
        "NOTIFY_WEBHOOK_ALLOW",
        "NOTIFY_CONFIG",
    )
    lines = [f"  export {name}={shlex.quote(environ[name])}" for name in names]
    return "\n".join(["ready; in another terminal:", *lines, "  notify send sms …", ""])


def _supervise(wanted: Mapping[str, list[str]], environ: Mapping[str, str]) -> int:
    command = [sys.executable, "-m", "notify.up", json.dumps(dict(wanted))]
    guarded = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *command]
    with (
        subprocess.Popen(
            guarded,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,
        ) as process,
        _stopping(process),
    ):
        return process.wait()


@contextmanager
def _stopping(process: subprocess.Popen[bytes]) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        process.terminate()

    previous = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        with suppress(BrokenPipeError):
            if process.stdin:
                process.stdin.close()


def manage(wanted: Mapping[str, list[str]]) -> int:
    """honcho's part: runs the processes until one ends or a signal comes."""
    manager = Manager()
    for name, command in wanted.items():
        manager.add_process(name, "exec " + shlex.join(command), env=dict(os.environ))
    manager.loop()
    return int(manager.returncode or 0)


if __name__ == "__main__":
    sys.exit(manage(json.loads(sys.argv[1])))
