"""Signs mails with the key of their domain (DKIM, RFC 6376)."""

from typing import Final

from notify.channels.letters import Letter
from notify.config.dkim import DkimSettings
from notify.errors import ConfigError
from notify.outcomes import PermanentFailure, Reason

# All that a reader sees or acts on, whether or not it is there: signing what is missing keeps
# others from adding it. Each of ours stands once, and is signed once more than it stands.
# RFC 8058 wants both headers about unsubscribing signed.
SIGNED: Final = (
    b"from",
    b"to",
    b"cc",
    b"reply-to",
    b"subject",
    b"date",
    b"message-id",
    b"mime-version",
    b"content-type",
    b"content-transfer-encoding",
    b"list-unsubscribe",
    b"list-unsubscribe-post",
)
_TWICE: Final = (b"from", b"to", b"reply-to", b"subject", b"date", b"content-type")
_RELAXED: Final = (b"relaxed", b"relaxed")
_PROBE: Final = b"From: probe@example.com\r\n\r\nprobe\r\n"


class Seal:
    """One key of one domain. Raises ``ConfigError`` if the key cannot sign."""

    def __init__(self, name: str, settings: DkimSettings) -> None:
        self._settings = settings
        self._key = settings.key
        try:
            self._sign(_PROBE)
        except Exception:
            # What went wrong might quote the key.
            raise ConfigError([f"provider {name}: dkim: the key cannot sign"]) from None

    def seal(self, letter: Letter) -> Letter:
        """The letter with its signature; it is never sent without."""
        try:
            signature = self._sign(letter.content)
        except Exception:
            raise PermanentFailure(
                Reason.INTERNAL_ERROR, "the mail could not be signed (DKIM)"
            ) from None
        return Letter(
            sender=letter.sender,
            recipient=letter.recipient,
            content=signature + letter.content,
        )

    def _sign(self, content: bytes) -> bytes:
        # It brings a DNS client and a crypto library, which a worker that signs nothing spares.
        import dkim

        signature: bytes = dkim.sign(
            content,
            selector=self._settings.selector.encode(),
            domain=self._settings.domain.encode(),
            privkey=self._key.text.encode(),
            signature_algorithm=self._key.algorithm.encode(),
            canonicalize=_RELAXED,
            include_headers=[*SIGNED, *_TWICE],
        )
        head, _, rest = signature.partition(b":")
        if head != b"DKIM-Signature" or not rest.endswith(b"\r\n") or b"\r\n\r\n" in rest:
            raise ValueError("not a header")
        return signature
