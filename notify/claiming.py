"""Claims for the threads of one worker, and what became of those that were not answered."""

import secrets
from collections.abc import Sequence
from typing import Any, Final

from notify.config import ChannelSettings
from notify.errors import LedgerUnavailable
from notify.ledger import Claim, Claimed, Ledger
from notify.message import Envelope
from notify.redisclient import Question

_OWNER_BYTES: Final = 8


class Claims:
    """Thread-safe. ``rung`` is how many seconds a message waits after its worker died."""

    def __init__(self, ledger: Ledger, settings: ChannelSettings, rung: int) -> None:
        self._ledger = ledger
        self._settings = settings
        self._rung = rung
        self._unanswered: dict[str, tuple[str, Claimed]] = {}

    def claim(
        self,
        envelope: Envelope,
        *,
        redelivered: bool,
        provider: str,
        beside: Sequence[Question[Any]] = (),
    ) -> Claim:
        """Asks for the right to send, as a new owner. Raises ``LedgerUnavailable``."""
        send, owner = self._settings.send, secrets.token_hex(_OWNER_BYTES)
        try:
            return self._ledger.claim(
                envelope,
                owner,
                lease=send.lease,
                resend_unknown=send.unknown == "resend",
                retention=send.retention,
                redelivered=redelivered,
                provider=provider,
                rung=self._rung,
                beside=beside,
            )
        except LedgerUnavailable:
            asked = Claimed(owner=owner, generation=envelope.generation, attempt=envelope.attempt)
            self._unanswered[owner] = envelope.notification.id, asked
            raise

    def release_unanswered(self) -> None:
        """Gives back claims that Redis may have carried out when nobody waited any more.

        A frozen server does what it was asked when it thaws. Nothing was sent under such a
        claim; left alone, it would end as an unknown outcome. Raises ``LedgerUnavailable``.
        """
        for owner, (id, claim) in list(self._unanswered.items()):
            self._ledger.release(id, claim)
            del self._unanswered[owner]
