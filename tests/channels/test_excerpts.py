"""What is kept of an answer: never whom or what it was about, nor what opens the provider."""

import base64
import html
import json
import re
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from notify.channels import build_provider
from notify.channels.excerpts import KEPT, Private, excerpt, hide, private_to
from notify.channels.trials import rehearse

from .mailpeers import mail_server
from .peers import Peer, answering
from .values import (
    ADDRESS,
    PHONE,
    SECRET_TEXT,
    TOKEN,
    failure,
    hook,
    hook_settings,
    mail,
    mail_settings,
    sms,
    sms_settings,
)

NOBODY = Private()


def _plain(text: str, *secrets: str, texts: tuple[str, ...] = ()) -> str:
    return excerpt(text.encode(), Private(secrets=secrets, texts=texts))


def test_what_is_harmless_stays() -> None:
    assert excerpt('{"error":"Größe überschritten"}'.encode(), NOBODY) == (
        '{"error":"Größe überschritten"}'
    )


@given(st.binary(max_size=5000))
def test_nothing_but_printable_characters(answer: bytes) -> None:
    kept = excerpt(answer, NOBODY)
    assert kept.isprintable()
    assert len(kept) <= KEPT


def test_control_characters_are_escaped() -> None:
    assert excerpt(b"a\r\nb\x1b[31m\x00", NOBODY) == r"a\r\nb\x1b[31m\x00"
    assert excerpt("a\u202eb\u2028".encode(), NOBODY) == r"a\u202eb\u2028"
    assert excerpt(b"\xff\xfe", NOBODY) == "\ufffd\ufffd"


def _signs(which: str, text: str) -> str:
    return re.sub(which, lambda found: f"\\u{ord(found[0]):04x}", text)


ENCODINGS = [
    str,
    str.upper,
    lambda text: json.dumps(text)[1:-1],
    quote,
    lambda text: quote(text, safe=""),
    quote_plus,
    html.escape,
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),  # PHP
    lambda text: _signs("[<>&]", json.dumps(text)[1:-1]),  # Go
    lambda text: _signs("[<>&+'`]", json.dumps(text)[1:-1]).upper().replace("\\U", "\\u"),  # .NET
    lambda text: base64.b64encode(text.encode()).decode(),
]


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("secret", [TOKEN, PHONE, ADDRESS, "p&ss wörd/<1>", "Bearer x+y=="])
def test_a_secret_in_any_usual_encoding(encode: Any, secret: str) -> None:
    kept = _plain(f"error near >{encode(secret)}< end", secret)
    assert kept.rstrip("<= end") == "error near >***"


@given(
    st.text(min_size=4, max_size=40).map(lambda text: text.replace("*", "x")),
    st.text(max_size=50),
    st.text(max_size=50),
)
def test_no_secret_survives(secret: str, before: str, after: str) -> None:
    kept = _plain(before + secret + after, secret)
    if secret.isprintable() and secret not in "***":
        assert secret not in kept.replace("***", "")


def test_a_secret_that_the_excerpt_cuts_in_two() -> None:
    text = f"{TOKEN} " * 200
    assert TOKEN[:5] not in excerpt(text.encode(), Private(secrets=(TOKEN,)))
    long = "x" * 1990 + TOKEN
    assert TOKEN[:5] not in excerpt(long.encode(), Private(secrets=(TOKEN, "x" * 1985)))


def test_a_secret_that_is_longer_than_what_is_read() -> None:
    secret = "".join(f"{n:x}" for n in range(1500))
    assert len(secret) > 2000
    kept = excerpt(f"no such token: {secret}".encode(), Private(secrets=(secret,)))
    assert kept == "no such token: ***"
    assert hide(f"X-Auth: {secret}", [secret]) == "X-Auth: ***"


def test_texts_are_hidden_in_part_too() -> None:
    text = "Dear Ada, your appointment is at noon; code 314159, thanks."
    kept = _plain('too long: "Dear Ada, your appointm..." and code 314159?', texts=(text,))
    assert kept == 'too long: "***..." and***?'
    assert _plain("status 400, at 12", texts=(text,)) == "status 400, at 12"


def test_long_texts_cost_no_time() -> None:
    body = "word " * 400_000 + "code 271828"
    private = private_to(mail(body=body, html=f"<p>{body}</p>"))
    assert excerpt(b"spam: word word word word, 271828 " * 100, private).startswith("spam:***, ***")
    data = private_to(hook("https://a.example/", data=[f"leaf {n}" for n in range(20_000)]))
    assert "leaf 19999" not in excerpt(b"bad: leaf 19999; leaf 7" * 100, data)


def test_what_belongs_to_a_recipient() -> None:
    url = "https://hooks.example/services/T0001/secret-path?key=k3y-value"
    kept = excerpt(
        b"no /services/T0001/secret-path?key=k3y-value here; secret-path, k3y-value, hooks.example",
        private_to(hook(url)),
    )
    assert kept == "no *** here; ***, ***, ***"
    assert excerpt(f"{PHONE[1:]} {PHONE}".encode(), private_to(sms())) == "*** ***"
    assert excerpt(b"ada.lovelace? <ADA.Lovelace@Example.com>", private_to(mail())) == "***? <***>"


PRIVATE = [PHONE, PHONE[1:], ADDRESS, "lovelace", SECRET_TEXT, "314159", TOKEN, "k-161803"]
ECHO = f"no: {ADDRESS} {PHONE} {SECRET_TEXT} {TOKEN} k-161803\tend"


def test_answers_over_http() -> None:
    body = ECHO.encode()
    answer = b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with Peer(answering(answer)) as peer:
        headers = {"X-Key": "k-161803", "X-To": ADDRESS}
        for provider, notification in (
            (build_provider(sms_settings(peer.url, headers=headers)), sms()),
            (
                build_provider(hook_settings(headers=headers, token_file=SecretStr(TOKEN))),
                hook(peer.url, data={"text": SECRET_TEXT, "to": [PHONE]}),
            ),
        ):
            error = failure(provider, notification)
            assert error.answer.startswith("no: *** ")
            assert error.answer.endswith(r"***\tend")
            assert not [secret for secret in PRIVATE if secret in error.answer]
            assert error.answer not in str(error) + repr(error)


@pytest.mark.parametrize("word", ["EHLO", "AUTH", "MAIL", "RCPT", "DATA", "."])
@pytest.mark.parametrize("code", [451, 550])
def test_replies_of_mail_servers(word: str, code: int) -> None:
    echo = f"no: {ADDRESS} {SECRET_TEXT} {TOKEN}"
    reply = f"{code}-5.7.1 {echo}\r\n{code} end\r\n".encode()
    replies = {"EHLO": b"250-peer\r\n250 AUTH PLAIN\r\n", "HELO": reply, word: reply}
    login = {"username": "notify", "password_file": SecretStr(TOKEN)}
    with Peer(mail_server(replies)) as peer:
        error = failure(build_provider(mail_settings(peer.port, **login)), mail())
    assert error.answer == r"5.7.1 no: *** *** ***\nend"
    assert error.answer not in str(error) + repr(error)


def test_what_opens_a_gateway_by_its_url() -> None:
    body = b"denied: k3y-value, pa/ss-word, user:pa/ss-word"
    answer = b"HTTP/1.1 403 No\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with Peer(answering(answer)) as peer:
        url = peer.url.replace("//", "//user:pa%2Fss-word@", 1) + "?api=k3y-value"
        provider = build_provider(sms_settings(url, token_file=None))
        assert failure(provider, sms()).answer == "denied: ***, ***, ***"
        assert "k3y" not in rehearse(provider, sms()).request


def test_no_settings_show_a_header() -> None:
    settings = sms_settings("https://sms.example/", headers={"X-Key": "k-161803"})
    assert "k-161803" not in repr(settings)
