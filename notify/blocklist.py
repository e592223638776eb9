"""Who gets nothing: asked before each send, and learnt from what comes of it.

A recipient who opted out, an address that does not exist and an endpoint that is gone are
suppressed at once; an endpoint that only fails, after some days. Both last until somebody
removes them. What is sent to them meanwhile is archived.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from notify.config import EndpointSettings
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, Outcome, Reason
from notify.redisclient import Question
from notify.suppressions import Suppression, Suppressions
from notify.telemetry import mask

_CHANNEL: Final = "webhook"
# Failures that an endpoint has no part in.
_OURS: Final = frozenset(
    {
        Reason.INTERNAL_ERROR,
        Reason.INVALID,
        Reason.ADDRESS_FORBIDDEN,
        Reason.WORKER_DIED,
        Reason.LEDGER_LOST,
    }
)
_REPORT_ID: Final = "endpoint-disabled"


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Why a notification must not be sent.

    ``report`` is to be published first, if there is one, and then told to ``reported``: the
    worker that disabled the endpoint may have died before it could say so.
    """

    reason: Reason
    detail: str
    report: Notification | None = None


class Blocklist:
    """Of all channels. Thread-safe. Raises nothing but ``LedgerUnavailable``."""

    def __init__(self, suppressions: Suppressions, endpoints: EndpointSettings) -> None:
        self._suppressions = suppressions
        self._endpoints = endpoints

    def blocked(self, notification: Notification) -> Block | None:
        """Why it must not be sent, or None."""
        return self._block(self._suppressions.get(notification.channel, notification.recipient))

    def asking(self, notification: Notification) -> Question[Block | None]:
        """What ``blocked`` says, to be asked beside something else."""
        channel, recipient = notification.channel, notification.recipient
        return self._suppressions.asking(channel, recipient, self._block)

    def key(self, notification: Notification) -> str:
        """What is in Redis while, and only while, it must not be sent."""
        return self._suppressions.key(notification.channel, notification.recipient)

    def blocked_of(self, notifications: Sequence[Notification]) -> list[Block | None]:
        """For each why it must not be sent, or None, in one round trip."""
        recipients = [(each.channel, each.recipient) for each in notifications]
        return [self._block(found) for found in self._suppressions.get_many(recipients)]

    def _block(self, found: Suppression | None) -> Block | None:
        if found is None:
            return None
        return Block(
            reason=_reason(found), detail=describe(found), report=report(self._endpoints, found)
        )

    def learn(
        self, notification: Notification, outcome: Outcome, provider: str = ""
    ) -> Notification | None:
        """Takes note of what came of an attempt; returns a report that is now to be published.

        That is one about an endpoint which has just been disabled. Once its publish is
        confirmed, ``reported`` is to be called.
        """
        suppression = self._learnt(notification, outcome, provider)
        return report(self._endpoints, suppression) if suppression else None

    def asking_success(self, notification: Notification) -> Question[Any] | None:
        """What is learnt from a success, if anything, to be told beside something else."""
        if notification.channel != _CHANNEL:
            return None
        return self._suppressions.asking_success(notification.channel, notification.recipient)

    def reported(self, notification: Notification) -> None:
        """The report about the recipient of ``notification`` has been published."""
        self._suppressions.reported(notification.channel, notification.recipient)

    def close(self) -> None:
        self._suppressions.close()

    def _learnt(
        self, notification: Notification, outcome: Outcome, provider: str
    ) -> Suppression | None:
        channel, recipient = notification.channel, notification.recipient
        failure = outcome if isinstance(outcome, DeliveryFailure) else None
        if failure is not None and failure.suppress:
            return self._suppressions.add(
                channel,
                recipient,
                reason=str(failure.reason),
                source=provider[:32],
                by=_line(failure.detail),
                unreported=self._reports(channel),
            )
        if channel != _CHANNEL or (failure is not None and failure.reason in _OURS):
            return None
        return self._suppressions.note(
            channel,
            recipient,
            ok=failure is None,
            give_up_after=self._endpoints.give_up_after,
            minimum=self._endpoints.minimum_failures,
            unreported=self._reports(channel),
        )

    def _reports(self, channel: str) -> bool:
        return channel == _CHANNEL and self._endpoints.report_channel is not None


def describe(suppression: Suppression) -> str:
    """Since when and why, without the recipient and without what people wrote."""
    return f"since {suppression.since:%Y-%m-%d}: {suppression.reason} ({suppression.source})"


def report(settings: EndpointSettings, suppression: Suppression) -> Notification | None:
    """What says that an endpoint has been disabled; None where nobody has to be told.

    Made of the suppression alone, and of its day, not its time: an endpoint is reported once a
    day and reason, because a second report has the id and the content of the first.
    """
    channel, recipient = settings.report_channel, settings.report_recipient
    if not suppression.unreported or channel is None or recipient is None:
        return None
    day = f"{suppression.since:%Y-%m-%d}"
    subject = f"Webhook endpoint disabled: {mask(suppression.recipient)}"
    explained = (
        f"{subject}\n\nSince {day} nothing is sent to it ({suppression.reason}); what is meant"
        " for it is archived as endpoint_disabled.\n\n"
        f"Its URL: notify endpoint list --reveal, key {suppression.digest[:12]}\n"
        "When it works again: notify endpoint enable URL\n"
    )
    sms = channel == "sms"
    return Notification(
        channel=channel,
        recipient=recipient,
        id=f"{_REPORT_ID}:{suppression.digest}:{day}:{suppression.reason}",
        subject=None if sms else subject,
        body=f"{subject} ({suppression.reason}, {day})" if sms else explained,
    )


def _reason(suppression: Suppression) -> Reason:
    return Reason.ENDPOINT_DISABLED if suppression.channel == _CHANNEL else Reason.SUPPRESSED


def _line(text: str) -> str:
    return "".join(filter(str.isprintable, text))[:64]
