"""Commands of other programs in the runbooks: what is not run by a test, and why not.

A program that stands in neither table is an error: run it, or say here why not.
"""

from typing import Final

_SYSTEMD: Final = "needs a Debian that has booted: tests/systemd installs, restarts and drains one"
_SERVER: Final = "changes, or asks, a system's own RabbitMQ; its subcommands are compared below"
_MACHINE: Final = "looks at the machine itself, and may say anything"
_CHANGES: Final = "changes the system"

NOT_RUN: Final = {
    "systemctl": _SYSTEMD,
    "systemd-run": _SYSTEMD,
    "journalctl": _SYSTEMD,
    "rabbitmqctl": _SERVER,
    "rabbitmq-diagnostics": _SERVER,
    "rabbitmq-plugins": _SERVER,
    "rabbitmq-queues": _SERVER,
    "rabbitmq-upgrade": _SERVER,
    "promtool": "looks at Prometheus's own configuration, which is not ours",
    "curl": "asks fixed ports of an installed system; metrics that it looks for are compared",
    "ops/install": "installs: tests/systemd does it as deploy.md says",
    "/opt/notify/current/share/ops/rollback": "rolls back: tests/systemd does it",
    "/opt/notify/current/share/ops/rabbitmq/setup": "sets up users: tests/systemd does it",
    "apt-get": _CHANGES,
    "install": _CHANGES,
    "chown": _CHANGES,
    "chmod": _CHANGES,
    "cp": _CHANGES,
    "head": "writes a secret",
    "printf": "sets a password of Redis",
    "export": "sets a variable of the shell",
    "runuser": "makes a role and a database in a system's PostgreSQL",
    "chronyc": "asks, or sets, a clock",
    "timedatectl": _MACHINE,
    "df": _MACHINE,
    "ls": _MACHINE,
    "cat": _MACHINE,
    "grep": _MACHINE,
    "ss": _MACHINE,
    "readlink": _MACHINE,
    "sha256sum": _MACHINE,
    "for": "a loop over the fixed ports of an installed system",
}

# Of redis-cli; the others are run.
REDIS_CHANGES: Final = (("config", "set"), ("config", "rewrite"), ("del",))

# Of notify; the others are run.
NOTIFY_NOT_RUN: Final = {
    ("worker",): "runs until it is stopped: tests/pipeline",
    ("archiver",): "runs until it is stopped: tests/archive",
    ("archive", "copy"): "needs a PostgreSQL: tests/archive/test_copying.py",
}
