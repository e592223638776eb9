"""All commands: where each is, and what the help says of it."""

from collections import UserDict
from importlib import import_module
from typing import Final

import click

# The home of each command below ``notify.cli``, where it has the command's name, and its help.
_COMMANDS: Final = {
    "archive": (
        "archive",
        "The database of the dead letters: its schema, backups, who looked at personal data.",
    ),
    "archiver": ("archiver", "Moves dead letters from RabbitMQ into the archive."),
    "batch": (
        "batch",
        "Batches: files that are sent, how far they are, and what became of each row.",
    ),
    "beat": ("beat", "Fires the schedules; run two or more, one leads."),
    "care": (
        "care",
        "What the archiver does about dead letters by itself: rules, and a daily digest.",
    ),
    "config": ("config", "The configuration."),
    "dead": ("dead", "Notifications that could not be delivered: find, understand, send again."),
    "demo": ("local", "Shows the whole job on real servers; exit code 0 when the counts add up."),
    "doctor": (
        "doctor",
        "Looks at configuration, RabbitMQ, Redis, archive and this machine; changes nothing.",
    ),
    "drill": (
        "drill",
        "Breaks things while notifications flow to a sandbox; exit code 0 when none is lost.",
    ),
    "endpoint": ("endpoint", "URLs of webhooks that are disabled, or only fail."),
    "exporter": (
        "exporter",
        "Shows Prometheus the queues and Redis, and publishes the heartbeats.",
    ),
    "phone": ("phone", "Shows how numbers are read; exit code 1 where one is not possible."),
    "privacy": (
        "privacy",
        "One person in the archive, the ledger and the suppressions: show, export, erase.",
    ),
    "provider": ("provider", "One provider by itself, outside of queues and ledger."),
    "providers": (
        "providers",
        "Shows each provider's state, rate, errors and latency of the last half minute.",
    ),
    "queues": (
        "queues",
        "Shows ready, unacknowledged and waiting messages, consumers, and ages.",
    ),
    "schedule": ("schedule", "Notifications that are sent at certain times."),
    "send": ("send", "Publishes a notification; returns when RabbitMQ has confirmed it."),
    "status": ("status", "Tells what happened to a notification, or when it is to be sent."),
    "suppression": (
        "suppression",
        "Recipients that get nothing: opt-outs, addresses that do not exist, endpoints.",
    ),
    "template": ("template", "Content from files below the configuration's templates/."),
    "topology": ("topology", "Exchanges, queues, bindings and policies in RabbitMQ."),
    "up": (
        "local",
        "Runs everything in the foreground: brokers, sandbox, workers, archiver, beat.",
    ),
    "webhook": (
        "webhook",
        "For receivers of webhooks, as https://www.standardwebhooks.com says.",
    ),
    "worker": ("worker", "Delivers the notifications of one channel and priority."),
}


class Commands(UserDict[str, click.Command]):
    """A command is imported when it is first asked for.

    A worker loads neither the archive nor the drills, and ``notify send`` starts at once.
    """

    def __init__(self) -> None:
        super().__init__({name: _stand_in(name) for name in _COMMANDS})
        self._loaded: set[str] = set()

    def __getitem__(self, name: str) -> click.Command:
        if name in self.data and name not in self._loaded:
            home, _ = _COMMANDS[name]
            self.data[name] = getattr(import_module(f"notify.cli.{home}"), name)
            _name_twins(self.data[name], f"NOTIFY_{name}")
            self._loaded.add(name)
        return self.data[name]


class Notify(click.Group):
    """The group of all commands."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, without loading every command for one line of its help."""
        limit = formatter.width - 6 - max(len(name) for name in _COMMANDS)
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, _stand_in(name).get_short_help_str(limit)) for name in _COMMANDS]
            )


def _stand_in(name: str) -> click.Command:
    """Has the help of a command that is not loaded yet."""
    _, text = _COMMANDS[name]
    return click.Command(name, help=text)


def _name_twins(command: click.Command, prefix: str) -> None:
    """Names each option's environment twin after the option, whatever our variable is called."""
    for option in command.params:
        if isinstance(option, click.Option) and option.expose_value and not option.envvar:
            name = max(option.opts, key=len).removeprefix("--").replace("-", "_")
            option.envvar = f"{prefix}_{name}".upper()
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            _name_twins(child, f"{prefix}_{name}")
