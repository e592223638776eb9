"""What reasons mean, and what to do about a dead letter. Pure."""

from dataclasses import dataclass
from typing import Final

from notify.outcomes import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """For a person who does not know Notify: what it means, and what to do next; ``runbook`` is
    the name of the one that tells more."""

    means: str
    todo: str
    runbook: str = "dead-letters"


def explain(reason: str) -> Explanation:
    """A reason of a later version is not known, and says so."""
    known = {str(name): explanation for name, explanation in EXPLANATIONS.items()}
    return known.get(reason, _UNKNOWN)


def _both(means: str, todo: str, runbook: str = "dead-letters") -> Explanation:
    return Explanation(means=means, todo=todo, runbook=runbook)


_UNKNOWN: Final = _both(
    "a reason that this version of Notify does not know", "update Notify, then look again"
)
_REPLAY_LATER: Final = "replay it when the provider works again (notify providers)"
_PROVIDER: Final = "provider-down"
_ONE: Final = "not-delivered"
_MAYBE: Final = "unknown-outcomes"
_BROKEN: Final = "unexpected-letters"
_TLS: Final = "let the certificate of the other side be mended, then replay it"

EXPLANATIONS: Final[dict[Reason, Explanation]] = {
    Reason.CONNECTION_FAILED: _both("the provider could not be reached", _REPLAY_LATER, _PROVIDER),
    Reason.PROVIDER_BUSY: _both(
        "the provider had too much to do, or we sent too fast",
        "replay it later; if it happens often, lower the provider's rate",
        _PROVIDER,
    ),
    Reason.PROVIDER_ERROR: _both("the provider had a fault of its own", _REPLAY_LATER, _PROVIDER),
    Reason.PROVIDER_DENIED: _both(
        "the provider refused our account: login, token, signature or credit",
        "mend the account, check it with notify provider test, then replay it",
        _PROVIDER,
    ),
    Reason.GREYLISTED: _both(
        "the mail server wanted to be asked again later, and went on wanting it", "replay it", _ONE
    ),
    Reason.TLS_FAILED: _both("no secure connection to the other side was possible", _TLS, _ONE),
    Reason.TLS_EXPIRED: _both("the certificate of the other side has expired", _TLS, _ONE),
    Reason.TLS_WRONG_HOST: _both(
        "the certificate of the other side is for another name", _TLS, _ONE
    ),
    Reason.TLS_UNTRUSTED: _both(
        "nobody whom we trust has signed the certificate of the other side",
        "let it be mended or, if it is your own, set ca_file; then replay it",
        _ONE,
    ),
    Reason.RECIPIENT_UNAVAILABLE: _both(
        "the recipient could not be reached: mailbox full, phone off, endpoint failing",
        "replay it when the recipient can be reached again",
        _ONE,
    ),
    Reason.REFUSED: _both(
        "the provider refused the message itself: its content, its form or its sender",
        "read the provider's answer, correct the cause and send it anew",
        _ONE,
    ),
    Reason.RECIPIENT_REFUSED: _both(
        "the provider says that this recipient does not exist or takes nothing",
        "correct the recipient where it is kept and send it anew",
        _ONE,
    ),
    Reason.ENDPOINT_GONE: _both(
        "the endpoint answered that it is gone for good",
        "ask its owner for the new URL; notify endpoint enable, if it is back",
        _ONE,
    ),
    Reason.REDIRECTED: _both(
        "the endpoint wanted to send us to another address, where we do not go",
        "register the new URL and send it anew",
        _ONE,
    ),
    Reason.ADDRESS_FORBIDDEN: _both(
        "the URL leads to an address, port or scheme that webhooks may not reach",
        "use a public https URL, or allow the network in channels/webhook.toml; then replay it",
        _ONE,
    ),
    Reason.CONNECTION_LOST: _both(
        "the connection broke after the message had left: it may have arrived",
        "ask the provider; replay it only if it did not arrive",
        _MAYBE,
    ),
    Reason.DEADLINE_PASSED: _both(
        "the provider did not answer in time: it may have arrived",
        "ask the provider; replay it only if it did not arrive",
        _MAYBE,
    ),
    Reason.WORKER_DIED: _both(
        "our worker died while it was sending: it may have arrived",
        "ask the provider; replay it only if it did not arrive",
        _MAYBE,
    ),
    Reason.LEDGER_LOST: _both(
        "our own record of it was lost: it may have arrived",
        "ask the provider; replay it only if it did not arrive",
        _MAYBE,
    ),
    Reason.RETRIES_EXHAUSTED: _both(
        "it was tried until its time was up, and failed each time",
        "see the last attempt for the cause, mend that, then replay it",
        _PROVIDER,
    ),
    Reason.EXPIRED: _both(
        "the time after which it must not be sent had passed",
        "nothing: it is too late. If it is still wanted, send it anew",
        _ONE,
    ),
    Reason.CONFLICT: _both(
        "its id had been used before with other content, so it was not sent",
        "let the sender use one id for each message, and send it anew with a new id",
        _BROKEN,
    ),
    Reason.UNKNOWN_OUTCOME: _both(
        "nobody knows whether it arrived, and this channel does not send twice",
        "ask the provider or the recipient; replay it only if it did not arrive",
        _MAYBE,
    ),
    Reason.INTERNAL_ERROR: _both(
        "a fault in Notify or in a provider's code",
        "see the worker's log at that time and report it; replay it when it is mended",
        _BROKEN,
    ),
    Reason.SUPPRESSED: _both(
        "the recipient opted out, or was found not to exist, so nothing was sent",
        "nothing, or notify suppression remove if that was a mistake; then replay it",
        _ONE,
    ),
    Reason.ENDPOINT_DISABLED: _both(
        "the endpoint has been given up because it only failed, so nothing was sent",
        "when it works again: notify endpoint enable, then replay it",
        _ONE,
    ),
    Reason.INVALID: _both(
        "it is not a valid notification; the detail names the field",
        "correct the program that published it, and send it anew",
        _BROKEN,
    ),
    Reason.UNPARSEABLE: _both(
        "somebody published what is no notification; it is kept as it came",
        "find out who publishes to these exchanges",
        _BROKEN,
    ),
    Reason.UNROUTABLE: _both(
        "its queue was not there any more when it came back for a retry",
        "notify topology diff, declare what is missing, then replay it",
        _BROKEN,
    ),
    Reason.DELIVERY_LIMIT: _both(
        "workers took it and handed it back too many times",
        "look for workers that die in the log; then replay it",
        _BROKEN,
    ),
    Reason.POISON: _both(
        "its worker died of it more than once",
        "report it together with the worker's log; do not replay it before that is mended",
        _BROKEN,
    ),
}
