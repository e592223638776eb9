"""Signatures by name, for what a profile cannot say as data. Pure.

A signer gets a whole request with the exact bytes of its body, and returns it signed. Without
its secret a request stays as it is: a robot may be protected in another way.
"""

import hmac
import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from notify.channels import standard
from notify.channels.templates import add_query, encode_json
from notify.outcomes import PermanentFailure, Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A request before it is signed; ``id`` is that of the notification."""

    id: str
    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


# A request, the secrets of the configuration by name, and the seconds since 1970.
Signer = Callable[[Draft, Mapping[str, str], float], Draft]


def dingtalk(draft: Draft, secrets: Mapping[str, str], now: float) -> Draft:
    """``timestamp`` in milliseconds and ``sign`` in the query: the secret is the key."""
    if not secrets.get("secret"):
        return draft
    secret, stamp = secrets["secret"], str(int(now * 1000))
    sign = _signature(secret, f"{stamp}\n{secret}")
    return replace(draft, url=add_query(draft.url, {"timestamp": stamp, "sign": sign}))


def feishu(draft: Draft, secrets: Mapping[str, str], now: float) -> Draft:
    """``timestamp`` in seconds and ``sign`` in the body: time and secret are the key.

    Nothing at all is signed with it.
    """
    if not secrets.get("secret"):
        return draft
    try:
        content = json.loads(draft.body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise PermanentFailure(Reason.INVALID, "data: must be an object to be signed")
    stamp = str(int(now))
    sign = _signature(f"{stamp}\n{secrets['secret']}", "")
    return replace(draft, body=encode_json({"timestamp": stamp, "sign": sign, **content}))


def standard_webhooks(draft: Draft, secrets: Mapping[str, str], now: float) -> Draft:
    """The headers of Standard Webhooks, with a signature for each secret."""
    signed = standard.headers(draft.id, int(now), draft.body, list(secrets.values()))
    return replace(draft, headers={**draft.headers, **signed})


SIGNERS: Final[Mapping[str, Signer]] = {
    "dingtalk": dingtalk,
    "feishu": feishu,
    "standard-webhooks": standard_webhooks,
}


def _signature(key: str, content: str) -> str:
    return b64encode(hmac.digest(key.encode(), content.encode(), "sha256")).decode()
