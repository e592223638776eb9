"""Why a server cannot be trusted, and whom a provider trusts instead."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from notify.channels import Provider, build_provider
from notify.channels.tls import tls_reason, trust
from notify.notification import Notification
from notify.outcomes import Reason, TemporaryFailure

from .mailpeers import mail_server
from .peers import OK, Peer, Serve, answering, make_certificate, server_side
from .values import failure, hook, hook_settings, kind, mail, mail_settings, sms, sms_settings


def _verification(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code = code
    return error


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ([9, 10], Reason.TLS_EXPIRED),
        ([62, 64], Reason.TLS_WRONG_HOST),
        ([2, 18, 19, 20, 21, 27], Reason.TLS_UNTRUSTED),
        ([0, 1, 7, 23, 26, 66, 68, 79, 9999], Reason.TLS_FAILED),
    ],
)
def test_what_openssl_says(codes: list[int], reason: Reason) -> None:
    for code in codes:
        assert tls_reason(_verification(code)) is reason
    assert tls_reason(ssl.SSLError(1, "wrong version number")) is Reason.TLS_FAILED
    assert tls_reason(ConnectionResetError()) is Reason.TLS_FAILED


Maker = Callable[[int, str | None], tuple[Provider, Notification]]


def _hook(port: int, ca: str | None) -> tuple[Provider, Notification]:
    provider = build_provider(hook_settings(ca_file=ca))
    return provider, hook(f"https://127.0.0.1:{port}/")


def _sms(port: int, ca: str | None) -> tuple[Provider, Notification]:
    return build_provider(sms_settings(f"https://127.0.0.1:{port}/", ca_file=ca)), sms()


def _mail(port: int, ca: str | None) -> tuple[Provider, Notification]:
    return build_provider(mail_settings(port, security="tls", ca_file=ca)), mail()


def _starttls(port: int, ca: str | None) -> tuple[Provider, Notification]:
    return build_provider(mail_settings(port, security="starttls", ca_file=ca)), mail()


MAKERS: list[Maker] = [_hook, _sms, _mail, _starttls]


def _serving(make: Maker, tls: ssl.SSLContext) -> tuple[Serve, ssl.SSLContext | None]:
    if make is _starttls:
        return mail_server({"EHLO": b"250-peer\r\n250 STARTTLS\r\n"}, tls=tls), None
    return (mail_server() if make is _mail else answering(OK)), tls


@pytest.mark.parametrize("make", MAKERS)
def test_a_certificate_of_ones_own(make: Maker, certificate: tuple[Path, Path]) -> None:
    with Peer(*_serving(make, server_side(*certificate))) as peer:
        provider, notification = make(peer.port, str(certificate[0]))
        assert provider.send(notification, deadline=5).code in ("200", "250")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("names", "days", "reason"),
    [
        ("IP:127.0.0.1", -1, Reason.TLS_EXPIRED),
        ("DNS:other.test", 2, Reason.TLS_WRONG_HOST),
        ("IP:127.0.0.2", 2, Reason.TLS_WRONG_HOST),
    ],
)
def test_a_trusted_certificate_that_does_not_fit(
    make: Maker, names: str, days: int, reason: Reason, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path, names, days)
    with Peer(*_serving(make, server_side(certificate, key))) as peer:
        provider, notification = make(peer.port, str(certificate))
        assert kind(failure(provider, notification, deadline=5)) == (TemporaryFailure, reason)


@pytest.mark.parametrize("make", MAKERS)
def test_a_certificate_of_a_stranger(
    make: Maker, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    other, _ = make_certificate(tmp_path)
    with Peer(*_serving(make, server_side(*certificate))) as peer:
        for ca in (None, str(other)):
            provider, notification = make(peer.port, ca)
            error = failure(provider, notification, deadline=5)
            assert kind(error) == (TemporaryFailure, Reason.TLS_UNTRUSTED)


@pytest.mark.parametrize("make", MAKERS)
def test_a_server_of_the_last_century(make: Maker, certificate: tuple[Path, Path]) -> None:
    old = server_side(*certificate)
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with Peer(*_serving(make, old)) as peer:
        provider, notification = make(peer.port, str(certificate[0]))
        error = failure(provider, notification, deadline=5)
    assert kind(error) == (TemporaryFailure, Reason.TLS_FAILED)


def test_a_file_of_ones_own_replaces_what_the_machine_trusts(
    certificate: tuple[Path, Path],
) -> None:
    own = trust(certificate[0].read_text(encoding="ascii"))
    assert own.cert_store_stats()["x509"] == 1
    assert trust().cert_store_stats()["x509"] > 10
    for context in (own, trust()):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname
