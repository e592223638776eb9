"""The configuration of a drill, written out: every provider in it is the sandbox.

Generated as a whole, and not made from the configuration in use: a drill must never reach a
real gateway. The policies for an unknown outcome are the shipped ones.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_CONCURRENCY: Final = 8
# Longer than any outage of a drill.
_GIVE_UP: Final = "30m"

_MAIN: Final[Mapping[str, Any]] = {
    "broker": {"rungs": [1, 2, 4, 8, 15], "connect_timeout": "3s", "confirm_timeout": "5s"},
    "redis": {"timeout": "2s"},
    "archive": {"batch_size": 100, "batch_wait": "0.1s"},
    "log": {"level": "INFO", "format": "json"},
    # What is scheduled is stored in Redis only, and many at once.
    "schedules": {"truth": "redis"},
}
# Short, so that what a killed worker had in its hands is settled soon.
_SEND: Final[Mapping[str, Any]] = {"deadline": "3s", "lease": "8s", "retention": "1h"}
_RETRY: Final[Mapping[str, Any]] = {
    "first": "1s",
    "factor": 2,
    "cap": "15s",
    "jitter": 0.2,
    "give_up_after": {"urgent": _GIVE_UP, "normal": _GIVE_UP},
}
_QUEUES: Final[Mapping[str, Any]] = {
    "urgent": {"concurrency": _CONCURRENCY},
    "normal": {"concurrency": _CONCURRENCY},
}
UNKNOWN: Final[Mapping[str, str]] = {"sms": "archive", "email": "resend", "webhook": "resend"}
# Quick, so that a short outage has a breaker open, half open and closed again.
_BREAKER: Final[Mapping[str, Any]] = {
    "minimum": 10,
    "window": "10s",
    "open_for": "1s",
    "longest": "4s",
}
_PROVIDERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "sms": {"name": "sandbox-sms", "type": "http-sms", "url": "${NOTIFY_SANDBOX_HTTP}/sms"},
    "email": {
        "name": "sandbox-mail",
        "type": "smtp",
        "host": "127.0.0.1",
        "port": "${NOTIFY_SANDBOX_SMTP_PORT}",
        "security": "none",
        "sender": "drill@example.com",
    },
    # With a breaker, other than as shipped: in a drill every webhook goes to the same server.
    "webhook": {
        "name": "sandbox-hook",
        "type": "webhook",
        "allow": "${NOTIFY_WEBHOOK_ALLOW:-}",
    },
}
# Each the same as the first of its channel, at gateways of its own.
_SPARES: Final[Mapping[str, Mapping[str, Any]]] = {
    "sms": {"name": "spare-sms", "url": "${NOTIFY_SPARE_HTTP}/sms"},
    "email": {"name": "spare-mail", "port": "${NOTIFY_SPARE_SMTP_PORT}"},
}


def write_config(directory: Path, *, spare: bool = False) -> None:
    """Writes ``notify.toml`` and one file for each channel.

    With ``spare``, texts and mails have a second provider.
    """
    channels = directory / "channels"
    channels.mkdir(parents=True, exist_ok=True)
    (directory / "notify.toml").write_text(to_toml(_MAIN), encoding="utf-8")
    for name in _PROVIDERS:
        values = {
            "queues": _QUEUES,
            "retry": _RETRY,
            "send": {**_SEND, "unknown": UNKNOWN[name]},
            "providers": _providers(name, spare),
        }
        (channels / f"{name}.toml").write_text(to_toml(values), encoding="utf-8")


def _providers(channel: str, spare: bool) -> list[Mapping[str, Any]]:
    first = {**_PROVIDERS[channel], "breaker": _BREAKER}
    if not spare or channel not in _SPARES:
        return [first]
    return [first, {**first, **_SPARES[channel]}]


def to_toml(values: Mapping[str, Any]) -> str:
    """One line for each key; whatever is below it is written inline."""
    return "".join(f"{_key(key)} = {_inline(value)}\n" for key, value in values.items())


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    # JSON's texts, numbers and booleans are TOML's, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
