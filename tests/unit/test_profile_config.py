"""Profiles in the configuration: each rule has one line with file and key."""

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from notify.config import ProfileProvider
from notify.config import profiles as models
from tests.unit.configs import load, problems, write

ROOT = Path(__file__).parents[2]
SMS, HOOKS, OWN = "channels/sms.toml", "channels/webhook.toml", "providers/ours.toml"
HEAD = 'title = "Ours"\nsource = "https://example.com/docs"\nchannels = ["sms"]\n'
REQUEST = '[request]\nurl = "https://gateway.example/"\n'
PROFILE = f"{HEAD}{REQUEST}"
CODE = f'{PROFILE}[[answers.codes]]\nmeans = "x"\nsource = "https://example.com/1"\n'
USING = f'{PROFILE}bearer = "{{token}}"\n'
ISSUER = '[token]\nurl = "https://gateway.example/token"\nfield = "t"\n'
P0 = ": providers.0"


def section(profile: str, rest: str = "") -> str:
    return f'[[providers]]\nname = "ours"\ntype = "profile"\nprofile = "{profile}"\n{rest}\n'


def found(root: Path, files: dict[str, str]) -> list[str]:
    (root / "providers").mkdir(exist_ok=True)
    return problems(root, files)


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text("s3cret")
    return str(path)


BROKEN = [
    (SMS, section("no-such"), f"{SMS}{P0}.profile: there is no such profile; known: dingtalk, "),
    (SMS, section("x").replace('"x"', "[]"), f"{SMS}{P0}.profile: must be the name of a profile"),
    (SMS, section("x").replace("profile = ", "# "), f"{SMS}{P0}.profile: is required"),
    (SMS, section("dingtalk"), f"{SMS}{P0}.profile: is for channel webhook"),
    (HOOKS, section("generic-http", 'values = {url = "x"}'), f"{HOOKS}{P0}.profile: is for chan"),
    (SMS, section("generic-http"), f"{SMS}{P0}: values.url: is required by the profile"),
    (SMS, section("generic-http", 'values = {url="x", to="y"}'), f"{SMS}{P0}: values.to: unknown"),
    (SMS, section("twilio", 'values = {account="A",sender="B"}'), f"{SMS}{P0}: secrets.auth_tok"),
    (HOOKS, section("dingtalk", 'secrets = {secret_file="/no/such"}'),
     f"{HOOKS}{P0}.secrets.secret_file: cannot be read"),
    (HOOKS, section("dingtalk", 'secrets = {secret="SEC1"}'), f"{HOOKS}{P0}.secrets.secret: cann"),
    (HOOKS, section("dingtalk", 'secrets = {key_file="@"}'), f"{HOOKS}{P0}: secrets.key_file: unk"),
    (HOOKS, section("standard-webhooks", 'secrets = {secret_file="@"}'),
     f"{HOOKS}{P0}: secrets.secret_file: must be "),
    (HOOKS, section("dingtalk", 'match = []'), f"{HOOKS}{P0}.match: must not be empty"),
    (HOOKS, section("dingtalk", 'match = [{host="A b"}]'), f"{HOOKS}{P0}.match.0.host: "),
    (HOOKS, section("dingtalk", 'match = [{host="a.b", path="x"}]'), f"{HOOKS}{P0}.match.0.path: "),
    (HOOKS, section("push", 'secrets = {token_file="@"}'), f"{HOOKS}{P0}: match: is required, or"),
    (HOOKS, section("plain", 'url_file="@"'), f"{HOOKS}{P0}: url_file: needs match"),
    (SMS, section("generic-http", 'values = {url="x"}\nurl_file="@"\nmatch=[{host="a.b"}]'),
     f"{SMS}{P0}: url_file: this profile says itself"),
    (HOOKS, section("plain", "colour = 1"), f"{HOOKS}{P0}.colour: unknown key"),
    (HOOKS, section("plain", '[providers.limits]\nunit = "segments"'), f"{HOOKS}{P0}: limits.unit"),
    (HOOKS, section("plain", "allow = ['::/0']"), f"{HOOKS}{P0}.allow.0: must not be every"),
    (SMS, '[send]\nunknown = "resend"\n' + section("generic-http", 'values = {url="https://a.b"}'),
     f"{SMS}: send.unknown: resend needs a provider with takes_idempotency_key, not ours"),
    ("providers/twilio.toml", PROFILE, "providers/twilio.toml: a profile of this name is shipped"),
    (OWN, f'name = "x"\n{PROFILE}', f"{OWN}: name: unknown key"),
    (OWN, "title = ", f"{OWN}: is not valid TOML: "),
    (OWN, REQUEST + HEAD.replace("title", "titel"), f"{OWN}: "),
    (OWN, HEAD.replace("title", "titel") + REQUEST, f"{OWN}: titel: unknown key"),
    (OWN, HEAD.replace("https", "http") + REQUEST, f"{OWN}: source: "),
    (OWN, HEAD.replace('["sms"]', "[]") + REQUEST, f"{OWN}: channels: must not be empty"),
    (OWN, HEAD.replace("sms", "fax") + REQUEST, f"{OWN}: channels.0: "),
    (OWN, PROFILE + 'json = {a = "{recpient}"}', f"{OWN}: request.json.a: there is no placeholder"),
    (OWN, PROFILE + 'form = {a = "{value.x}"}', f"{OWN}: request.form.a: there is no placeholder"),
    (OWN, PROFILE + 'basic = ["a", "{secret.x}"]', f"{OWN}: request.basic.1: there is no placeh"),
    (OWN, PROFILE + 'json = [["{x}"]]', f"{OWN}: request.json.0.0: there is no placeholder {{x}}"),
    (OWN, PROFILE.replace("example/", "example/{x}"), f"{OWN}: request.url: there is no placehol"),
    (OWN, PROFILE + 'plain = "a"\nform = {}', f"{OWN}: request: json, form and plain exclude"),
    (OWN, PROFILE + 'method = "DELETE"', f"{OWN}: request.method: "),
    (OWN, PROFILE + 'signer = "magic"', f"{OWN}: request.signer: "),
    (OWN, PROFILE + 'signer = "feishu"', f"{OWN}: request.signer: feishu needs secrets.secret"),
    (OWN, PROFILE + 'headers = {"a b" = "x"}', f"{OWN}: request.headers."),
    (OWN, HEAD + '[request]\nurl = "gateway"', f"{OWN}: request: url: must start"),
    (OWN, HEAD + '[request]\nurl = "https://{recipient}/"', f"{OWN}: request: url: must start"),
    (OWN, PROFILE + "[text]\nmax_bytes = 0", f"{OWN}: text.max_bytes: "),
    (OWN, PROFILE + "[text.escapes]\nab = 'c'", f"{OWN}: text.escapes.ab"),
    (OWN, PROFILE + "[text]\ntruncate = true\nescapes = {a='b'}", f"{OWN}: text: truncate and esc"),
    (OWN, PROFILE + "[priorities]\nhigh = 1", f"{OWN}: priorities.high"),
    (OWN, PROFILE + "[values.A]\nabout = 'x'", f"{OWN}: values.A"),
    (OWN, PROFILE + "[secrets.a]\nabout = 'x'\ndefault = 'y'", f"{OWN}: secrets.a.default: unk"),
    (OWN, PROFILE + "[answers]\nformat = 'xml'", f"{OWN}: answers.format: "),
    (OWN, PROFILE + "[answers.otherwise]\noutcome = 'sent'\nreason = 'refused'",
     f"{OWN}: answers.otherwise: reason: sent goes with none"),
    (OWN, CODE + "outcome = 'sent'", f"{OWN}: answers.codes.0: needs code or status"),
    (OWN, CODE + "code = 1", f"{OWN}: answers.codes.0.outcome: is required"),
    (OWN, CODE.replace("means", "says") + "code=1\noutcome='sent'", f"{OWN}: answers.codes.0."),
    (OWN, CODE.replace("https", "http") + "code=1\noutcome='sent'", f"{OWN}: "),
    (OWN, CODE + "code=1\noutcome='temporary'\nreason='refused'", f"{OWN}: answers.codes.0: reas"),
    (OWN, CODE + "code=1\noutcome='temporary'\naction='suppress'", f"{OWN}: answers.codes.0: act"),
    (OWN, CODE + "code=1\noutcome='permanent'\naction='slow_down'", f"{OWN}: answers.codes.0: act"),
    (OWN, CODE + "code=1\noutcome='temporary'\naction='restart'", f"{OWN}: answers.codes.0."),
    (OWN, CODE + "code=1\noutcome='permanent'\naction='refresh_token'",
     f"{OWN}: answers.codes.0: action: refresh_token goes with outcome temporary only"),
    (OWN, CODE + "code=1\noutcome='temporary'\naction='refresh_token'",
     f"{OWN}: answers.codes.0: refresh_token needs token"),
    (OWN, PROFILE + 'plain = "{token}"', f"{OWN}: request.plain: there is no placeholder {{tok"),
    (OWN, PROFILE + ISSUER, f"{OWN}: token: nothing in the request has {{token}}"),
    (OWN, USING + ISSUER.replace("field", "path"), f"{OWN}: token.field: is required"),
    (OWN, USING + ISSUER + 'colour = 1', f"{OWN}: token.colour: unknown key"),
    (OWN, USING + ISSUER + 'form = {}', f"{OWN}: token.form: unknown key"),
    (OWN, USING + ISSUER + 'method = "DELETE"', f"{OWN}: token.method: "),
    (OWN, USING + ISSUER + 'lifetime = "0.5s"', f"{OWN}: token.lifetime: "),
    (OWN, USING + ISSUER + 'success = []', f"{OWN}: token.success: must not be empty"),
    (OWN, USING + ISSUER + 'query = {a = "{body}"}', f"{OWN}: token.query.a: there is no place"),
    (OWN, USING + ISSUER + 'json = ["{token}"]', f"{OWN}: token.json.0: there is no placeholder"),
    (OWN, USING + ISSUER.replace("https:", "ftp:"), f"{OWN}: token: url: must start"),
    (OWN, USING + '[token]\nfield = "t"\nurl = "{recipient}"', f"{OWN}: token: url: must start"),
    (OWN, CODE + "code=1\noutcome='permanent'\nwait='60s'", f"{OWN}: answers.codes.0: wait: goes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line"), BROKEN)
def test_each_rule_has_a_line_with_file_and_key(
    tmp_path: Path, secret: str, name: str, text: str, line: str
) -> None:
    lines = found(tmp_path, {name: text.replace("@", secret)})
    assert [each for each in lines if each.startswith(line)], lines
    assert "s3cret" not in str(lines)
    assert "SEC1" not in str(lines)


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "providers").mkdir()
    channel = section("ours")
    settings = load(tmp_path, {OWN: PROFILE + 'plain = "{body}"', SMS: channel})
    (own,) = settings.channel("sms").providers
    assert isinstance(own, ProfileProvider)
    assert own.profile.name == "ours"


def test_a_token_goes_to_no_recipient_without_a_match(tmp_path: Path) -> None:
    profile = (USING + ISSUER).replace('https://gateway.example/"', '{recipient}"')
    files = {OWN: profile.replace("sms", "webhook"), HOOKS: section("ours")}
    (line,) = found(tmp_path, files)
    assert line.startswith(f"{HOOKS}{P0}: match: is required, or a secret would be sent")


def test_what_uses_a_broken_profile_is_broken(tmp_path: Path) -> None:
    lines = found(tmp_path, {OWN: PROFILE + "colour = 1", SMS: section("ours")})
    assert lines == [
        f"{OWN}: request.colour: unknown key",
        f"{SMS}{P0}.profile: the profile ours is not valid",
    ]


def test_values_come_from_the_environment_too(tmp_path: Path) -> None:
    text = section("generic-http", 'values = { url = "${GATEWAY}" }')
    (own,) = load(tmp_path, {SMS: text}, GATEWAY="https://a.b/").channel("sms").providers
    assert isinstance(own, ProfileProvider)
    assert own.given["value.url"] == "https://a.b/"


def test_no_secret_is_printed(tmp_path: Path, secret: str) -> None:
    values = f'values = {{account="A",sender="B"}}\nsecrets = {{auth_token_file="{secret}"}}'
    text = section("twilio", values)
    settings = load(tmp_path, {SMS: text})
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in str(settings.channel("sms").providers[0].model_dump_json())


README = (ROOT / "config/providers/README.md").read_text(encoding="utf-8")


def test_the_example_of_the_manual_works(tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", README, flags=re.S)
    profile, channel = (block for block in blocks)
    write(tmp_path, {})
    (tmp_path / "providers").mkdir()
    (tmp_path / "token").write_text("t0ken")
    text = channel.replace("/etc/notify/acme-token", str(tmp_path / "token"))
    load(tmp_path, {"providers/acme.toml": profile, SMS: text})
    tomllib.loads(profile)


ANSWERS = [models.Answers, models.Code, models.Meaning]
MODELS = [models.Profile, models.Token, models.Request, models.Text, *ANSWERS]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_manual_has_every_key(model: type[BaseModel]) -> None:
    for name, item in model.model_fields.items():
        if (model, name) != (models.Profile, "name"):
            assert f"`{item.alias or name}`" in README, f"{model.__name__}.{name}"


def test_the_manual_has_every_placeholder_and_every_signer() -> None:
    for name in {*models.PLACEHOLDERS, models.TOKEN}:
        assert f"`{{{name}}}`" in README
    for action in models.Action.__args__:  # type: ignore[attr-defined]
        assert f'"{action}"' in README
    for signer in models.Signer.__args__:  # type: ignore[attr-defined]
        assert f"`{signer}`" in README


def test_the_manual_names_every_profile() -> None:
    for path in (ROOT / "notify/profiles").glob("*.toml"):
        assert f"`{path.stem}`" in README
