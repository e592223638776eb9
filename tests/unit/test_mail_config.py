"""Mail servers in the configuration: keys that sign, folders of attachments, logging in."""

import re
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest

from notify.config import SmtpProvider
from notify.config.dkim import read_key

from .configs import EMAIL, SMS, load, problems

MAILS = "channels/email.toml"


def openssl(*command: str | Path) -> str:
    return subprocess.run(
        ["openssl", *map(str, command)], capture_output=True, text=True, check=True
    ).stdout


def rsa(bits: int, *options: str) -> str:
    return openssl("genrsa", *options, str(bits))


@pytest.fixture(scope="module")
def keys() -> dict[str, str]:
    return {
        "RSA, PKCS#8": rsa(1024),
        "RSA, PKCS#1": rsa(2048, "-traditional"),
        "Ed25519": openssl("genpkey", "-algorithm", "ed25519"),
        "Ed25519, seed": b64encode(bytes(range(32))).decode() + "\n",
    }


@pytest.mark.parametrize("kind", ["RSA, PKCS#8", "RSA, PKCS#1", "Ed25519", "Ed25519, seed"])
def test_keys_that_can_sign(tmp_path: Path, keys: dict[str, str], kind: str) -> None:
    file = tmp_path / "key.pem"
    for text in (keys[kind], keys[kind].replace("\n", "\r\n"), f"# a comment\n{keys[kind]}"):
        if "seed" in kind and text.startswith("#"):
            continue
        file.write_text(text)
        dkim = f'dkim = {{domain = "example.com", selector = "s1", key_file = "{file}"}}'
        (provider,) = load(tmp_path, {MAILS: EMAIL + dkim}).channel("email").providers
        assert isinstance(provider, SmtpProvider)
        assert provider.dkim is not None
        assert provider.dkim.key.algorithm.startswith(kind[:3].lower())
        assert provider.dkim.key.text.splitlines()[0] not in repr(provider)


def test_the_seed_of_a_key_is_taken_as_it_is(tmp_path: Path, keys: dict[str, str]) -> None:
    file = tmp_path / "key.pem"
    file.write_text(keys["Ed25519"])
    shown = openssl("pkey", "-in", file, "-noout", "-text")
    seed = bytes.fromhex(re.sub(r"[\s:]", "", shown.partition("priv:")[2].partition("pub:")[0]))
    assert read_key(keys["Ed25519"]).text == b64encode(seed).decode()


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n====\n-----END PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMIQ=\n-----END PRIVATE KEY-----\n",
        "public",
        "ec",
        "locked",
    ],
)
def test_keys_that_cannot(tmp_path: Path, text: str) -> None:
    others = {
        "public": ("genrsa | openssl rsa -pubout",),
        "ec": ("genpkey -algorithm ec -pkeyopt ec_paramgen_curve:prime256v1",),
        "locked": ("genrsa -aes128 -passout pass:hunter2 1024",),
    }
    for command in others.get(text, ()):
        text = subprocess.run(
            f"openssl {command}", shell=True, capture_output=True, text=True, check=True
        ).stdout
    file = tmp_path / "key.pem"
    file.write_text(text)
    dkim = f'dkim = {{domain = "example.com", selector = "s1", key_file = "{file}"}}'
    (problem,) = problems(tmp_path, {MAILS: EMAIL + dkim})
    assert problem.startswith(f"{MAILS}: providers.0.dkim.key_file: must be an RSA or Ed25519 priv")


def test_a_key_that_is_too_short(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text(rsa(768))
    dkim = f'dkim = {{domain = "example.com", selector = "s1", key_file = "{file}"}}'
    (problem,) = problems(tmp_path, {MAILS: EMAIL + dkim})
    assert problem.endswith("dkim.key_file: an RSA key must have at least 1024 bits")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (EMAIL + "reply_to = 'nobody'", "providers.0.reply_to: "),
        (EMAIL + "unsubscribe_mailto = 'mailto:a b'", "providers.0.unsubscribe_mailto: "),
        (EMAIL + "reply_to = 'jlópez@example.mx'", "providers.0.reply_to: must be ASCII before"),
        (EMAIL + "reply_to = 'a@☕.example'", "providers.0.reply_to: must be an email address"),
        (EMAIL + "dkim = {}", "providers.0.dkim.domain: is required"),
        (EMAIL + "[providers.dkim]\nselector = ''", "providers.0.dkim.selector: "),
        (EMAIL + "[providers.dkim]\nselector = 'a b'", "providers.0.dkim.selector: "),
        (EMAIL + "[providers.dkim]\ndomain = 'localhost'", "providers.0.dkim.domain: "),
        (EMAIL + "[providers.dkim]\ndomain = 'bücher.example'", "providers.0.dkim.domain: "),
        (EMAIL + "[providers.dkim]\nkey_file = '/no/such'", "providers.0.dkim.key_file: cannot be"),
        (EMAIL + "[providers.dkim]\nkey = 'x'", "providers.0.dkim.key: unknown key"),
        ("[attachments]\nfolders = {'A b' = '/a'}" + EMAIL, "attachments.folders.A b."),
        ("[attachments]\nfolders = {a = 'relative'}" + EMAIL, "attachments.folders.a: must be the"),
        ("[attachments]\nfolders = {a = '/'}" + EMAIL, "attachments.folders.a: must be the abs"),
        ("[attachments]\nfolders = {a = '/etc/passwd'}" + EMAIL, "attachments.folders.a: is not a"),
        ("[attachments]\nmax_bytes = 0" + EMAIL, "attachments.max_bytes: "),
        ("[attachments]\nmax_bytes = true" + EMAIL, "attachments.max_bytes: "),
        ("[attachments]\nfolder = '/a'" + EMAIL, "attachments.folder: unknown key"),
    ],
)
def test_each_rule_has_a_line_with_file_and_key(tmp_path: Path, text: str, line: str) -> None:
    found = problems(tmp_path, {MAILS: text})
    assert any(each.startswith(f"{MAILS}: {line}") for each in found), found


def test_only_emails_have_attachments(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, {"channels/sms.toml": "[attachments]\n" + SMS})
    assert problem == "channels/sms.toml: attachments: unknown key"


def test_a_folder_may_be_on_other_hosts(tmp_path: Path) -> None:
    text = "[attachments]\nfolders = {invoices = '/no/such/folder'}" + EMAIL
    settings = load(tmp_path, {MAILS: text})
    assert settings.attachments.folders == {"invoices": Path("/no/such/folder")}
    assert settings.attachments.max_bytes == 10 * 1024 * 1024
    assert load(tmp_path, {MAILS: EMAIL}).attachments.folders == {}


@pytest.mark.parametrize(
    ("host", "security", "allowed"),
    [
        ("mail.example.com", "none", False),
        ("192.0.2.1", "none", False),
        ("127.0.0.1.example.com", "none", False),
        ("localhost", "none", True),
        ("127.9.9.9", "none", True),
        ("::1", "none", True),
        ("[::1]", "none", True),
        ("mail.example.com", "starttls", True),
        ("mail.example.com", "tls", True),
    ],
)
def test_passwords_go_over_tls_or_nowhere(
    tmp_path: Path, host: str, security: str, allowed: bool
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    login = f"security = '{security}'\nusername = 'me'\npassword_file = '{secret}'"
    text = EMAIL.replace("127.0.0.1", host) + login
    found = problems(tmp_path, {MAILS: text})
    wanted = f"{MAILS}: providers.0: username needs security starttls or tls, or a server on this"
    assert found == [] if allowed else found[0].startswith(wanted)
