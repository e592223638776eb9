"""Signatures as Standard Webhooks says, by the library of those who made it, and by a vector."""

import json
import time
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from standardwebhooks import Webhook as Library
from standardwebhooks import WebhookVerificationError

from notify.channels.standard import TOLERANCE, headers, problem
from notify.channels.webhook import Webhook
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure

from .peers import OK, Peer, answering, read_request
from .values import TEXTS, failure, hook, hook_settings

# The published example: secret, id, timestamp, body and the signature that they make.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def check(**changes: Any) -> str:
    """What a receiver says about the published example, changed."""
    values: dict[str, Any] = {"id": ID, "timestamp": str(AT), "signature": SIGNATURE}
    values |= {"body": BODY, "now": AT}
    secret = changes.pop("secret", SECRET)
    return problem(secret, **values | changes)


def test_the_published_example() -> None:
    assert headers(ID, AT, BODY, [SECRET]) == {
        "webhook-id": ID,
        "webhook-timestamp": str(AT),
        "webhook-signature": SIGNATURE,
    }
    assert headers(ID, AT, BODY, [SECRET.removeprefix("whsec_")]) == headers(ID, AT, BODY, [SECRET])
    assert check() == ""


def test_without_a_secret_nothing_is_signed() -> None:
    assert headers(ID, AT, BODY, []) == {"webhook-id": ID, "webhook-timestamp": str(AT)}


def test_in_a_rotation_receivers_with_either_secret_are_content() -> None:
    now = int(time.time())
    both = headers(ID, now, BODY, [OTHER, SECRET])
    newest, before = both["webhook-signature"].split(" ")
    assert newest == headers(ID, now, BODY, [OTHER])["webhook-signature"]
    assert before == headers(ID, now, BODY, [SECRET])["webhook-signature"]
    for secret in (SECRET, OTHER):
        assert Library(secret).verify(BODY, both) == json.loads(BODY)
        assert problem(secret, **_given(both), body=BODY, now=now) == ""


def _given(values: dict[str, str]) -> dict[str, Any]:
    return {name.removeprefix("webhook-"): value for name, value in values.items()}


@given(
    secret=st.binary(min_size=24, max_size=64),
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,40}", fullmatch=True),
    body=st.text().map(str.encode),
)
def test_the_library_believes_what_we_sign_and_we_what_it_signs(
    secret: bytes, id: str, body: bytes
) -> None:
    coded, now = f"whsec_{b64encode(secret).decode()}", int(time.time())
    signed = headers(id, now, body, [coded])
    Library(secret).verify(body, signed, json_parse=False)
    assert problem(coded, **_given(signed), body=body, now=now) == ""
    # One byte more is another body.
    with pytest.raises(WebhookVerificationError):
        Library(secret).verify(body + b"x", signed, json_parse=False)
    assert problem(coded, **_given(signed), body=body + b"x", now=now)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"secret": OTHER}, "wrong secret, or another id, timestamp or body"),
        ({"id": "other"}, "wrong secret, or another id, timestamp or body"),
        ({"timestamp": str(AT + 1)}, "wrong secret, or another id, timestamp or body"),
        ({"body": b'{"test": 2432232315}'}, "wrong secret, or another id, timestamp or body"),
        ({"body": b""}, "wrong secret, or another id, timestamp or body"),
        ({"body": b"\xff\xfe"}, "wrong secret, or another id, timestamp or body"),
        ({"id": "\udcff"}, "wrong secret, or another id, timestamp or body"),
        ({"body": b"[" * 100_000}, "wrong secret, or another id, timestamp or body"),
        ({"body": BODY + b"\n"}, "changed body: it has got a line break at its end"),
        ({"body": BODY + b"\r\n"}, "changed body: it has got a line break at its end"),
        ({"now": AT + 301}, "too old: signed 301 s ago, 300 s are accepted"),
        ({"now": AT + 5, "tolerance": 4.0}, "too old: signed 5 s ago, 4 s are accepted"),
        ({"now": AT - 301}, "too new: signed 301 s ahead, 300 s are accepted"),
        ({"timestamp": ""}, "malformed: the timestamp must be whole epoch seconds"),
        ({"timestamp": "1614265330.5"}, "malformed: the timestamp"),
        ({"timestamp": "-1"}, "malformed: the timestamp"),
        ({"timestamp": "٣"}, "malformed: the timestamp"),
        ({"timestamp": "9" * 12}, "malformed: the timestamp"),
        ({"signature": ""}, "malformed: the signature"),
        ({"signature": "v1"}, "malformed: the signature"),
        ({"signature": SIGNATURE.removeprefix("v1,")}, "malformed: the signature"),
        ({"signature": "v1,not base64"}, "malformed: the signature"),
        ({"signature": "v1,ü"}, "malformed: the signature"),
        ({"signature": SIGNATURE.replace("v1", "v1a")}, "malformed: the signature"),
        ({"signature": SIGNATURE[:-5] + "="}, "malformed: the signature"),
    ],
)
def test_what_is_not_believed_and_why(changes: dict[str, Any], says: str) -> None:
    assert check(**changes).startswith(says)


def test_a_body_that_was_parsed_and_written_again_is_recognised() -> None:
    sent = '{"a":1,"b":"é"}'.encode()
    signed = _given(headers(ID, AT, sent, [SECRET]))
    for received in (b'{"a": 1, "b": "\\u00e9"}', b'{\n "a": 1,\n "b": "\xc3\xa9"\n}'):
        says = problem(SECRET, **signed, body=received, now=AT)
        assert says.startswith("changed body: it was read as JSON and written again")


@pytest.mark.parametrize("age", [0, 300, -300])
def test_five_minutes_either_way_are_accepted(age: int) -> None:
    assert TOLERANCE == 300
    assert check(now=AT + age) == ""


def test_signatures_of_other_versions_and_secrets_are_passed_over() -> None:
    other = headers(ID, AT, BODY, [OTHER])["webhook-signature"]
    assert check(signature=f"v1a,xyz {other} {SIGNATURE} v2,{'A' * 44}") == ""


def _received(webhook: Webhook, **changes: Any) -> tuple[dict[str, str], bytes]:
    seen: list[bytes] = []

    def serve(connection: Any) -> None:
        seen.append(read_request(connection))
        connection.sendall(OK)

    with Peer(serve) as peer:
        webhook.send(hook(peer.url, **changes), deadline=2)
    head, _, body = seen[0].partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, value in lines}, body


def _answer(status: int, body: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status} x\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _signed(clock: Any = time.time, **changes: Any) -> Webhook:
    secrets = (SecretStr(OTHER), SecretStr(SECRET))
    return Webhook(hook_settings(signing_secret_files=secrets, **changes), clock=clock)


@pytest.mark.parametrize("text", TEXTS)
def test_what_arrives_is_what_was_signed(text: str) -> None:
    values, body = _received(_signed(), data={"text": text, "n": 1.0})
    for secret in (SECRET, OTHER):
        assert Library(secret).verify(body, values) == {"text": text, "n": 1.0}


def test_each_attempt_is_signed_anew_under_the_same_id() -> None:
    """A receiver would refuse the first timestamp when a retry comes hours later."""
    times = iter([AT, AT + 72_000])
    webhook = _signed(clock=lambda: next(times) + 0.9)
    (first, body), (second, again) = (_received(webhook, id="order-1") for _ in range(2))
    assert body == again
    assert first["webhook-id"] == second["webhook-id"] == first["idempotency-key"] == "order-1"
    assert (first["webhook-timestamp"], second["webhook-timestamp"]) == (str(AT), str(AT + 72_000))
    for values, now in ((first, AT), (second, AT + 72_000)):
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        given = _given({name: values[name] for name in names})
        assert problem(SECRET, **given, body=body, now=now) == ""
    assert first["webhook-signature"] != second["webhook-signature"]


def test_configured_headers_do_not_replace_the_signature() -> None:
    names = {"Webhook-Signature": "mine", "WEBHOOK-ID": "mine", "webhook-timestamp": "0"}
    values, body = _received(_signed(headers=names))
    Library(SECRET).verify(body, values)


@pytest.mark.parametrize(
    ("status", "kind", "suppress"),
    [
        (410, PermanentFailure, True),
        (404, PermanentFailure, False),
        (301, PermanentFailure, False),
        (500, TemporaryFailure, False),
    ],
)
def test_an_endpoint_that_is_gone_gets_nothing_more(
    status: int, kind: type, suppress: bool
) -> None:
    with Peer(answering(_answer(status))) as peer:
        failed = failure(_signed(), hook(peer.url))
    assert type(failed) is kind
    assert failed.suppress is suppress
    assert (failed.reason is Reason.ENDPOINT_GONE) is suppress


def test_no_secret_is_kept_of_an_answer() -> None:
    told = f"expected {SECRET} or {OTHER.removeprefix('whsec_')}".encode()
    with Peer(answering(_answer(500, told))) as peer:
        failed = failure(_signed(), hook(peer.url))
    assert failed.answer == "expected *** or ***"
    assert "whsec" not in repr(_signed()._settings)
