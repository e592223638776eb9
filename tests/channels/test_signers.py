"""Golden vectors: what OpenSSL makes of the vendors' formulas, with fixed times and secrets.

printf '%s\\n%s' MS SECRET | openssl dgst -sha256 -hmac SECRET -binary | base64      (DingTalk)
printf '' | openssl dgst -sha256 -mac HMAC -macopt hexkey:HEX -binary | base64       (Feishu,
where HEX is that of the seconds, a line break and the secret)
"""

import json
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit

import pytest

from notify.channels.signers import SIGNERS, Draft, dingtalk, feishu, standard_webhooks
from notify.channels.standard import problem
from notify.config import profiles
from notify.outcomes import PermanentFailure

SECRET = {"secret": "this is secret"}
ROBOT = Draft(id="n-1", method="POST", url="https://robot.example/send?access_token=x", body=b"{}")


def test_the_names_in_profiles_are_those_of_signers() -> None:
    assert set(get_args(profiles.Signer)) == SIGNERS.keys()


@pytest.mark.parametrize(
    ("now", "secret", "stamp", "sign"),
    [
        (
            1577262236.757,
            "this is secret",
            "1577262236757",
            "hmPWwU+7lVdm3ZZz0r9tSfx0L4Q26jWOZr9+Gs6EZQM=",
        ),
        (
            1700000000.25,
            "SEC240d7bb4c0bafc62",
            "1700000000250",
            "xmxBgcDVUOgS99Yg+4NDfXzUfpWES0qn9/pTDbK/3Mg=",
        ),
    ],
)
def test_dingtalk_signs_time_and_secret_with_the_secret(
    now: float, secret: str, stamp: str, sign: str
) -> None:
    signed = dingtalk(ROBOT, {"secret": secret}, now)
    assert parse_qsl(urlsplit(signed.url).query) == [
        ("access_token", "x"),
        ("timestamp", stamp),
        ("sign", sign),
    ]
    assert "+" not in urlsplit(signed.url).query
    assert signed.body == ROBOT.body


@pytest.mark.parametrize(
    ("now", "secret", "sign"),
    [
        (1599360473.9, "this is secret", "/eYKrXQBzTjUZJ3s6NX16VxGbTwmK7AEs8/FnvC1CSw="),
        (1700000000.0, "nIMtb7r3N9pkXyXdtAbx6e", "FqUQTprkgbuS88NMtixNVpPfOK0JXs6cAMJIfEuF5sk="),
    ],
)
def test_feishu_signs_nothing_with_time_and_secret(now: float, secret: str, sign: str) -> None:
    signed = feishu(ROBOT, {"secret": secret}, now)
    assert json.loads(signed.body) == {"timestamp": str(int(now)), "sign": sign}
    assert signed.url == ROBOT.url


def test_neither_signs_like_the_other() -> None:
    """Feishu answers 19021 to DingTalk's algorithm."""
    query = dict(parse_qsl(urlsplit(dingtalk(ROBOT, SECRET, 1.7e9).url).query))
    assert json.loads(feishu(ROBOT, SECRET, 1.7e9).body)["sign"] != query["sign"]


def test_standard_webhooks_signs_with_both_secrets() -> None:
    secrets = {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "previous": "A" * 32}
    signed = standard_webhooks(ROBOT, secrets, 1.7e9)
    for secret in secrets.values():
        assert not problem(
            secret,
            id="n-1",
            timestamp=signed.headers["webhook-timestamp"],
            signature=signed.headers["webhook-signature"],
            body=ROBOT.body,
            now=1.7e9,
        )


@pytest.mark.parametrize("signer", [dingtalk, feishu])
def test_a_robot_without_a_secret_gets_no_signature(signer: Any) -> None:
    assert signer(ROBOT, {}, 1.7e9) is ROBOT


@pytest.mark.parametrize("body", [b"[1]", b'"text"', b"", b"\xff"])
def test_what_is_no_object_cannot_be_signed_for_feishu(body: bytes) -> None:
    draft = Draft(id="n-1", method="POST", url="https://robot.example", body=body)
    with pytest.raises(PermanentFailure, match="must be an object"):
        feishu(draft, SECRET, 1.7e9)


def test_a_draft_prints_no_secret() -> None:
    text = repr(dingtalk(ROBOT, SECRET, 1.7e9))
    assert "access_token" not in text
    assert "sign" not in text
