"""The management API over HTTPS: the same whom we trust, and a name that must be the right one."""

from contextlib import closing
from pathlib import Path

import certifi
import pytest

from notify.certificates import verifying
from notify.config import Settings
from notify.config.models import BrokerSettings
from notify.errors import ManagementUnavailable
from notify.provision import management
from tests.channels.peers import OK, Peer, answering, make_certificate, server_side


def ask(url: str, trusted: str | None) -> object:
    broker = BrokerSettings(management_url=url).model_copy(update={"ca_file": trusted})
    with closing(management(Settings(broker=broker))) as api:
        return api.ask("/nodes")


@pytest.mark.parametrize(
    ("host", "names", "days", "words"),
    [
        ("127.0.0.1", "IP:127.0.0.1", 2, ""),
        ("localhost", "DNS:localhost", 2, ""),
        ("127.0.0.1", "DNS:other.test", 2, "is for another name"),
        ("localhost", "DNS:other.test,IP:127.0.0.1", 2, "is for another name"),
        ("127.0.0.1", "IP:127.0.0.2", 2, "is for another name"),
        ("127.0.0.1", "IP:127.0.0.1", -1, "has expired"),
    ],
)
@pytest.mark.parametrize("own", [True, False], ids=["own", "machine"])
def test_the_name_counts_whoever_is_trusted(
    own: bool,
    host: str,
    names: str,
    days: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certificate, key = make_certificate(tmp_path, names, days)
    if not own:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trusted = certificate.read_text(encoding="ascii") if own else None
    with Peer(answering(OK), server_side(certificate, key)) as peer:
        url = f"https://user:hunter2@{host}:{peer.port}"
        if not words:
            assert ask(url, trusted) == {}
            return
        with pytest.raises(ManagementUnavailable) as caught:
            ask(url, trusted)
        assert f"the certificate of {host}:{peer.port} {words}" in str(caught.value)
        assert "hunter2" not in str(caught.value)


def test_a_file_of_ones_own_replaces_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = make_certificate(tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = make_certificate(tmp_path / "other")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Peer(answering(OK), server_side(certificate, key)) as peer:
        url = f"https://user:hunter2@127.0.0.1:{peer.port}"
        assert ask(url, None) == {}
        with pytest.raises(ManagementUnavailable, match="nobody whom we trust has signed"):
            ask(url, other.read_text(encoding="ascii"))
    monkeypatch.delenv("SSL_CERT_FILE")
    with (
        Peer(answering(OK), server_side(certificate, key)) as peer,
        pytest.raises(ManagementUnavailable, match="nobody whom we trust has signed"),
    ):
        ask(f"https://user:hunter2@127.0.0.1:{peer.port}", None)


def test_a_common_name_is_no_name() -> None:
    authority = Path(certifi.where()).read_text(encoding="utf-8")
    for context in (verifying(), verifying(authority)):
        assert context.check_hostname
        assert not context.hostname_checks_common_name
