"""Every shipped profile against its contract: the request, a success, and each listed code."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from notify.channels.readings import Said, listen, lookup
from notify.channels.verdicts import Answer
from notify.config.profiles import Action, Code
from notify.config.shipped import shipped, shipped_names
from notify.outcomes import DeliveryFailure, TemporaryFailure
from notify.sandbox import Answer as Scripted
from notify.sandbox import Sandbox

from .contracts import (
    NAMES,
    case_id,
    cases,
    contract,
    issuing,
    localised,
    provider_of,
    serving,
    token_of,
)
from .peers import Peer
from .values import failure


def test_every_shipped_profile_has_a_contract() -> None:
    assert set(NAMES) == shipped_names()
    wanted = {
        "twilio",
        "generic-http",
        "wecom",
        "wecom-app",
        "dingtalk",
        "feishu",
        "slack",
        "plain",
        "push",
    }
    assert wanted | {"standard-webhooks", "ntfy", "gotify"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_request_is_this_one_byte_for_byte(name: str) -> None:
    provider, notification = provider_of(name)
    call = provider.call(notification, *token_of(name))
    expected = contract(name)["request"]
    assert (call.method, call.url) == (expected["method"], expected["url"])
    assert (call.body or b"").decode() == expected["body"]
    assert call.headers == expected["headers"]


@pytest.mark.parametrize("name", NAMES)
def test_the_request_goes_out_like_that(name: str) -> None:
    seen: list[bytes] = []

    def answer(request: bytes) -> bytes:
        seen.append(request)
        return b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

    expected = contract(name)["request"]
    with Peer(issuing(contract(name).get("token", {"request": "none"}), answer)) as peer:
        local = localised(name, peer.url)
        assert type(failure(local.provider, local.notification)) is TemporaryFailure
    head, _, body = seen[0].partition(b"\r\n\r\n")
    place = re.sub(r"^https://[^/]+", "", expected["url"])
    assert head.startswith(f"{expected['method']} {place} HTTP/1.1\r\n".encode())
    for header, value in expected["headers"].items():
        assert f"\r\n{header}: {value}".encode() in head
    assert body.decode() == expected["body"]


@pytest.mark.parametrize(("name", "case"), cases("successes"), ids=case_id)
def test_a_success(name: str, case: dict[str, Any]) -> None:
    with serving(name, case) as peer:
        local = localised(name, peer.url)
        receipt = local.provider.send(local.notification, deadline=2)
    assert (receipt.provider, receipt.code) == (f"our-{name}", str(case["status"]))
    assert receipt.provider_id == case.get("id", "")


@pytest.mark.parametrize(("name", "case"), cases("failures"), ids=case_id)
def test_each_code_means_what_the_contract_says(name: str, case: dict[str, Any]) -> None:
    with serving(name, case) as peer:
        local = localised(name, peer.url)
        error = failure(local.provider, local.notification)
    assert f"{error.kind} {error.reason}" == case["expect"]
    assert error.code == case["code"]
    assert (error.slow_down, error.suppress) == (
        case.get("slow_down", False),
        case.get("suppress", False),
    )
    assert error.retry_after == case.get("retry_after")
    assert error.detail.startswith(case.get("detail", ""))
    _keeps_nothing_private(error, name)


def _keeps_nothing_private(error: DeliveryFailure, name: str) -> None:
    """The provider's words are in the excerpt only, and there without ours."""
    fixture = contract(name)
    recipient = fixture["notification"]["recipient"]
    for secret in [recipient, *token_of(name), *fixture.get("secrets", {}).values()]:
        assert secret not in f"{error} {error.code} {error.detail} {error.answer}"


@pytest.mark.parametrize("name", NAMES)
def test_every_listed_code_is_in_the_contract_and_the_other_way_round(name: str) -> None:
    answers = shipped(name).answers
    found: list[Code | None] = []
    for case in contract(name)["failures"]:
        answer = Answer(status=case["status"], body=case["body"].encode(), whole=True)
        listed = lookup(answers, case["status"], listen(answers, answer))
        assert (listed is None) == case.get("unlisted", False), case
        found.append(listed)
    assert [code for code in answers.codes if code not in found] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_code_hides_another(name: str) -> None:
    answers = shipped(name).answers
    for code in answers.codes:
        if code.code is not None and not code.contains:
            assert lookup(answers, code.status or 200, Said(code=code.code)) is code
    assert len(set(map(_condition, answers.codes))) == len(answers.codes)


def _condition(code: Code) -> tuple[object, ...]:
    return code.code, code.status, code.contains


def test_what_a_code_can_ask_for_is_what_somebody_does() -> None:
    used = {code.action for name in NAMES for code in shipped(name).answers.codes}
    assert used - {None} == set(Action.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "body"), [
    ("dingtalk", '{"errcode": 310000, "errmsg": "sign not match"}'),
    ("feishu", '{"code": 19021, "msg": "sign match fail or timestamp is not within one hour"}'),
])  # fmt: skip
@pytest.mark.parametrize(
    ("ahead", "detail"),
    [
        (0, "the signing secret is wrong"),
        (-50, "the signing secret is wrong"),
        (-4000, "the clock differs by 4000 s"),
        (4000, "the clock differs by 4000 s"),
    ],
)
def test_a_wrong_clock_is_told_from_a_wrong_secret(
    sandbox: Sandbox, name: str, body: str, ahead: int, detail: str
) -> None:
    now = datetime.now(UTC)
    theirs = format_datetime(now - timedelta(seconds=ahead), usegmt=True)
    local = localised(name, sandbox.http_url)
    path = "/hook/robot"
    sandbox.script(path, Scripted(body=body, headers={"Date": theirs}))
    notification = local.notification.evolve(recipient=f"{sandbox.http_url}{path}")
    error = failure(local.provider, notification)
    assert f"{error.kind} {error.reason}" == "temporary provider_denied"
    said = re.sub(r"\d+", lambda found: str(round(int(found[0]), -1)), error.detail)
    assert said == detail
