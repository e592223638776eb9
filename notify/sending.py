"""One send: handed to a provider, with an outcome whatever comes of it."""

import logging
import time
from typing import Final

from notify.channels import Provider
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, Outcome, PermanentFailure, Reason, Receipt
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

# A send may overrun its deadline by so many seconds; the lease is longer still (config checks it).
GRACE: Final = 3.0


class Sends:
    """``under_way`` has, for each owner of a claim, when its send's deadline passes (monotonic)."""

    def __init__(self) -> None:
        self.under_way: dict[str, float] = {}

    def send(
        self, provider: Provider, notification: Notification, owner: str, deadline: float
    ) -> Outcome:
        """``deadline`` is in seconds; never raises."""
        self.under_way[owner] = time.monotonic() + deadline
        try:
            receipt = provider.send(notification, deadline=deadline)
            if not isinstance(receipt, Receipt):  # a class of somebody else's
                raise TypeError("not a receipt")
            return receipt
        except DeliveryFailure as failure:
            return failure
        except Exception as error:
            # A bug: retrying it for hours would hide it. The archive keeps the notification.
            log.error("provider is broken", extra=event(error=safe_traceback(error)))
            return PermanentFailure(Reason.INTERNAL_ERROR, type(error).__name__)
        finally:
            del self.under_way[owner]
