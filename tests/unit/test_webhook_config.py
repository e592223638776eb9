"""What only webhooks have in the configuration: signing secrets, and when to give one up."""

from pathlib import Path

import pytest

from notify.config import EndpointSettings, WebhookProvider
from tests.unit.configs import EMAIL, SMS, WEBHOOK, load, problems

HOOKS = "channels/webhook.toml"
KEY = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
REPORTED = "[endpoints]\nreport_channel = 'email'\nreport_recipient = 'ops@example.com'\n"


def _secrets(tmp_path: Path, text: str, **environ: str) -> list[str]:
    loaded = load(tmp_path, {HOOKS: f"{WEBHOOK}{text}"}, **environ)
    (provider,) = loaded.channel("webhook").providers
    assert isinstance(provider, WebhookProvider)
    assert KEY not in repr(provider)
    return [each.get_secret_value() for each in provider.signing_secret_files]


def test_one_secret_or_two_as_a_list_or_as_one_text(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_text(f"whsec_{KEY}\n")
    old.write_text(f"{'A' * 84}\r\n")
    assert _secrets(tmp_path, "") == []
    assert _secrets(tmp_path, f"signing_secret_files = ['{new}']") == [f"whsec_{KEY}"]
    both = [f"whsec_{KEY}", "A" * 84]
    assert _secrets(tmp_path, f"signing_secret_files = ['{new}', '{old}']") == both
    variable = "signing_secret_files = '${FILES:-}'"
    assert _secrets(tmp_path, variable) == []
    assert _secrets(tmp_path, variable, FILES=f"{new}, {old}") == both


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        (f"whsec_{KEY}!", "must be base64, with or"),
        (KEY.replace("M", "-"), "must be base64, with or"),
        (f"{KEY[:9]} {KEY[9:]}", "must be base64, with or"),
        (f"whsk_{KEY}", "must be base64, with or"),
        ("ключ", "must be base64, with or"),
        (KEY + "A", "must be base64, with or"),
        ("whsec_", "must be a key of 24 to 64 bytes"),
        (KEY[:-2], "must be a key of 24 to 64 bytes"),
        ("A" * 88, "must be a key of 24 to 64 bytes"),
        ("\n", "is empty"),
    ],
)
def test_a_secret_that_a_library_would_read_otherwise(
    tmp_path: Path, secret: str, says: str
) -> None:
    path = tmp_path / "secret"
    path.write_text(secret, encoding="utf-8")
    found = problems(tmp_path, {HOOKS: f"{WEBHOOK}signing_secret_files = ['{path}']"})
    assert len(found) == 1
    assert found[0].startswith(f"{HOOKS}: providers.0.signing_secret_files.0: {says}")
    assert secret.strip("\n") == "" or secret not in found[0]


def test_whom_to_tell(tmp_path: Path) -> None:
    files = {HOOKS: f"{REPORTED}give_up_after = '36h'{WEBHOOK}", "channels/email.toml": EMAIL}
    assert load(tmp_path, files).endpoints == EndpointSettings(
        give_up_after=129_600.0, report_channel="email", report_recipient="ops@example.com"
    )
    (tmp_path / HOOKS).unlink()
    assert load(tmp_path, {}).endpoints == EndpointSettings()
    assert EndpointSettings().give_up_after == 5 * 86400


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({HOOKS: REPORTED + WEBHOOK}, f"{HOOKS}: endpoints.report_channel: channel email is"),
        ({HOOKS: "[endpoints]\nreport_channel = 'sms'" + WEBHOOK}, f"{HOOKS}: endpoints: report_"),
        ({HOOKS: "[endpoints]\nreport_recipient = 'x'" + WEBHOOK}, f"{HOOKS}: endpoints: report_"),
        (
            {HOOKS: REPORTED.replace("email", "sms") + WEBHOOK},
            f"{HOOKS}: endpoints: report_recipient: must be a phone number",
        ),
        (
            {HOOKS: REPORTED.replace("email", "webhook") + WEBHOOK},
            f"{HOOKS}: endpoints.report_channel: ",
        ),
        ({HOOKS: "[endpoints]\nminimum_failures = 0" + WEBHOOK}, f"{HOOKS}: endpoints.minimum_f"),
        ({HOOKS: "[endpoints]\ngive_up_after = 'soon'" + WEBHOOK}, f"{HOOKS}: endpoints.give_up"),
        ({"channels/sms.toml": "[endpoints]" + SMS}, "channels/sms.toml: endpoints: unknown key"),
        (
            {HOOKS: WEBHOOK + "signing_secret_files = ['/no/such']"},
            f"{HOOKS}: providers.0.signing_secret_files.0: cannot be read",
        ),
    ],
)
def test_what_can_be_wrong(tmp_path: Path, files: dict[str, str], line: str) -> None:
    (found,) = problems(tmp_path, files)
    assert found.startswith(line)
    assert "ops@example.com" not in found


def test_three_secrets_are_too_many(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(KEY)
    (found,) = problems(tmp_path, {HOOKS: f"{WEBHOOK}signing_secret_files = {[str(path)] * 3}"})
    assert found.startswith(f"{HOOKS}: providers.0.signing_secret_files: ")
