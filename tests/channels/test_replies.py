from typing import Any

import pytest

from notify.channels.replies import Stage, enhanced_code, lost, queue_id, refusal, still_in_step
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)

BEFORE_CONTENT = [Stage.MAIL, Stage.RCPT, Stage.DATA]


@pytest.mark.parametrize("stage", [*Stage])
@pytest.mark.parametrize(
    ("code", "text", "reason"),
    [
        (421, "4.4.2 rate exceeded", Reason.PROVIDER_BUSY),
        (450, "4.2.0 <a@b.c>: Greylisted", Reason.GREYLISTED),
        (451, "4.7.1 Try again later", Reason.GREYLISTED),
        (422, "4.2.2 gray-listed", Reason.GREYLISTED),
        (451, "4.3.0 local error", Reason.PROVIDER_ERROR),
        (452, "4.7.1 too many", Reason.PROVIDER_ERROR),
    ],
)
def test_4xx_is_temporary_at_every_stage(
    stage: Stage, code: int, text: str, reason: Reason
) -> None:
    failure = refusal(stage, code, text)
    assert type(failure) is TemporaryFailure
    expected = Reason.TLS_FAILED if stage is Stage.TLS and code != 421 else reason
    assert (failure.reason, failure.code) == (expected, str(code))


UNAVAILABLE = [
    (450, "4.2.0 mailbox locked"),
    (450, "4.2.1 The user you are trying to contact is receiving mail at a rate that prevents"),
    (452, "4.2.2 The recipient's inbox is out of storage"),
    (422, "4.2.2 over quota"),
    (450, "4.1.1 unverified address"),
    (450, "4.1.2 domain not found"),
    # The basic code decides that it is not for ever.
    (450, "5.1.1 user unknown"),
    (450, "5.2.2 mailbox full"),
]
UNAVAILABLE_AT_RCPT = [(450, "unknown recipient"), (452, "insufficient system storage")]


@pytest.mark.parametrize("stage", [*Stage])
@pytest.mark.parametrize(("code", "text"), [*UNAVAILABLE, *UNAVAILABLE_AT_RCPT])
def test_a_recipient_can_be_unavailable_for_a_while(stage: Stage, code: int, text: str) -> None:
    failure = refusal(stage, code, text)
    about = FROM_RCPT if (code, text) in UNAVAILABLE else (Stage.RCPT,)
    wanted = {Stage.TLS: Reason.TLS_FAILED} | dict.fromkeys(about, Reason.RECIPIENT_UNAVAILABLE)
    reason = wanted.get(stage, Reason.PROVIDER_ERROR)
    assert (type(failure), failure.reason) == (TemporaryFailure, reason)
    assert not failure.slow_down


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (450, "4.1.8 sender domain not found"),
        (450, "4.7.0 policy"),
        (451, "try later"),
        (452, "4.3.1 insufficient system storage"),
        (452, "4.5.3 too many recipients"),
        (454, "temporary authentication failure"),
    ],
)
def test_what_is_not_about_the_recipient(code: int, text: str) -> None:
    failure = refusal(Stage.RCPT, code, text)
    assert (failure.reason, failure.slow_down) == (Reason.PROVIDER_ERROR, False)


@pytest.mark.parametrize("stage", [s for s in Stage if s is not Stage.TLS])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (421, "4.4.2 submission rate exceeded"),
        (421, "4.7.0 [TSS04] Messages from 192.0.2.1 deferred due to unexpected volume"),
        (421, "4.7.28 Gmail has detected an unusual rate of unsolicited mail"),
        (421, "too many concurrent SMTP connections"),
        (450, "4.7.1 Error: too much mail: rate limit exceeded"),
        (451, "4.7.1 Throttled, try again later"),
        (451, "4.4.5 congestion"),
        (452, "4.3.1 hourly quota reached"),
        (452, "too many messages from you"),
        (454, "Throttling failure: Maximum sending rate exceeded."),
        (450, "you may send 100 messages per hour"),
        (450, "4.7.1 Error: too much mail from 192.0.2.1"),
        (450, "4.7.1 Error: too many recipients from 192.0.2.1"),
        (421, "4.3.2 The maximum number of concurrent connections has exceeded a limit"),
        (432, "4.3.2 Concurrent connections limit exceeded"),
        (421, "RP-002 exceeded the connection limit"),
        (452, "4.3.1 You have exceeded your messaging limits"),
    ],
)
def test_a_server_that_gets_too_much(stage: Stage, code: int, text: str) -> None:
    failure = refusal(stage, code, text)
    assert (failure.reason, failure.slow_down) == (Reason.PROVIDER_BUSY, True)


@pytest.mark.parametrize(
    ("code", "text", "reason"),
    [
        (421, "4.3.2 service shutting down", Reason.PROVIDER_BUSY),
        (450, "4.2.0 Greylisted, try again in 300 seconds", Reason.GREYLISTED),
        (451, "4.7.1 Greylisting in action: rate limit of unknown senders", Reason.GREYLISTED),
        (451, "4.7.1 Try again later", Reason.GREYLISTED),
        (451, "5.7.1 Try again later", Reason.GREYLISTED),
        (450, "accelerated too", Reason.RECIPIENT_UNAVAILABLE),
    ],
)
def test_a_server_that_wants_patience_only(code: int, text: str, reason: Reason) -> None:
    failure = refusal(Stage.RCPT, code, text)
    assert (failure.reason, failure.slow_down) == (reason, False)


@pytest.mark.parametrize(
    ("stage", "kind", "reason"),
    [
        (Stage.CONNECT, TemporaryFailure, Reason.CONNECTION_FAILED),
        (Stage.HELLO, TemporaryFailure, Reason.CONNECTION_FAILED),
        (Stage.TLS, TemporaryFailure, Reason.TLS_FAILED),
        (Stage.LOGIN, TemporaryFailure, Reason.PROVIDER_DENIED),
        (Stage.MAIL, PermanentFailure, Reason.REFUSED),
        (Stage.RCPT, PermanentFailure, Reason.RECIPIENT_REFUSED),
        (Stage.DATA, PermanentFailure, Reason.REFUSED),
        (Stage.DOT, PermanentFailure, Reason.REFUSED),
    ],
)
def test_5xx(stage: Stage, kind: type[DeliveryFailure], reason: Reason) -> None:
    failure = refusal(stage, 554, "5.7.1 <a@b.c> no")
    assert (type(failure), failure.reason) == (kind, reason)
    assert failure.detail == f"554 5.7.1 at {stage}"


DENIED = (TemporaryFailure, Reason.PROVIDER_DENIED, False)
BUSY = (TemporaryFailure, Reason.PROVIDER_BUSY, False)
NO_TLS = (TemporaryFailure, Reason.TLS_FAILED, False)
NO_CONNECTION = (TemporaryFailure, Reason.CONNECTION_FAILED, False)
REFUSED = (PermanentFailure, Reason.REFUSED, False)
NOT_TAKEN = (PermanentFailure, Reason.RECIPIENT_REFUSED, False)
NEVER = (PermanentFailure, Reason.RECIPIENT_REFUSED, True)
LATER = (TemporaryFailure, Reason.RECIPIENT_UNAVAILABLE, False)
USUAL = {
    Stage.CONNECT: NO_CONNECTION,
    Stage.HELLO: NO_CONNECTION,
    Stage.TLS: NO_TLS,
    Stage.LOGIN: DENIED,
    Stage.MAIL: REFUSED,
    Stage.RCPT: NOT_TAKEN,
    Stage.DATA: REFUSED,
    Stage.CONTENT: REFUSED,
    Stage.DOT: REFUSED,
}
FROM_RCPT = (Stage.RCPT, Stage.DATA, Stage.DOT)
NOBODY = USUAL | dict.fromkeys(FROM_RCPT, NEVER)
THERE = USUAL | dict.fromkeys(FROM_RCPT, NOT_TAKEN)
FULL = USUAL | dict.fromkeys(FROM_RCPT, LATER)
OURS = dict.fromkeys(Stage, DENIED) | {Stage.TLS: NO_TLS}
QUOTA = dict.fromkeys(Stage, BUSY) | {Stage.TLS: NO_TLS, Stage.LOGIN: DENIED}
# What each stage makes of a reply: kind, reason, and whether the recipient is suppressed.
PERMANENT: list[tuple[int, str, dict[Stage, Any]]] = [
    # Nobody is there, and nobody will be.
    (550, "5.1.1 <a@b.c>: Recipient address rejected: User unknown", NOBODY),
    (550, "5.1.1 RESOLVER.ADR.RecipNotFound; not found", NOBODY),
    (554, "5.1.1 no such user", NOBODY),
    (550, "5.1.2 host unknown", NOBODY),
    (501, "5.1.3 Bad recipient address syntax", NOBODY),
    (551, "5.1.6 has moved without a trace", NOBODY),
    (556, "5.1.10 Recipient address has null MX", NOBODY),
    (550, "5.1.10 null MX", NOBODY),
    (556, "domain does not accept mail", NOBODY),
    (550, "5.2.1 The email account that you tried to reach is disabled", NOBODY),
    # The mailbox is there.
    (550, "5.2.1 The user is receiving mail at a rate that prevents additional", THERE),
    (550, "5.2.1 The user is receiving mail too quickly", THERE),
    (552, "5.2.2 The recipient's inbox is out of storage space", FULL),
    (550, "5.2.2 mailbox full", FULL),
    # What does not say that it is about the mailbox.
    (550, "no such user", USUAL),
    (550, "mailbox unavailable", USUAL),
    (551, "user not local", USUAL),
    (552, "requested mail action aborted: exceeded storage allocation", USUAL),
    (552, "5.3.4 message size exceeds fixed limit", USUAL),
    (552, "5.2.3 message too long for this mailbox", USUAL),
    (553, "mailbox name not allowed", USUAL),
    (554, "5.7.1 spam", USUAL),
    (550, "5.7.1 relaying denied", USUAL),
    (550, "5.7.26 unauthenticated email is not accepted", USUAL),
    (554, "5.6.0 message malformed", USUAL),
    (554, "transaction failed", USUAL),
    (500, "5.5.2 line too long", USUAL),
    (501, "5.5.4 invalid argument", USUAL),
    (502, "5.5.1 not implemented", USUAL),
    (503, "5.5.1 bad sequence", USUAL),
    (521, "host does not accept mail", USUAL),
    (555, "parameters not recognised", USUAL),
    (550, "5.1.1x no code", USUAL),
    (550, "sorry, 5.1.1 stands later", USUAL),
    # Ours to mend.
    (530, "5.7.0 Authentication required", OURS),
    (530, "5.7.0 Must issue a STARTTLS command first", OURS),
    (534, "5.7.9 mechanism too weak", OURS),
    (535, "5.7.8 authentication failed", OURS),
    (538, "5.7.11 encryption required", OURS),
    (550, "5.1.8 Sender address rejected: Domain not found", OURS),
    (553, "5.1.7 bad sender", OURS),
    (550, "5.4.5 Daily user sending limit exceeded", QUOTA),
    (550, "5.1.90 you've reached your daily limit for message recipients", QUOTA),
]


@pytest.mark.parametrize("stage", [*Stage])
@pytest.mark.parametrize(("code", "text", "meant"), PERMANENT)
def test_every_5xx_at_every_stage(
    stage: Stage, code: int, text: str, meant: dict[Stage, Any]
) -> None:
    failure = refusal(stage, code, text)
    assert (type(failure), failure.reason, failure.suppress) == meant[stage]
    assert failure.code == str(code)
    assert failure.slow_down is (failure.reason is Reason.PROVIDER_BUSY)
    assert text[6:] not in failure.detail


@pytest.mark.parametrize("stage", [*Stage])
@pytest.mark.parametrize("code", [421, 450, 451, 452, 454, 455, 499])
@pytest.mark.parametrize("text", ["4.1.1 unknown", "4.2.1 disabled", "4.2.2 full", "5.1.1 no", ""])
def test_nothing_temporary_suppresses_anybody(stage: Stage, code: int, text: str) -> None:
    failure = refusal(stage, code, text)
    assert (type(failure), failure.suppress) == (TemporaryFailure, False)


@pytest.mark.parametrize("stage", BEFORE_CONTENT)
def test_a_login_that_is_wanted_is_a_problem_of_ours(stage: Stage) -> None:
    failure = refusal(stage, 530, "5.7.0 Authentication required")
    assert (type(failure), failure.reason) == (TemporaryFailure, Reason.PROVIDER_DENIED)


@pytest.mark.parametrize("code", [-1, 0, 199, 354, 600])
def test_nonsense(code: int) -> None:
    assert refusal(Stage.RCPT, code, "").reason is Reason.PROVIDER_ERROR
    assert type(refusal(Stage.DOT, code, "")) is UnknownOutcome


@pytest.mark.parametrize("stage", [*Stage])
@pytest.mark.parametrize("passed", [True, False])
def test_a_lost_connection_is_unknown_only_after_the_dot(stage: Stage, passed: bool) -> None:
    failure = lost(stage, passed=passed, trouble="ECONNRESET")
    if stage is Stage.DOT:
        expected = Reason.DEADLINE_PASSED if passed else Reason.CONNECTION_LOST
        assert (type(failure), failure.reason) == (UnknownOutcome, expected)
        return
    tls = stage is Stage.TLS and not passed
    assert type(failure) is TemporaryFailure
    assert failure.reason is (Reason.TLS_FAILED if tls else Reason.CONNECTION_FAILED)


def test_which_refusals_leave_the_connection_usable() -> None:
    assert still_in_step(Stage.RCPT, 550)
    assert not still_in_step(Stage.RCPT, 421)
    assert not still_in_step(Stage.HELLO, 550)
    assert not still_in_step(Stage.DOT, -1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2.0.0 Ok: queued as 4ABC12", "4ABC12"),
        ("OK id=1rabcd-0003Xy-1Z", "1rabcd-0003Xy-1Z"),
        ("2.0.0 OK email-000001", "email-000001"),
        ("Ok 0102018f-aaaa-000000", "0102018f-aaaa-000000"),
        ("2.0.0 41U9xk12345 Message accepted for delivery", "41U9xk12345"),
        ("2.6.0 <a@b.c> [InternalId=123456, Hostname=x] Queued mail for delivery", "123456"),
        ("2.0.0 OK  1700000000 ffacd-20020a-12si.4 - gsmtp", "ffacd-20020a-12si.4"),
        ("OK message accepted", ""),
        ("2.0.0 OK", ""),
        ("Thank you, ada@example.com", ""),
    ],
)
def test_queue_ids(text: str, found: str) -> None:
    assert queue_id(text) == found


@pytest.mark.parametrize(
    ("text", "code"), [("4.7.1 x", "4.7.1"), ("5.1.1", "5.1.1"), ("no", ""), ("4.7.1@x", "")]
)
def test_enhanced_codes(text: str, code: str) -> None:
    assert enhanced_code(text) == code
