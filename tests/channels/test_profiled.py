"""What the engine does around the data of a profile."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from notify.channels import build_provider
from notify.channels.profiled import Profiled
from notify.channels.trials import rehearse
from notify.config import profiles
from notify.config.described import ProfileProvider
from notify.config.profiles import Profile
from notify.errors import ConfigError
from notify.notification import Notification
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure, UnknownOutcome
from notify.sandbox import Answer, Sandbox

from .contracts import described, localised, provider_of
from .values import LOOPBACK, PHONE, SECRET_TEXT, failure, hook, kind, sms


def profile(**changes: Any) -> Profile:
    values: dict[str, Any] = {
        "name": "ours",
        "title": "Ours",
        "source": "https://example.com/docs",
        "channels": ["sms", "webhook"],
        "request": {"url": "https://example.com/", "json": {"text": "{text}"}},
    }
    return Profile.model_validate(values | changes)


def provider(ours: Profile, **changes: Any) -> Profiled:
    values: dict[str, Any] = {"type": "profile", "name": "ours", "profile": ours}
    return Profiled(ProfileProvider(**values | changes), clock=lambda: 1.7e9)


def sent(ours: Profile, notification: Notification, **changes: Any) -> Any:
    return json.loads(provider(ours, **changes).call(notification).body or b"null")


def refusal(ours: Profile, notification: Notification, **changes: Any) -> PermanentFailure:
    with pytest.raises(PermanentFailure) as caught:
        provider(ours, **changes).call(notification)
    return caught.value


@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        ({"max_bytes": 9}, "the text has 10 bytes; ours takes 9"),
        ({"max_characters": 4}, "the text has 5 characters; ours takes 4"),
        ({"max_request_bytes": 20}, "the request has 21 bytes; ours takes 20"),
    ],
)
def test_what_is_too_long_is_refused_before_it_is_sent(limits: dict[str, int], detail: str) -> None:
    error = refusal(profile(text=limits), sms(body="ääööü"))
    assert kind(error) == (PermanentFailure, Reason.INVALID)
    assert error.detail == detail
    grown = {name: value + 1 for name, value in limits.items()}
    assert sent(profile(text=grown), sms(body="ääööü")) == {"text": "ääööü"}


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"max_bytes": 9}, "ääö…"),
        ({"max_bytes": 8}, "ää…"),
        ({"max_bytes": 3}, "…"),
        ({"max_characters": 4}, "ääö…"),
        ({"max_characters": 4, "max_bytes": 6}, "ä…"),
        ({"max_bytes": 10}, "ääööü"),
    ],
)
def test_or_cut_between_characters(limits: dict[str, int], text: str) -> None:
    ours = profile(text={**limits, "truncate": True})
    assert sent(ours, sms(body="ääööü")) == {"text": text}


def test_subject_and_body_are_one_text() -> None:
    url = "https://example.com/"
    for content, text in (
        ({"subject": "S", "body": "B"}, "S\nB"),
        ({"subject": "S"}, "S"),
        ({"body": "B"}, "B"),
        ({"data": {"ä": 1}}, '{"ä":1}'),
        ({"data": "plain"}, "plain"),
        ({"body": "B", "data": 1}, "B"),
    ):
        assert sent(profile(), hook(url, **{"data": None} | content)) == {"text": text}


@pytest.mark.parametrize("name", ["dingtalk", "wecom", "feishu", "slack", "plain"])
def test_data_is_posted_as_it_is(name: str) -> None:
    robot, notification = provider_of(name)
    data = {"msgtype": "markdown", "markdown": {"title": "T", "text": "# <&>"}}
    body = json.loads(robot.call(notification.evolve(data=data)).body or b"")
    assert data.items() <= body.items()
    assert body.keys() - data.keys() == ({"timestamp", "sign"} if name == "feishu" else set())


def test_data_that_feishu_cannot_have_signed() -> None:
    robot, notification = provider_of("feishu")
    with pytest.raises(PermanentFailure, match="invalid: data: must be an object"):
        robot.call(notification.evolve(data=[1]))


@pytest.mark.parametrize("name", ["dingtalk", "feishu"])
def test_a_robot_without_a_signing_secret(name: str) -> None:
    robot, notification = provider_of(name, secrets={})
    call = robot.call(notification)
    assert "sign=" not in call.url
    assert "sign" not in json.loads(call.body or b"")


def test_nobody_else_gets_a_signature_or_a_token() -> None:
    for name in ("dingtalk", "feishu", "gotify", "ntfy", "wecom", "slack"):
        robot, notification = provider_of(name)
        elsewhere = notification.evolve(recipient="https://attacker.example/robot/send?a=b")
        error = failure(robot, elsewhere)
        assert kind(error) == (PermanentFailure, Reason.ADDRESS_FORBIDDEN)


def test_the_recipients_url_is_guarded_and_the_configurations_is_not(sandbox: Sandbox) -> None:
    local = localised("wecom", sandbox.http_url)
    match, url = [{"host": "127.0.0.1"}], f"{sandbox.http_url}/hook/1"
    closed = described("wecom", match=match)
    error = failure(Profiled(closed), hook(url))
    assert kind(error) == (PermanentFailure, Reason.ADDRESS_FORBIDDEN)
    sandbox.script("/hook/1", Answer(body='{"errcode": 0}'))
    assert local.provider.send(hook(url), deadline=2).code == "200"
    texts = {"url": f"{sandbox.http_url}/sms"}
    gateway = described("generic-http", values=texts)
    assert Profiled(gateway).send(sms(), deadline=2).provider_id == "sms-000001"


def test_a_robot_by_another_name(sandbox: Sandbox) -> None:
    """Whoever publishes knows no token: the URL that has it is in a file of the configuration."""
    settings = described(
        "wecom",
        match=[{"host": "robots.example", "path": "/ops"}],
        url_file=SecretStr(f"{sandbox.http_url}/hook/robot-271828"),
    )
    sandbox.script(
        "/hook/robot-271828", Answer(body='{"errcode": 93000, "errmsg": "robot-271828"}')
    )
    error = failure(Profiled(settings), hook("https://robots.example/ops"))
    assert (error.reason, error.code) == (Reason.ENDPOINT_GONE, "93000")
    assert "271828" not in error.answer
    assert "271828" not in repr(settings)


def test_secrets_do_not_come_back_in_any_form(sandbox: Sandbox) -> None:
    local = localised("twilio", sandbox.http_url)
    basic = "QUMwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMTp0b2tlbi0yNzE4Mjg="
    assert basic in dict(local.provider.call(local.notification).headers)["Authorization"]
    excerpt = failure(local.provider, local.notification).answer
    assert "token-271828" not in repr(local.provider.__dict__["_settings"])
    assert (
        excerpt
        == '{"error": "no /2010-04-01/Accounts/AC00000000000000000000000000000001/Messages.json"}'
    )


def test_the_parts_of_a_secret_url_are_secret(sandbox: Sandbox) -> None:
    ours = profile(
        request={"url": "{secret.url}", "json": {"text": "{text}"}},
        secrets={"url": {"about": "Where"}},
    )
    secret = f"{sandbox.http_url}/hook/1?key=k3y-value"
    sandbox.script("/hook/1", Answer(status=400, body="no /hook/1?key=k3y-value, no k3y-value"))
    own = provider(ours, secrets={"url_file": SecretStr(secret)})
    assert failure(own, sms()).answer == "no ***, no ***"
    assert "k3y" not in rehearse(own, sms()).request


@pytest.mark.parametrize("token", ["two\n", "li\nnes", " space"])
@pytest.mark.parametrize(
    ("name", "header"), [("gotify", "X-Gotify-Key"), ("push", "Authorization")]
)
def test_a_secret_that_no_header_can_carry(name: str, header: str, token: str) -> None:
    settings = described(
        name, secrets={"token_file": SecretStr(token)}, match=[{"host": "push.example"}]
    )
    with pytest.raises(
        ConfigError, match=f"^provider ours: header {header}: cannot carry"
    ) as error:
        Profiled(settings)
    assert token not in str(error.value)


@pytest.mark.parametrize(
    ("status", "body", "suppress"),
    [
        (410, "", True),
        (410, '{"code": 12}', True),
        (400, '{"code": 410}', False),
        (200, '{"code": 410}', False),
    ],
)
def test_only_the_status_says_that_a_recipient_wants_nothing_more(
    sandbox: Sandbox, status: int, body: str, suppress: bool
) -> None:
    ours = profile(request={"url": "{recipient}"}, answers={"code": "code"})
    url = f"{sandbox.http_url}/hook/1"
    configured: dict[str, Any] = {"url_file": SecretStr(url), "match": [{"host": "127.0.0.1"}]}
    for changes, expected in (({}, suppress), (configured, False)):
        sandbox.script("/hook/1", Answer(status=status, body=body))
        error = failure(provider(ours, allow=LOOPBACK, **changes), hook(url))
        assert type(error) is PermanentFailure
        assert error.suppress is expected


def test_a_listed_code_keeps_when_its_limit_ends(sandbox: Sandbox) -> None:
    local = localised("feishu", sandbox.http_url)
    body = '{"code": 99991400, "msg": "request trigger frequency limit"}'
    reset = {"x-ogw-ratelimit-reset": "52"}
    sandbox.script("/hook/1", Answer(status=400, body=body, headers=reset))
    notification = local.notification.evolve(recipient=f"{sandbox.http_url}/hook/1")
    assert failure(local.provider, notification).retry_after == 52.0


def test_an_unlisted_code_that_is_somebodys_is_not_kept(sandbox: Sandbox) -> None:
    local = localised("wecom", sandbox.http_url)
    notification = hook(f"{sandbox.http_url}/hook/1", data=None, body=SECRET_TEXT)
    for said, code in (("40078", "40078"), ("314159", "200"), ('"x y"', "x y"), ("[1]", "200")):
        sandbox.script("/hook/1", Answer(body=f'{{"errcode": {said}, "errmsg": "no"}}'))
        error = failure(local.provider, notification)
        assert kind(error) == (PermanentFailure, Reason.REFUSED)
        assert error.code == code
        assert error.detail == "HTTP 200 with an error"


@pytest.mark.parametrize("body", ["", "<html>", "{}", '{"errcode": null}', "[]", '{"errcode": 0'])
def test_a_200_that_says_nothing_is_unknown(sandbox: Sandbox, body: str) -> None:
    local = localised("wecom", sandbox.http_url)
    sandbox.script("/hook/1", Answer(body=body))
    error = failure(local.provider, hook(f"{sandbox.http_url}/hook/1"))
    assert kind(error) == (UnknownOutcome, Reason.CONNECTION_LOST)


def test_the_rules_of_the_configuration_come_first(sandbox: Sandbox) -> None:
    rule = {"field": "errcode", "values": [93000], "outcome": "temporary", "slow_down": True}
    settings = described(
        "wecom",
        match=[{"host": "127.0.0.1"}],
        allow=LOOPBACK,
        answers=[rule],
    )
    robot, url = Profiled(settings), f"{sandbox.http_url}/hook/1"
    sandbox.script("/hook/1", Answer(body='{"errcode": 93000}'), Answer(body='{"errcode": -1}'))
    assert kind(failure(robot, hook(url))) == (TemporaryFailure, Reason.PROVIDER_BUSY)
    assert failure(robot, hook(url)).code == "-1"


def test_another_base_and_wrong_ones() -> None:
    ours = profile(
        values={"api": {"about": "x"}}, request={"url": "{value.api}/send", "plain": "{body}"}
    )
    good = provider(ours, values={"api": "https://gateway.example/v2"})
    assert good.call(sms()).url == "https://gateway.example/v2/send"
    for api in ("gateway.example", "ftp://gateway.example", "https://", ""):
        with pytest.raises(ConfigError, match="the URL of its requests must start with"):
            provider(ours, values={"api": api})


def test_one_class_builds_them_all() -> None:
    values = {"url": "https://gateway.example/"}
    settings = described("generic-http", values=values)
    assert build_provider(settings).name == "ours"


def test_get_and_query(sandbox: Sandbox) -> None:
    ours = profile(
        request={
            "method": "GET",
            "url": "https://gateway.example/send?v=1",
            "query": {"to": "{recipient}", "text": "{body}", "ttl": "{validity}"},
        }
    )
    call = provider(ours).call(sms(body="a&b ü"))
    assert (call.method, call.body, dict(call.headers)) == ("GET", b"", {})
    assert call.url == "https://gateway.example/send?v=1&to=%2B491701234567&text=a%26b%20%C3%BC"
    assert call.notification.recipient == PHONE


def test_every_placeholder_that_is_known_is_filled() -> None:
    names = sorted(profiles.PLACEHOLDERS)
    ours = profile(request={"url": "https://e.example/", "json": {n: f"{{{n}}}" for n in names}})
    notification = hook("https://example.com/", subject="S", body="B", data=[1])
    assert sorted(sent(ours, notification)) == [n for n in names if n not in ("html", "validity")]


def test_what_is_shipped_is_packaged() -> None:
    root = Path(profiles.__file__).parents[1]
    assert (root / "profiles" / "twilio.toml").is_file()
