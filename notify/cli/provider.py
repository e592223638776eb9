"""``notify provider``: one provider by itself."""

import json
from typing import Any

import click

from notify.channels import build_provider
from notify.channels.trials import Trial, rehearse, try_out
from notify.cli.context import FAILED, Context, pass_context, say
from notify.config.providers import AnyProvider
from notify.errors import InvalidInput, NotFound, UsageError
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, Receipt

_SUBJECT = "A test"
_BODY = "This is a test of Notify."


@click.group()
def provider() -> None:
    """One provider by itself, outside of queues and ledger."""


@provider.command("test")
@click.argument("name")
@click.option("--channel", help="Needed where two channels have a provider of that name.")
@click.option("--to", "recipient", required=True, help="A phone number, an address or a URL.")
@click.option("--subject", help="For an email or a webhook.")
@click.option("--body", default=_BODY, show_default=True)
@click.option("--data", help="JSON that a webhook posts instead of a body.")
@click.option("--yes", is_flag=True, help="Send it; without this the request is only shown.")
@pass_context
@click.pass_context
def test(
    command: click.Context,
    context: Context,
    /,
    name: str,
    channel: str | None,
    recipient: str,
    yes: bool,
    **content: str | None,
) -> None:
    """Sends one real message, and shows request and answer without secrets."""
    channel, settings = _find(context, name, channel)
    notification = _notification(channel, recipient, **content)
    built = build_provider(settings)  # type: ignore[arg-type]
    if not yes:
        trial = rehearse(built, notification)
        _show_request(trial)
        say("That was a dry run: nothing was sent. With --yes it is.")
    else:
        trial = try_out(built, notification, context.settings.channel(channel).send.deadline)
        _show_request(trial)
        _show_answer(trial)
    _show_outcome(trial)
    command.exit(FAILED if isinstance(trial.outcome, DeliveryFailure) else 0)


def _find(context: Context, name: str, channel: str | None) -> tuple[str, AnyProvider]:
    found = [
        (each, settings)
        for each, own in context.settings.channels.items()
        for settings in own.providers
        if settings.name == name and channel in (None, each)
    ]
    if not found:
        where = f" of {channel}" if channel else ""
        raise NotFound(f"no provider {name}{where} is configured")
    if len(found) > 1:
        raise UsageError(f"--channel: is needed, {' and '.join(each for each, _ in found)} have it")
    return found[0]


def _notification(
    channel: str, recipient: str, *, subject: str | None, body: str | None, data: str | None
) -> Notification:
    content: dict[str, Any] = {"body": body}
    if channel != "sms":
        content["subject"] = subject or (_SUBJECT if channel == "email" else None)
    if data is not None:
        content = {"subject": subject, "data": _json(data)}
    return Notification(channel=channel, recipient=recipient, **content)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidInput("--data: must be JSON") from None


def _show_request(trial: Trial) -> None:
    if trial.request:
        say(trial.request + "\n")


def _show_answer(trial: Trial) -> None:
    if trial.status is not None:
        say(f"HTTP {trial.status}")
    if trial.answer:
        say(trial.answer + "\n")


def _show_outcome(trial: Trial) -> None:
    outcome = trial.outcome
    if isinstance(outcome, Receipt):
        say(f"sent{f', as {outcome.provider_id}' if outcome.provider_id else ''}")
    elif outcome is not None:
        words = [f"{outcome.kind} failure, {outcome.reason}", outcome.detail, outcome.code]
        say(": ".join(word for word in words if word))
        for asked in _asked(outcome):
            say(f"it asks for: {asked}")


def _asked(failure: DeliveryFailure) -> list[str]:
    wait = f"patience for {failure.retry_after:.0f} s" if failure.retry_after else ""
    slower = "fewer messages" if failure.slow_down else ""
    nothing = "nothing more for this recipient" if failure.suppress else ""
    return [text for text in (wait, slower, nothing) if text]
