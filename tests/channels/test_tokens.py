"""Tokens that a provider gets for itself: one for all threads, renewed, refused, not to be had."""

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

import pytest
from pydantic import SecretStr

from notify.channels.profiled import Profiled
from notify.channels.tokens import Held, Tokens
from notify.channels.trials import rehearse, try_out
from notify.config.described import ProfileProvider
from notify.config.profiles import Profile
from notify.errors import ConfigError
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, TemporaryFailure

from .contracts import answer_of
from .peers import Peer, Serve, blackhole, drip, read_request, reading, refused_port
from .values import failure, kind, sms

CODE = {"means": "x", "outcome": "temporary", "source": "https://example.com/1"}
REFUSED = {**CODE, "code": 42001, "reason": "provider_denied", "action": "refresh_token"}
EXPIRED = '{"errcode": 42001}'
SECRET = "app-s3cret"


def token_number(number: int) -> str:
    return f"t0ken/{number}+abc"


def issue(number: int, **changes: Any) -> str:
    return json.dumps(
        {"errcode": 0, "access_token": token_number(number), "expires_in": 7200} | changes
    )


@dataclass
class Gateway:
    """Gives out tokens with numbers, and takes messages; what it says can be replaced."""

    issued: Callable[[int], str] = issue
    said: Callable[[bytes], str] = lambda request: '{"errcode": 0}'
    fetches: int = 0
    sends: list[bytes] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def serve(self, connection: socket.socket) -> None:
        while request := read_request(connection):
            connection.sendall(answer_of({"body": self.answer(request)}))

    def answer(self, request: bytes) -> str:
        with self.lock:
            if request.startswith(b"GET /token?"):
                assert b"secret=app-s3cret " in request.splitlines()[0]
                self.fetches += 1
                number = self.fetches
            else:
                self.sends.append(request)
                return self.said(request)
        return self.issued(number)


def provider(api: str, login: str, **request: Any) -> Profiled:
    profile = Profile.model_validate(
        {
            "name": "ours",
            "title": "Ours",
            "source": "https://example.com/docs",
            "channels": ["sms"],
            "values": {"api": {"about": "x"}, "login": {"about": "x"}},
            "secrets": {"app": {"about": "x"}},
            "token": {
                "method": "GET",
                "url": "{value.login}/token",
                "query": {"secret": "{secret.app}"},
                "field": "access_token",
                "expires_field": "expires_in",
                "code": "errcode",
                "success": [0],
            },
            "request": {
                "url": "{value.api}/send",
                "query": {"access_token": "{token}"},
                "json": {"text": "{text}"},
                **request,
            },
            "answers": {"code": "errcode", "success": [0], "codes": [REFUSED]},
        }
    )
    settings = ProfileProvider(
        type="profile",
        name="ours",
        profile=profile,
        values={"api": api, "login": login},
        secrets={"app_file": SecretStr(SECRET)},
    )
    return Profiled(settings)


def base(peer: Peer) -> str:
    return f"http://127.0.0.1:{peer.port}"


@contextmanager
def served(gateway: Gateway, **request: Any) -> Iterator[Profiled]:
    with Peer(gateway.serve) as peer:
        yield provider(base(peer), base(peer), **request)


def outcomes(ours: Profiled, threads: int) -> list[DeliveryFailure | None]:
    def run(number: int) -> DeliveryFailure | None:
        try:
            ours.send(sms(), deadline=5)
        except DeliveryFailure as error:
            return error
        return None

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def slow_issue(number: int) -> str:
    time.sleep(0.2)
    return issue(number)


def test_twenty_threads_get_one_token() -> None:
    gateway = Gateway(issued=slow_issue)
    with served(gateway) as ours:
        assert outcomes(ours, 20) == [None] * 20
    assert (gateway.fetches, len(gateway.sends)) == (1, 20)
    assert all(b"?access_token=t0ken%2F1%2Babc " in sent for sent in gateway.sends)


def test_nothing_is_asked_before_it_is_needed() -> None:
    gateway = Gateway()
    with served(gateway, headers={"X-Text": "{body}"}) as ours:
        problem = failure(ours, sms(body="two\nlines"))
        assert kind(problem) == (PermanentFailure, Reason.INVALID)
    assert (gateway.fetches, gateway.sends) == (0, [])


def test_a_token_is_renewed_before_its_end() -> None:
    gateway = Gateway(issued=lambda number: issue(number, expires_in=1))
    with served(gateway) as ours:
        ours.send(sms(), deadline=2)
        ours.send(sms(), deadline=2)
        assert gateway.fetches == 1
        time.sleep(0.95)
        ours.send(sms(), deadline=2)
    assert gateway.fetches == 2
    assert b"t0ken%2F2" in gateway.sends[-1]


@pytest.mark.parametrize("said", ["7200", None, True, "soon", [], -5, 1e300])
def test_strange_lifetimes_do_no_harm(said: Any) -> None:
    gateway = Gateway(issued=lambda number: issue(number, expires_in=said))
    with served(gateway) as ours:
        ours.send(sms(), deadline=2)
        ours.send(sms(), deadline=2)
    assert gateway.fetches == 1


def takes(number: int) -> Callable[[bytes], str]:
    """Takes only this token."""
    mark = f"t0ken%2F{number}".encode()
    return lambda request: '{"errcode": 0}' if mark in request else EXPIRED


def test_a_refused_token_is_replaced_within_the_attempt() -> None:
    gateway = Gateway(said=takes(2))
    with served(gateway) as ours:
        assert ours.send(sms(), deadline=2).code == "200"
        ours.send(sms(), deadline=2)
    assert (gateway.fetches, len(gateway.sends)) == (2, 3)


def test_but_only_once() -> None:
    gateway = Gateway(said=lambda request: EXPIRED)
    with served(gateway) as ours:
        error = failure(ours, sms())
    assert isinstance(error, TemporaryFailure)
    assert (error.reason, error.code, error.detail) == (Reason.PROVIDER_DENIED, "42001", "x")
    assert (gateway.fetches, len(gateway.sends)) == (2, 2)


def test_an_unknown_outcome_is_not_sent_again() -> None:
    gateway = Gateway(said=lambda request: "<html>")
    with served(gateway) as ours:
        assert failure(ours, sms()).kind == "unknown"
    assert (gateway.fetches, len(gateway.sends)) == (1, 1)


def test_a_token_that_all_threads_lose_is_fetched_once() -> None:
    gateway = Gateway(issued=slow_issue)
    with served(gateway) as ours:
        ours.send(sms(), deadline=2)
        gateway.said = takes(2)
        assert outcomes(ours, 20) == [None] * 20
    assert gateway.fetches == 2


def test_a_newer_token_is_not_thrown_away() -> None:
    """Even where it has the same text, as some endpoints give out the same one again."""
    made: list[Held] = []

    def fetch(notification: Notification, deadline: float) -> Held:
        made.append(Held(text="same", until=time.monotonic() + 60))
        return made[-1]

    tokens, ends = Tokens(fetch), time.monotonic() + 1
    first = tokens.get(sms(), ends)
    second = tokens.get(sms(), ends, refused=first)
    assert second is not first
    assert tokens.get(sms(), ends, refused=first) is second
    assert tokens.get(sms(), ends) is second
    assert len(made) == 2
    assert "same" not in repr(made)


def test_each_thread_waits_as_long_as_it_may() -> None:
    """A short one gives up on its own; a long one is not hurt by the end of another's time."""
    started, calls = Event(), []

    def fetch(notification: Notification, deadline: float) -> Held:
        calls.append(deadline)
        started.set()
        if len(calls) == 1:
            time.sleep(deadline)
            raise TemporaryFailure(Reason.CONNECTION_FAILED, "no token: no connection")
        return Held(text="token", until=time.monotonic() + 60)

    tokens, now = Tokens(fetch), time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(tokens.get, sms(), now + 1.0)
        assert started.wait(1)
        short = pool.submit(tokens.get, sms(), now + 0.2)
        patient = pool.submit(tokens.get, sms(), now + 5)
        with pytest.raises(TemporaryFailure, match=r"^connection_failed: no token: waited"):
            short.result(1)
        assert not first.done()
        with pytest.raises(TemporaryFailure, match="no connection"):
            first.result(2)
        assert patient.result(2).text == "token"
    assert len(calls) == 2


def test_those_who_waited_share_a_refusal() -> None:
    def issued(number: int) -> str:
        time.sleep(0.3)
        return '{"errcode": 40001}'

    gateway = Gateway(issued=issued)
    with served(gateway) as ours:
        found = outcomes(ours, 5)
    assert gateway.fetches == 1
    assert [(str(error), error.code) for error in found if error] == [
        ("provider_denied: no token: HTTP 200 with an error", "40001")
    ] * 5
    assert len({id(error) for error in found}) == 5
    assert gateway.sends == []


HOSTILE = [
    ({"body": ""}, Reason.PROVIDER_ERROR, "200"),
    ({"body": "<html>"}, Reason.PROVIDER_ERROR, "200"),
    ({"body": "[]"}, Reason.PROVIDER_ERROR, "200"),
    ({"body": "[" * 60000}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, access_token=None)}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, access_token=7)}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, access_token="")}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, access_token="tök")}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, access_token="abc\r\nX: y")}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, access_token="x" * 9000)}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1) + " " * 70000}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, errcode=None)}, Reason.PROVIDER_ERROR, "200"),
    ({"body": issue(1, errcode=40001)}, Reason.PROVIDER_DENIED, "40001"),
    ({"body": issue(1, errcode="invalid_client")}, Reason.PROVIDER_DENIED, "invalid_client"),
    ({"body": issue(1, errcode="t0ken/1+abc")}, Reason.PROVIDER_DENIED, "200"),
    ({"body": issue(1, errcode=SECRET)}, Reason.PROVIDER_DENIED, "200"),
    ({"body": issue(1), "status": 401}, Reason.PROVIDER_DENIED, "0"),
    ({"body": "", "status": 404}, Reason.PROVIDER_DENIED, "404"),
    ({"body": "", "status": 302, "headers": {"Location": "/x"}}, Reason.PROVIDER_DENIED, "302"),
    ({"body": "t0ken/1", "status": 500}, Reason.PROVIDER_ERROR, "500"),
    ({"body": "", "status": 503, "headers": {"Retry-After": "7"}}, Reason.PROVIDER_BUSY, "503"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "reason", "code"), HOSTILE)
def test_an_endpoint_that_gives_no_token(answer: dict[str, Any], reason: Reason, code: str) -> None:
    def serve(connection: socket.socket) -> None:
        while read_request(connection):
            connection.sendall(answer_of(answer))

    gateway = Gateway()
    with Peer(gateway.serve) as api, Peer(serve) as login:
        error = failure(provider(base(api), base(login)), sms())
    assert (type(error), error.reason) == (TemporaryFailure, reason)
    assert error.code == code
    assert error.retry_after == (7.0 if code == "503" else None)
    assert (error.answer, error.__cause__, gateway.sends) == ("", None, [])
    assert "t0ken" not in f"{error} {error.code} {error.detail}"


LOST = [
    (lambda connection: None, Reason.CONNECTION_FAILED),
    (reading, Reason.CONNECTION_FAILED),
    (drip(b"x" * 100), Reason.CONNECTION_FAILED),
    (drip(b"x" * 100, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), Reason.PROVIDER_ERROR),
]


@pytest.mark.parametrize(("serve", "reason"), LOST)
def test_an_endpoint_that_does_not_answer(serve: Serve, reason: Reason) -> None:
    gateway = Gateway()
    with Peer(gateway.serve) as api, Peer(serve) as login:
        started = time.monotonic()
        error = failure(provider(base(api), base(login)), sms(), deadline=0.5)
        assert time.monotonic() - started < 1.5
    assert kind(error) == (TemporaryFailure, reason)
    assert gateway.sends == []


def test_an_endpoint_that_is_not_there() -> None:
    gateway = Gateway()
    with Peer(gateway.serve) as api, blackhole() as port:
        for each in (refused_port(), port):
            ours = provider(base(api), f"http://127.0.0.1:{each}")
            error = failure(ours, sms(), deadline=0.5)
            assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
    assert gateway.sends == []


def test_no_time_is_left_to_send() -> None:
    def fetch(notification: Notification, deadline: float) -> Held:
        time.sleep(deadline)
        return Held(text="token", until=time.monotonic() + 60)

    gateway = Gateway()
    with served(gateway) as ours:
        ours.__dict__["_tokens"] = Tokens(fetch)
        error = failure(ours, sms(), deadline=0.1)
    assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
    assert gateway.sends == []


PLACES: list[dict[str, Any]] = [
    {},
    {"query": {}, "bearer": "{token}"},
    {"query": {}, "basic": ["app", "{token}"]},
    {"query": {}, "headers": {"X-Auth": "{token}"}},
    {"query": {}, "json": {"token": "{token}"}},
    {"query": {}, "url": "{value.api}/bot{token}/send"},
]


@pytest.mark.parametrize("place", PLACES)
def test_nobody_sees_token_or_secret(
    place: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Not from an answer that quotes the whole request, nor one that quotes the token before."""

    def said(request: bytes) -> str:
        number = len(gateway.sends)
        before = token_number(1) if number < 3 else ""
        quoted = f"{before} {SECRET} {request.decode()}"
        return json.dumps({"errmsg": quoted, "errcode": 42001 if number == 1 else 7})

    gateway = Gateway(said=said)
    caplog.set_level(logging.DEBUG, logger="notify")
    with served(gateway, **place) as ours:
        error = failure(ours, sms())
        trial = try_out(ours, sms(), 2.0)
    assert (error.code, gateway.fetches, len(gateway.sends)) == ("7", 2, 3)
    assert "***" in error.answer
    assert "***" in trial.request
    told = f"{error!r} {error.code} {error.answer} {trial} {vars(ours)} {caplog.text}"
    for number in (1, 2):
        for form in (f"t0ken/{number}", f"t0ken%2F{number}", f"t0ken\\/{number}"):
            assert form not in told
    assert "YXBwOnQwa2Vu" not in told
    assert SECRET not in error.answer + str(trial) + caplog.text


@pytest.mark.parametrize("place", PLACES)
def test_a_dry_run_gets_no_token(place: dict[str, Any]) -> None:
    gateway = Gateway()
    with served(gateway, **place) as ours:
        trial = rehearse(ours, sms())
    assert trial.outcome is None
    assert "***" in trial.request
    assert (gateway.fetches, gateway.sends) == (0, [])


def test_a_try_shows_nothing_of_the_endpoints_answer() -> None:
    gateway = Gateway(issued=lambda number: issue(number, access_token=None, other="t0ken-77"))
    with served(gateway) as ours:
        trial = try_out(ours, sms(), 2.0)
    assert (trial.request, trial.status, trial.answer) == ("", None, "")
    assert str(trial.outcome) == "provider_error: no token: HTTP 200 with an answer that has none"


def test_the_url_of_the_endpoint_must_be_one() -> None:
    with pytest.raises(ConfigError, match="the URL of its requests must start with"):
        provider("https://api.example", "api.example")


def test_a_token_may_be_asked_for_in_json() -> None:
    seen: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        while request := read_request(connection):
            seen.append(request)
            connection.sendall(answer_of({"body": '{"data": {"token": "abc-1"}}'}))

    with Peer(serve) as peer:
        token = {
            "url": f"{base(peer)}/token",
            "field": "data.token",
            "json": {"app": "{value.app}", "secret": "{secret.app}"},
        }
        profile = Profile.model_validate(
            {
                "name": "ours",
                "title": "Ours",
                "source": "https://example.com/docs",
                "channels": ["sms"],
                "values": {"app": {"about": "x", "default": "7"}},
                "secrets": {"app": {"about": "x"}},
                "token": token,
                "request": {"url": f"{base(peer)}/send", "bearer": "{token}", "plain": "{body}"},
            }
        )
        settings = ProfileProvider(
            type="profile",
            name="ours",
            profile=profile,
            secrets={"app_file": SecretStr(SECRET)},
        )
        Profiled(settings).send(sms(), deadline=2)
    assert seen[0].startswith(b"POST /token HTTP/1.1\r\n")
    assert seen[0].endswith(b'\r\n\r\n{"app":"7","secret":"app-s3cret"}')
    assert b"\r\nAuthorization: Bearer abc-1\r\n" in seen[1]
