"""A RabbitMQ node of our own, with an epmd of its own, that leaves the system's alone."""

import os
import re
import secrets
from functools import partial
from pathlib import Path

from notify.local.executables import search_path
from notify.local.identity import Identity
from notify.local.ports import LOOPBACK
from notify.local.readiness import epmd_answers, rabbitmq_answers
from notify.local.server import Program

CONFIG = """\
# Written at every start; changes made here are lost.
listeners.tcp.local = {host}:{amqp}
management.tcp.ip = {host}
management.tcp.port = {management}
default_user = {user}
default_pass = {password}
log.file.level = warning
collect_statistics_interval = 1000
disk_free_limit.absolute = 50MB
raft.wal_max_size_bytes = 64000000
"""
PLUGINS = "[rabbitmq_management].\n"
NO_CONFIG = "[].\n"
LOOPBACK_ONLY = "-kernel inet_dist_use_interface {127,0,0,1}"


def epmd_program(executable: Path, directory: Path, identity: Identity) -> Program:
    directory.mkdir(parents=True, exist_ok=True)
    port = str(identity.ports["epmd"])
    return Program(
        name="epmd (Erlang's port mapper)",
        command=(str(executable), "-address", LOOPBACK, "-port", port),
        directory=directory,
        environment=_inherited(),
        answers=partial(epmd_answers, identity),
    )


def rabbitmq_program(executable: Path, directory: Path, identity: Identity) -> Program:
    _write_files(directory, identity)
    return Program(
        name="RabbitMQ",
        command=(str(executable),),
        directory=directory,
        environment=_inherited() | _environment(_as_seen_by_node(directory), identity),
        answers=partial(rabbitmq_answers, identity),
    )


def _write_files(directory: Path, identity: Identity) -> None:
    for part in ("home", "data", "log", "conf.d"):
        (directory / part).mkdir(parents=True, exist_ok=True)
    config = directory / "rabbitmq.conf"
    config.touch(mode=0o600)
    config.write_text(
        CONFIG.format(
            host=LOOPBACK, user=identity.user, password=identity.password, **identity.ports
        )
    )
    _write_cookie(directory / "home" / ".erlang.cookie")
    (directory / "advanced.config").write_text(NO_CONFIG)
    (directory / "enabled_plugins").write_text(PLUGINS)


def _write_cookie(path: Path) -> None:
    """Who knows it may run code in the node; the one that Erlang makes up can be guessed."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(24))


def _inherited() -> dict[str, str]:
    """Next to nothing: many variables change what RabbitMQ and Erlang do."""
    kept = {name: os.environ[name] for name in ("TZ", "TMPDIR") if name in os.environ}
    return kept | {"PATH": search_path(), "LANG": "C.UTF-8"}


def _environment(directory: Path, identity: Identity) -> dict[str, str]:
    return {
        "HOME": str(directory / "home"),
        "RABBITMQ_NODENAME": identity.node,
        "RABBITMQ_DIST_PORT": str(identity.ports["distribution"]),
        "ERL_EPMD_PORT": str(identity.ports["epmd"]),
        "ERL_EPMD_ADDRESS": LOOPBACK,
        "ERL_CRASH_DUMP_SECONDS": "0",
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_LOGS": str(directory / "log" / "rabbitmq.log"),
        "RABBITMQ_PID_FILE": str(directory / "rabbitmq.pid"),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_CONFIG_FILES": str(directory / "conf.d"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(directory / "advanced.config"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": LOOPBACK_ONLY,
        # The script then becomes the Erlang machine, instead of a shell that waits for it.
        "RUNNING_UNDER_SYSTEMD": "true",
    }


def _as_seen_by_node(directory: Path) -> Path:
    """The directory under a name that RabbitMQ can use: without spaces, in ASCII.

    Version 3.10 hands the path to ``df`` unquoted, and management fails on other letters. The
    node and what it starts have the directory as their working directory.
    """
    plain = re.fullmatch(r"[!-~]+", str(directory))
    return directory if plain else Path("/proc/self/cwd")
