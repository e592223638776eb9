"""The configuration, judged."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from notify.config import Settings
from notify.config.types import is_loopback
from notify.doctor.finding import Check, Finding, critical, fine, warning
from notify.templates import check_templates

VALID: Final = Check(
    name="config-valid",
    why="no process starts with it, and a reload is refused",
    runbook="worker-does-not-start",
)
TEMPLATES: Final = Check(
    name="config-templates",
    why="what names such a template is refused when it is published",
    runbook="template-is-refused",
)
PROVIDERS: Final = Check(
    name="providers-real",
    why="what is sent to a provider on this machine reaches nobody",
    runbook="add-a-provider",
)
METRICS: Final = Check(
    name="metrics-shown",
    why="nobody is told when something breaks",
    runbook="go-live",
)
LOGS: Final = Check(
    name="logs-level",
    why="at DEBUG libraries may write what they send",
    runbook="go-live",
)


def valid(settings: Settings) -> Iterator[Finding]:
    names = ", ".join(settings.channels)
    yield fine(VALID, f"channels: {names}")


def invalid(problems: tuple[str, ...]) -> Iterator[Finding]:
    for problem in problems:
        yield critical(VALID, problem)


def templates(directory: Path) -> Iterator[Finding]:
    problems = check_templates(directory) if directory.is_dir() else []
    for problem in problems:
        yield critical(TEMPLATES, problem)
    if not problems:
        yield fine(TEMPLATES, "every template can be rendered")


def judge_go_live(settings: Settings) -> Iterator[Finding]:
    yield from _providers(settings)
    shown = settings.metrics.first_port
    if shown:
        yield fine(METRICS, f"from port {shown} on")
    else:
        yield warning(METRICS, "metrics.first_port is 0: nothing is shown")
    if settings.log.level == "DEBUG":
        yield warning(LOGS, "log.level is DEBUG")
    else:
        yield fine(LOGS, f"log.level is {settings.log.level}")


def _providers(settings: Settings) -> Iterator[Finding]:
    found = False
    for channel, configured in settings.channels.items():
        for provider in configured.providers:
            host = _host(provider)
            if host and is_loopback(host) and provider.type != "smtp":
                found = True
                place = f"channels/{channel}.toml: {provider.name}"
                yield critical(PROVIDERS, f"{place} leads to this machine, as a sandbox does")
            elif any(network.is_loopback for network in getattr(provider, "allow", ())):
                found = True
                place = f"channels/{channel}.toml: {provider.name}"
                yield critical(PROVIDERS, f"{place} may send to this machine itself")
    if not found:
        yield fine(PROVIDERS, "no provider leads to this machine")


def _host(provider: Any) -> str:
    """Of a mail server on this machine nobody knows where it sends: it may be a relay."""
    url = getattr(provider, "url", "") or ""
    return urlsplit(url).hostname or "" if isinstance(url, str) else ""
