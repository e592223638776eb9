"""What is wrong with a configuration: every error at once, with file and key, never the value."""

from pathlib import Path

import pytest

from notify.config import load_settings
from notify.errors import ConfigError
from tests.unit.configs import EMAIL, SMS, WEBHOOK, load, problems, write

MAIN, TEXTS, MAILS = "notify.toml", "channels/sms.toml", "channels/email.toml"
HOOKS, HOOK = "channels/webhook.toml", "channels/webhook.toml: providers.0."


def rule(text: str) -> str:
    """A gateway whose answers are read by a rule."""
    return f"{SMS}[[providers.answers]]\n{text}"


def limited(text: str) -> str:
    """A gateway with limits."""
    return f"{SMS}[providers.limits]\n{text}"


LIMITS = "channels/sms.toml: providers.0.limits"
WORDS = "channels/sms.toml: texts"
BREAKER = "channels/sms.toml: providers.0.breaker"

# One broken file for each rule: file, its text, and the start of the one line that says so.
BROKEN = [
    (MAIN, "[broker]\nurl = 'x'", "notify.toml: broker.url: unknown key"),
    (MAIN, "[brokers]", "notify.toml: brokers: unknown key"),
    (MAIN, "x = ", "notify.toml: is not valid TOML: "),
    (MAIN, "[broker]\n[broker]", "notify.toml: is not valid TOML: "),
    (MAIN, "broker = 5", "notify.toml: broker: "),
    (MAIN, "[broker]\nheartbeat = 'often'", "notify.toml: broker.heartbeat: "),
    (MAIN, "[broker]\nheartbeat = 1", "notify.toml: broker.heartbeat: "),
    (MAIN, "[broker]\nheartbeat = 10.5", "notify.toml: broker.heartbeat: "),
    (MAIN, "[archive]\nbatch_size = true", "notify.toml: archive.batch_size: "),
    (MAIN, "[broker]\nconnect_timeout = '3 weeks'", "notify.toml: broker.connect_timeout: must be"),
    (MAIN, "[broker]\nconnect_timeout = 0", "notify.toml: broker.connect_timeout: must be longer"),
    (MAIN, "[broker]\nconnect_timeout = -1", "notify.toml: broker.connect_timeout: must be longer"),
    (MAIN, "[broker]\nconnect_timeout = nan", "notify.toml: broker.connect_timeout: must be"),
    (MAIN, "[broker]\nconnect_timeout = '400d'", "notify.toml: broker.connect_timeout: must be"),
    (MAIN, "[broker]\nconnect_timeout = true", "notify.toml: broker.connect_timeout: must be a"),
    (MAIN, "[broker]\nurls = 'amqp://a'", "notify.toml: broker.urls: "),
    (MAIN, "[broker]\nurls = []", "notify.toml: broker.urls: "),
    (MAIN, "[broker]\nurls = ['http://a']", "notify.toml: broker.urls.0: must be a URL"),
    (MAIN, "[broker]\nurls = ['amqp://']", "notify.toml: broker.urls.0: must be a URL"),
    (MAIN, "[broker]\nurls = ['amqp://a:x']", "notify.toml: broker.urls.0: must be a URL"),
    (MAIN, "[broker]\nmanagement_url = 'a'", "notify.toml: broker.management_url: must be a URL"),
    (MAIN, "[broker]\nmanagement_url = 'http://a,b'", "notify.toml: broker.management_url: must"),
    (MAIN, "[broker]\nrungs = []", "notify.toml: broker.rungs: "),
    (MAIN, "[broker]\nrungs = [5, 5]", "notify.toml: broker.rungs: must be whole seconds in asc"),
    (MAIN, "[broker]\nrungs = [10, 5]", "notify.toml: broker.rungs: must be whole seconds in asc"),
    (MAIN, "[broker]\nrungs = [0, 5]", "notify.toml: broker.rungs.0: "),
    (MAIN, "[broker]\nrungs = [1.5]", "notify.toml: broker.rungs.0: "),
    (MAIN, "[archive]\nurl = 'mysql://a/b'", "notify.toml: archive.url: must be sqlite:///FILE"),
    (
        MAIN,
        "[archive]\nurl = 'postgresql://u:p:1@h:abc/d'",
        "notify.toml: archive.url: must have a number between 1 and 65535 as its port",
    ),
    (MAIN, "[archive]\nurl = ''", "notify.toml: archive.url: must be sqlite:///FILE or postgresql"),
    (MAIN, "[archive]\npassword_file = '/etc/hostname'", "notify.toml: archive: password_file is"),
    (MAIN, "[broker]\npassword_file = '/no/such'", "notify.toml: broker.password_file: cannot"),
    (MAIN, "[broker]\npassword_file = ''", "notify.toml: broker.password_file: must be the path"),
    (MAIN, "[broker]\npassword_file = '/tmp'", "notify.toml: broker.password_file: cannot be read"),
    (MAIN, "[redis]\nurl = 'localhost'", "notify.toml: redis.url: must be a URL"),
    (MAIN, "[redis]\nprefix = 'A b'", "notify.toml: redis.prefix: "),
    (MAIN, "[redis]\nprefix = 5", "notify.toml: redis.prefix: "),
    (MAIN, "[log]\nlevel = 'info'", "notify.toml: log.level: "),
    (MAIN, "[log]\nformat = 'xml'", "notify.toml: log.format: "),
    (MAIN, "[channels.sms]", "notify.toml: channels: belongs in channels/NAME.toml"),
    (MAIN, "[redis]\nprefix = '${NO_SUCH}'", "notify.toml: redis.prefix: environment variable NO_"),
    ("channels/fax.toml", SMS, "channels/fax.toml: unknown channel; known: sms, email, webhook"),
    (TEXTS, "", "channels/sms.toml: providers: is required"),
    (TEXTS, "providers = []", "channels/sms.toml: providers: "),
    (TEXTS, SMS + SMS, "channels/sms.toml: two providers have the same name"),
    (TEXTS, WEBHOOK, "channels/sms.toml: providers.0.type: channel sms takes 'http-sms'"),
    (TEXTS, SMS.replace("http-sms", "fax"), "channels/sms.toml: providers.0: "),
    (TEXTS, SMS.replace("type", "kind"), "channels/sms.toml: providers.0: "),
    (TEXTS, SMS.replace("texts", "Texts!"), "channels/sms.toml: providers.0.name: "),
    (TEXTS, SMS + "colour = 1", "channels/sms.toml: providers.0.colour: unknown key"),
    (TEXTS, SMS + "method = 'GET'", "channels/sms.toml: providers.0.method: "),
    (TEXTS, SMS + "headers = {'a b' = 'x'}", "channels/sms.toml: providers.0.headers."),
    (TEXTS, SMS + "token_file = '/no/such'", "channels/sms.toml: providers.0.token_file: cannot"),
    (TEXTS, "[send]\nunknown = 'resend'" + SMS, "channels/sms.toml: send.unknown: resend"),
    (TEXTS, "[send]\nlease = '14s'" + SMS, "channels/sms.toml: send: lease must be at least 5 s"),
    (TEXTS, "[send]\nretention = '1h'" + SMS, "channels/sms.toml: send.retention must"),
    (TEXTS, limited("rate = 50"), f"{LIMITS}.rate: must be a rate such as"),
    (TEXTS, limited("rate = '0/s'"), f"{LIMITS}.rate: must be between 6/h and 100000/s"),
    (TEXTS, limited("rate = '5/h'"), f"{LIMITS}.rate: must be between"),
    (TEXTS, limited("rate = '200000/s'"), f"{LIMITS}.rate: must be between"),
    (TEXTS, limited("rate = '-1/s'"), f"{LIMITS}.rate: must be a rate such as"),
    (TEXTS, limited("rate = '1/w'"), f"{LIMITS}.rate: must be a rate such as"),
    (TEXTS, limited("rate = '6/h'"), "channels/sms.toml: queues.urgent.concurrency: 8 messages"),
    (TEXTS, limited("unit = 'bytes'"), "channels/sms.toml: providers.0: limits.unit: must be one"),
    (TEXTS, limited("unit = 'letters'"), f"{LIMITS}.unit: "),
    (TEXTS, limited("burst = 5"), f"{LIMITS}: burst needs rate"),
    (TEXTS, limited("rate = '5/s'\nburst = -1"), f"{LIMITS}.burst: "),
    (TEXTS, limited("concurrency = 0"), f"{LIMITS}.concurrency: "),
    (TEXTS, limited("concurrency = 1"), f"{LIMITS}: concurrency: urgent_share leaves nothing"),
    (TEXTS, limited("daily = 0"), f"{LIMITS}.daily: "),
    (TEXTS, limited("daily = 1"), f"{LIMITS}: daily: urgent_share leaves nothing for normal"),
    (TEXTS, limited("daily_zone = 'Mars/Base'"), f"{LIMITS}.daily_zone: is no time zone"),
    (TEXTS, limited("daily_zone = '../x'"), f"{LIMITS}.daily_zone: is no time zone"),
    (TEXTS, limited("urgent_share = 1"), f"{LIMITS}.urgent_share: "),
    (TEXTS, limited("per_second = 1"), f"{LIMITS}.per_second: unknown key"),
    (TEXTS, SMS + "weight = -1", "channels/sms.toml: providers.0.weight: "),
    (TEXTS, SMS + "weight = 0", "channels/sms.toml: providers: every weight is zero"),
    (TEXTS, SMS + "[providers.breaker]\nerror_rate = 0", f"{BREAKER}.error_rate: "),
    (TEXTS, SMS + "[providers.breaker]\nerror_rate = 1.1", f"{BREAKER}.error_rate: "),
    (TEXTS, SMS + "[providers.breaker]\nminimum = 0", f"{BREAKER}.minimum: "),
    (TEXTS, SMS + "[providers.breaker]\nlongest = '1s'", f"{BREAKER}: longest must not be"),
    (TEXTS, "[throttle]\nper_recipient = [{per = 1}]" + SMS, "channels/sms.toml: throttle.per_r"),
    (
        TEXTS,
        "[throttle]\nsame_content = [{messages = 0, per = '1h'}]" + SMS,
        "channels/sms.toml: throttle.same_content.0.messages: ",
    ),
    (TEXTS, "[texts]\ndefault_region = 'de'" + SMS, f"{WORDS}.default_region: must be a country"),
    (TEXTS, "[texts]\ndefault_region = 'UK'" + SMS, f"{WORDS}.default_region: must be a country"),
    (TEXTS, "[texts]\ndefault_region = ''" + SMS, f"{WORDS}.default_region: must be a country"),
    (TEXTS, "[texts]\nmax_segments = 0" + SMS, f"{WORDS}.max_segments: "),
    (TEXTS, "[texts]\nmax_segments = 256" + SMS, f"{WORDS}.max_segments: "),
    (TEXTS, "[texts]\nmax_segments = true" + SMS, f"{WORDS}.max_segments: must be a number"),
    (TEXTS, "[texts]\ntransliterate = 'some'" + SMS, f"{WORDS}.transliterate: "),
    (TEXTS, "[texts]\nvalidity = '1h'" + SMS, f"{WORDS}.validity: unknown key"),
    (TEXTS, SMS + "max_validity = '0.5s'", "channels/sms.toml: providers.0.max_validity: "),
    (TEXTS, SMS + "max_validity = '8d'", "channels/sms.toml: providers.0.max_validity: "),
    (MAILS, "[texts]\nmax_segments = 6" + EMAIL, "channels/email.toml: texts: unknown key"),
    (HOOKS, "[texts]" + WEBHOOK, "channels/webhook.toml: texts: unknown key"),
    (MAIN, "[redis]\nreplicas = -1", "notify.toml: redis.replicas: "),
    (MAIN, "[metrics]\nfirst_port = 70000", "notify.toml: metrics.first_port: "),
    (MAIN, "[metrics]\nlook_every = '5m'", "notify.toml: metrics.look_every: "),
    (MAIN, "[metrics]\nheartbeat_every = '10m'", "notify.toml: metrics.heartbeat_every: "),
    (MAIN, "[care]\nevery = '0.9s'", "notify.toml: care.every: input should be greater than or eq"),
    (MAIN, "[care]\nevery = 0.001", "notify.toml: care.every: "),
    (TEXTS, "[send]\nunknown = 'guess'" + SMS, "channels/sms.toml: send.unknown: "),
    (TEXTS, "[send]\nmax_bytes = 1" + SMS, "channels/sms.toml: send.max_bytes: "),
    (TEXTS, "[retry]\ncap = '1s'" + SMS, "channels/sms.toml: retry: cap must not be shorter than"),
    (TEXTS, "[retry]\npreset = 'slow'" + SMS, "channels/sms.toml: retry.preset: "),
    (TEXTS, "[retry]\nfactor = 0.5" + SMS, "channels/sms.toml: retry.factor: "),
    (TEXTS, "[retry]\njitter = nan" + SMS, "channels/sms.toml: retry.jitter: "),
    (TEXTS, "[retry]\nmax_retries = -1" + SMS, "channels/sms.toml: retry.max_retries: "),
    (TEXTS, "[retry.give_up_after]\nhigh = 1" + SMS, "channels/sms.toml: retry.give_up_after.high"),
    (TEXTS, "[queues.high]" + SMS, "channels/sms.toml: queues.high: unknown key"),
    (TEXTS, "[queues.urgent]\nconcurrency = 0" + SMS, "channels/sms.toml: queues.urgent.conc"),
    (TEXTS, "[send]\nmax_bytes = 15728641" + SMS, "channels/sms.toml: send.max_bytes: "),
    (TEXTS, "[queues.urgent]\nnice = -1" + SMS, "channels/sms.toml: queues.urgent.nice"),
    (TEXTS, "[queues.normal]\nnice = 20" + SMS, "channels/sms.toml: queues.normal.nice"),
    (MAILS, EMAIL.replace("sender", "# "), "channels/email.toml: providers.0.sender: is required"),
    (MAILS, EMAIL + "port = 70000", "channels/email.toml: providers.0.port: "),
    (MAILS, EMAIL + "port = 'x'", "channels/email.toml: providers.0.port: "),
    (MAILS, EMAIL + "username = 'u'", "channels/email.toml: providers.0: username and"),
    (MAILS, EMAIL + "ca_file = '/no/such'", "channels/email.toml: providers.0.ca_file: cannot be"),
    (MAILS, EMAIL + "proxy = 'http://a'", "channels/email.toml: providers.0.proxy: unknown key"),
    (TEXTS, SMS + "ca_file = '/etc/passwd'", "channels/sms.toml: providers.0.ca_file: is not a c"),
    (TEXTS, SMS + "ca_file = ''", "channels/sms.toml: providers.0.ca_file: must be the path of a"),
    (TEXTS, SMS + "proxy = 'https://a'", "channels/sms.toml: providers.0.proxy: must be a URL"),
    (TEXTS, SMS + "proxy = 'a:80'", "channels/sms.toml: providers.0.proxy: must be a URL"),
    (TEXTS, SMS + "allow = ''", "channels/sms.toml: providers.0.allow: unknown key"),
    (TEXTS, rule("field = 'a'"), "channels/sms.toml: providers.0.answers.0.outcome: is required"),
    (TEXTS, rule("outcome = 'sent'"), "channels/sms.toml: providers.0.answers.0: needs status or"),
    (TEXTS, rule("status = [200]\noutcome = 'lost'"), "channels/sms.toml: providers.0.answers.0.o"),
    (TEXTS, rule("status = [99]\noutcome = 'sent'"), "channels/sms.toml: providers.0.answers.0.st"),
    (TEXTS, rule("status = 200\noutcome = 'sent'"), "channels/sms.toml: providers.0.answers.0.st"),
    (TEXTS, rule("status = []\noutcome = 'sent'"), "channels/sms.toml: providers.0.answers.0.st"),
    (TEXTS, rule("field = ''\noutcome = 'sent'"), "channels/sms.toml: providers.0.answers.0.field"),
    (TEXTS, rule("field = 'a'\nvalues = []\noutcome = 'sent'"),
     "channels/sms.toml: providers.0.answers.0.values: must not be empty"),
    (TEXTS, rule("field = 'a'\nvalues = [{}]\noutcome = 'sent'"),
     "channels/sms.toml: providers.0.answers.0.values.0: must be a text, a number, true or false"),
    (TEXTS, rule("field = 'a'\nvalues = [nan]\noutcome = 'sent'"),
     "channels/sms.toml: providers.0.answers.0.values.0: must be a text, a number, true or false"),
    (TEXTS, rule("status = [200]\nvalues = [0]\noutcome = 'sent'"),
     "channels/sms.toml: providers.0.answers.0: values and not_values need field"),
    (TEXTS, rule("field = 'a'\nvalues = [0]\nnot_values = [1]\noutcome = 'sent'"),
     "channels/sms.toml: providers.0.answers.0: values and not_values exclude each other"),
    (TEXTS, rule("field = 'a'\noutcome = 'sent'\nreason = 'refused'"),
     "channels/sms.toml: providers.0.answers.0: reason: sent goes with none"),
    (TEXTS, rule("field = 'a'\noutcome = 'temporary'\nreason = 'refused'"),
     "channels/sms.toml: providers.0.answers.0: reason: temporary goes with provider_error, "),
    (TEXTS, rule("field = 'a'\noutcome = 'permanent'\nslow_down = true"),
     "channels/sms.toml: providers.0.answers.0: slow_down goes with outcome temporary only"),
    (TEXTS, rule("field = 'a'\noutcome = 'unknown'\nreason = 'bad luck'"),
     "channels/sms.toml: providers.0.answers.0.reason: "),
    (HOOKS, WEBHOOK + "allow = ['10.0.0.1/8']", HOOK + "allow.0: must be a network such as"),
    (HOOKS, WEBHOOK + "allow = '127.0.0.0/8, intranet'", HOOK + "allow.1: must be a network"),
    (HOOKS, WEBHOOK + "allow = ['::/0']", HOOK + "allow.0: must not be every address"),
    (HOOKS, WEBHOOK + "allow = [10]", HOOK + "allow.0: must be a network"),
    (HOOKS, WEBHOOK + "allow = 10", HOOK + "allow: "),
    (HOOKS, WEBHOOK + "ports = []", HOOK + "ports: must not be empty"),
    (HOOKS, WEBHOOK + "ports = [65536]", HOOK + "ports.0: "),
    (HOOKS, WEBHOOK + "schemes = ['ftp']", HOOK + "schemes.0: "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line"), BROKEN)
def test_each_rule_has_one_line_with_file_and_key(
    tmp_path: Path, name: str, text: str, line: str
) -> None:
    assert problems(tmp_path, {}) == []
    found = problems(tmp_path, {name: text})
    assert len(found) == 1, found
    assert found[0].startswith(line)


def test_all_errors_come_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        {
            MAIN: "[broker]\nheartbeat = 0\ncolour = 1\n[redis]\nprefix = '${NO_SUCH}'",
            TEXTS: "[send]\nunknown = 'guess'\n[retry]\nfactor = 0" + SMS.replace("name", "nome"),
            MAILS: "not TOML",
            "channels/fax.toml": "",
        },
    )
    expected = [
        "notify.toml: broker.heartbeat",
        "notify.toml: broker.colour",
        "notify.toml: redis.prefix: environment variable NO_SUCH is not set",
        "channels/sms.toml: send.unknown",
        "channels/sms.toml: retry.factor",
        "channels/sms.toml: providers.0.name: is required",
        "channels/sms.toml: providers.0.nome: unknown key",
        "channels/email.toml: is not valid TOML",
        "channels/fax.toml: unknown channel",
    ]
    for line in expected:
        assert any(problem.startswith(line) for problem in found), (line, found)


@pytest.mark.parametrize("text", ["", "\n", "  \r\n"])
def test_an_empty_secret_is_refused(tmp_path: Path, text: str) -> None:
    secret = tmp_path / "token"
    secret.write_text(text)
    found = problems(tmp_path, {TEXTS: SMS + f"token_file = '{secret}'"})
    assert found == ["channels/sms.toml: providers.0.token_file: is empty"]


def test_a_secret_that_is_no_text_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_bytes(b"\xff\xfe")
    found = problems(tmp_path, {TEXTS: SMS + f"token_file = '{secret}'"})
    assert found == ["channels/sms.toml: providers.0.token_file: is not UTF-8 text"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (MAIN, "[broker]\nurls = ['amqps//user:hunter2@host']"),
        (MAIN, "[broker]\nmanagement_url = 'user:hunter2@host'"),
        (MAIN, "[redis]\nurl = 'hunter2'\nprefix = 'HUNTER2 hunter2'"),
        (MAIN, "[log]\nlevel = 'hunter2'"),
        (MAIN, "[broker]\nheartbeat = 'hunter2'\nconnect_timeout = 'hunter2'"),
        (MAIN, "[broker]\npassword_file = '/hunter2'"),
        (TEXTS, SMS + "headers = 'hunter2'"),
        (TEXTS, SMS + "proxy = 'https://user:hunter2@proxy'"),
        (TEXTS, SMS + "ca_file = '/hunter2'"),
        (HOOKS, WEBHOOK + "allow = ['hunter2']"),
        (TEXTS, SMS + "headers = {X-Key = ['hunter2']}"),
        (TEXTS, SMS.replace("http://127.0.0.1:8025", "hunter2")),
        (MAIN, "[redis]\nurl = 'hunter2"),
    ],
)
def test_no_value_is_ever_shown(tmp_path: Path, name: str, text: str) -> None:
    found = problems(tmp_path, {name: text})
    assert found
    assert "hunter2" not in "\n".join(found)


def test_an_environment_twin_is_named_as_the_source(tmp_path: Path) -> None:
    found = problems(
        tmp_path, {}, NOTIFY_REDIS_URL="hunter2", NOTIFY_BROKER_URLS="amqp://a,hunter2"
    )
    assert sorted(line.partition(":")[0] for line in found) == [
        "NOTIFY_BROKER_URLS",
        "NOTIFY_REDIS_URL",
    ]
    assert "hunter2" not in "\n".join(found)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such directory"):
        load_settings(tmp_path / "none", {})
    write(tmp_path, {})
    (tmp_path / "channels/sms.toml").unlink()
    with pytest.raises(ConfigError, match="channels: no channel is configured"):
        load_settings(tmp_path, {})
    (tmp_path / MAIN).unlink()
    with pytest.raises(ConfigError, match=r"notify\.toml: cannot be read: No such file"):
        load_settings(tmp_path, {})


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    write(tmp_path, {})
    (tmp_path / MAIN).write_bytes("[redis] # Schlüssel".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"notify\.toml: is not valid TOML"):
        load_settings(tmp_path, {})


def test_a_valid_configuration_has_no_problem(tmp_path: Path) -> None:
    files = {MAILS: EMAIL, "channels/webhook.toml": WEBHOOK}
    assert list(load(tmp_path, files).channels) == ["email", "sms", "webhook"]
