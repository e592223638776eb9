import os
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from notify.channels import Provider, build_provider
from notify.sandbox import Sandbox

from .peers import make_certificate, server_side
from .values import hook_settings, mail_settings


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as running:
        yield running


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def server_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    return server_side(*certificate)


@pytest.fixture
def client_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """Trusts the server."""
    return ssl.create_default_context(cafile=str(certificate[0]))


@pytest.fixture
def open_files() -> Callable[[], int]:
    return lambda: len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.fixture
def hooks() -> Provider:
    return build_provider(hook_settings())


@pytest.fixture
def mails(sandbox: Sandbox) -> Provider:
    return build_provider(mail_settings(sandbox.smtp_port))
