"""What the sandbox does with one request: a value, scripted per recipient."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import NoneType
from typing import Final, Literal, Self, get_args

from notify.errors import InvalidInput

Reset = Literal["", "before", "after"]
Stage = Literal["", "connect", "ehlo", "mail", "rcpt", "data", "dot"]

MAIL_ACCEPTED: Final = "250 2.0.0 OK"

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "status": (int,),
    "body": (str, NoneType),
    "headers": (dict,),
    "delay": (int, float),
    "retry_after": (str, NoneType),
    "reset": (str,),
    "drip": (int, float),
    "smtp_stage": (str,),
    "smtp_reply": (str,),
    "smtp_drop": (bool,),
}
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_REFUSAL: Final = re.compile(r"[45]\d\d [^\r\n]+")
_FINAL: Final = re.compile(r"[245]\d\d [^\r\n]+")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer; the default accepts. Times are seconds."""

    status: int = 200
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    retry_after: str | None = None
    reset: Reset = ""
    drip: float = 0.0
    smtp_stage: Stage = ""
    smtp_reply: str = ""
    smtp_drop: bool = False

    def __post_init__(self) -> None:
        for name, types in _TYPES.items():
            _require(type(getattr(self, name)) in types, name, f"must be {_names(types)}")
        _check_http(self)
        _check_times(self)
        _check_smtp(self)

    @property
    def http_outcome(self) -> str:
        """What the client of an HTTP request sees: a status or ``reset``."""
        return "reset" if self.reset else str(self.status)

    @property
    def smtp_outcome(self) -> str:
        """What the client of a mail sees: a reply, ``reset`` or ``drop``."""
        if self.reset:
            return "reset"
        return "drop" if self.smtp_drop else self.smtp_reply or MAIL_ACCEPTED

    @property
    def stage(self) -> Stage:
        """The SMTP stage a recipient's answer acts at; one that names none acts at the end."""
        return self.smtp_stage or ("rcpt" if self.reset == "before" else "dot")

    def to_json(self) -> dict[str, object]:
        """Return the answer as JSON data; the exact inverse of ``from_json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read an answer from JSON data, refusing what it does not know."""
        if not isinstance(data, dict):
            raise InvalidInput("answer: must be an object")
        known = [each.name for each in fields(cls)]
        for key in data:
            _require(key in known, str(key), f"unknown key; known keys: {', '.join(known)}")
        return cls(**data)


def _require(condition: bool, name: str, problem: str) -> None:
    if not condition:
        raise InvalidInput(f"answer: {name}: {problem}")


def _names(types: tuple[type, ...]) -> str:
    return " or ".join("null" if each is NoneType else each.__name__ for each in types)


def _check_http(answer: Answer) -> None:
    _require(200 <= answer.status <= 599, "status", "must be between 200 and 599")
    for name, value in answer.headers.items():
        _require(bool(_NAME.fullmatch(name)), "headers", f"{name!r} is not a header name")
        _require(_is_value(value), "headers", f"{name} has a value no header can carry")
    _require(_is_value(answer.retry_after or ""), "retry_after", "is no header value")
    _require(answer.reset in get_args(Reset), "reset", "must be '', 'before' or 'after'")


def _is_value(value: object) -> bool:
    return isinstance(value, str) and bool(_VALUE.fullmatch(value))


def _check_times(answer: Answer) -> None:
    for name in ("delay", "drip"):
        _require(0 <= getattr(answer, name) < float("inf"), name, "must be a time from 0 up")


def _check_smtp(answer: Answer) -> None:
    stages = get_args(Stage)
    _require(answer.smtp_stage in stages, "smtp_stage", f"must be one of {', '.join(stages[1:])}")
    acts = bool(answer.smtp_reply or answer.smtp_drop or answer.reset)
    _require(acts or not answer.smtp_stage, "smtp_stage", "needs smtp_reply, smtp_drop or reset")
    asks = bool(answer.smtp_reply or answer.smtp_drop)
    _require(bool(answer.smtp_stage) or not asks, "smtp_stage", "is missing: when to say so?")
    if answer.smtp_reply:
        allowed = _FINAL if answer.smtp_stage == "dot" else _REFUSAL
        expected = "a code (4xx, 5xx; also 2xx at 'dot'), a space and a text on one line"
        _require(bool(allowed.fullmatch(answer.smtp_reply)), "smtp_reply", f"must be {expected}")


ACCEPT: Final = Answer()
