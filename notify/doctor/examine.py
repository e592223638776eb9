"""Looks at everything, one group after the other; what does not answer keeps none from the rest."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from notify.config import Settings, load_settings, settings_directory
from notify.config.secretfiles import secret_files
from notify.doctor import archive, asking, configuration, host, rabbitmq, redis_server
from notify.doctor.finding import Check, Finding, critical, fine, note
from notify.errors import ConfigError, NotifyError, Unavailable

_Facts = TypeVar("_Facts")

ALL_CHECKS: Final = tuple(
    value
    for module in (configuration, host, rabbitmq, redis_server, archive)
    for value in vars(module).values()
    if isinstance(value, Check)
)


def examine(directory: Path | None = None, *, go_live: bool = False) -> list[Finding]:
    """Every finding, those that are fine too. Never raises for what it finds, changes nothing.

    With ``go_live`` also what must be true before real recipients are written to.
    """
    root = settings_directory(directory)
    findings = [*host.secrets(secret_files(root))]
    try:
        settings = load_settings(directory)
    except ConfigError as error:
        findings = [*configuration.invalid(error.problems), *findings]
        return [*findings, *configuration.templates(root / "templates")]
    findings = [*configuration.valid(settings), *findings]
    return [*findings, *_with_settings(settings, go_live=go_live)]


def _with_settings(settings: Settings, *, go_live: bool) -> Iterator[Finding]:
    yield from configuration.templates(settings.templates)
    if go_live:
        yield from configuration.judge_go_live(settings)
    yield from _group(
        rabbitmq.ANSWERS,
        lambda: asking.rabbitmq(settings),
        (rabbitmq.judge, *([rabbitmq.judge_go_live] if go_live else [])),
    )
    yield from _group(
        redis_server.ANSWERS,
        lambda: asking.redis_server(settings),
        (redis_server.judge, *([redis_server.judge_go_live] if go_live else [])),
    )
    yield from _group(
        archive.ANSWERS,
        lambda: asking.archive(settings),
        (archive.judge, *([archive.judge_go_live] if go_live else [])),
    )
    yield from _group(
        archive.BEAT,
        lambda: asking.schedules(settings),
        (archive.judge_schedules,),
        answers=False,
    )
    yield from _this_machine(settings)


def _group(
    check: Check,
    ask: Callable[[], _Facts],
    judges: Iterable[Callable[[_Facts], Iterator[Finding]]],
    *,
    answers: bool = True,
) -> Iterator[Finding]:
    """``answers``: ``check`` is whether it does; otherwise somebody else says that."""
    try:
        facts = ask()
    except Unavailable as error:
        yield critical(check, str(error)) if answers else note(check, f"not looked at: {error}")
        return
    except NotifyError as error:
        yield critical(check, str(error))
        return
    if answers:
        yield fine(check, "it answers")
    for judge in judges:
        yield from judge(facts)


def _this_machine(settings: Settings) -> Iterator[Finding]:
    queues = [channel.queues for channel in settings.channels.values()]
    largest = max(max(each.urgent.concurrency, each.normal.concurrency) for each in queues)
    yield from host.open_files(largest)
    path = asking.embedded(settings)
    if path is not None and path.parent.is_dir():
        yield from host.disk(path.parent)
    names = _units(settings)
    yield from host.units(asking.units(names), names)


def _units(settings: Settings) -> list[str]:
    workers = [f"notify-worker@{channel}-{each}.service" for channel, each in settings.queues()]
    others = ("archiver", "beat", "exporter")
    return ["notify.target", *workers, *(f"notify-{name}.service" for name in others)]


def counted(findings: list[Finding]) -> dict[str, Any]:
    """How many there are of each severity, by its name."""
    names = [finding.severity.name.lower() for finding in findings]
    return {name: names.count(name) for name in ("critical", "warning", "note", "fine")}
