"""What can come of one attempt to deliver, in one vocabulary for all channels.

A provider returns a ``Receipt`` or raises one of three failures. Reasons come from one
closed set: they are the metric label, the archive's filter and the runbook's heading.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """Why an attempt failed, or why a notification is dead."""

    # An attempt failed and may succeed later.
    CONNECTION_FAILED = "connection_failed"
    PROVIDER_BUSY = "provider_busy"
    PROVIDER_ERROR = "provider_error"
    PROVIDER_DENIED = "provider_denied"
    GREYLISTED = "greylisted"
    TLS_FAILED = "tls_failed"
    TLS_EXPIRED = "tls_expired"
    TLS_WRONG_HOST = "tls_wrong_host"
    TLS_UNTRUSTED = "tls_untrusted"
    RECIPIENT_UNAVAILABLE = "recipient_unavailable"
    # An attempt failed and will not succeed.
    REFUSED = "refused"
    RECIPIENT_REFUSED = "recipient_refused"
    ENDPOINT_GONE = "endpoint_gone"
    REDIRECTED = "redirected"
    ADDRESS_FORBIDDEN = "address_forbidden"
    # Nobody knows whether it arrived.
    CONNECTION_LOST = "connection_lost"
    DEADLINE_PASSED = "deadline_passed"
    WORKER_DIED = "worker_died"
    LEDGER_LOST = "ledger_lost"
    # Why a notification is dead although no provider refused it.
    RETRIES_EXHAUSTED = "retries_exhausted"
    EXPIRED = "expired"
    CONFLICT = "conflict"
    UNKNOWN_OUTCOME = "unknown_outcome"
    INTERNAL_ERROR = "internal_error"
    SUPPRESSED = "suppressed"
    ENDPOINT_DISABLED = "endpoint_disabled"
    INVALID = "invalid"
    UNPARSEABLE = "unparseable"
    UNROUTABLE = "unroutable"
    DELIVERY_LIMIT = "delivery_limit"
    POISON = "poison"


# Another provider may do better, and many of these mean that this one is down. Whatever is not
# here is about one message or one recipient.
PROVIDER_FAULTS: Final = frozenset(
    {
        Reason.CONNECTION_FAILED,
        Reason.PROVIDER_BUSY,
        Reason.PROVIDER_ERROR,
        Reason.PROVIDER_DENIED,
        Reason.TLS_FAILED,
        Reason.TLS_EXPIRED,
        Reason.TLS_WRONG_HOST,
        Reason.TLS_UNTRUSTED,
        Reason.CONNECTION_LOST,
        Reason.DEADLINE_PASSED,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """A provider took responsibility for the message."""

    provider: str
    provider_id: str = ""
    code: str = ""


class DeliveryFailure(Exception):
    """An attempt failed. ``detail`` must not contain personal data or secrets.

    ``retry_after`` is in seconds; ``slow_down`` says that the provider gets more than it
    takes; ``suppress`` that this recipient must get nothing more through this channel;
    ``answer`` is the start of what it said, for the record of the attempt only.
    """

    kind = "failure"

    def __init__(
        self,
        reason: Reason,
        detail: str = "",
        *,
        code: str = "",
        retry_after: float | None = None,
        slow_down: bool = False,
        suppress: bool = False,
        answer: str = "",
    ) -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail
        self.code = code
        self.retry_after = retry_after
        self.slow_down = slow_down
        self.suppress = suppress
        self.answer = answer

    @property
    def at_provider(self) -> bool:
        """Whether the provider is at fault, not this message or its recipient."""
        return self.reason in PROVIDER_FAULTS


class TemporaryFailure(DeliveryFailure):
    """The message was surely not taken; a later attempt may succeed."""

    kind = "temporary"


class PermanentFailure(DeliveryFailure):
    """The message was refused; a later attempt would be refused again."""

    kind = "permanent"


class UnknownOutcome(DeliveryFailure):
    """The request may have reached the provider, but no answer came back."""

    kind = "unknown"


Outcome = Receipt | DeliveryFailure
