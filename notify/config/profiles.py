"""Provider profiles: a gateway described by data, see ``config/providers/README.md``."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from notify.config.answers import REASONS, Scalar, Status
from notify.config.matches import Match
from notify.config.types import Duration, Strict, Whole
from notify.outcomes import Reason

PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.[a-z][a-z0-9_]*)?)\}")
# What stands for a part of the notification, or for the time.
PLACEHOLDERS = frozenset(
    {"id", "recipient", "subject", "body", "html", "text", "message", "data", "priority"}
    | {"timestamp", "timestamp_ms", "validity"}
)
# What stands for the token, where a profile says how to get one.
TOKEN = "token"
_START = re.compile(r"https?://[^/?#{}]+|\{(?:recipient|value\.[a-z0-9_]+|secret\.[a-z0-9_]+)\}")

Signer = Literal["dingtalk", "feishu", "standard-webhooks"]
Action = Literal["suppress", "slow_down", "check_clock", "refresh_token"]
Named = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
Page = Annotated[str, Field(pattern=r"^https://[^\s]+$")]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Value(Strict):
    """Something public that the configuration of a provider gives, such as a sender."""

    about: str
    default: str | None = None


class Secret(Strict):
    """Something that the configuration gives as a file, such as a token."""

    about: str
    optional: bool = False


class Request(Strict):
    """What is sent. Placeholders stand in every text, and are encoded for their place."""

    method: Literal["GET", "POST", "PUT"] = "POST"
    url: str
    headers: dict[HeaderName, str] = Field(default_factory=dict)
    # User name and password.
    basic: tuple[str, str] | None = None
    bearer: str | None = None
    query: dict[str, str] = Field(default_factory=dict)
    content: Any = Field(default=None, alias="json")
    form: dict[str, str] | None = None
    plain: str | None = None
    # A notification with data has that as its JSON body, as it is.
    data_as_is: bool = False
    # The most that {validity} asks for: the seconds that are left until it expires.
    max_validity: Duration = Field(default=36_000.0, ge=1.0, le=7 * 86400.0)
    signer: Signer | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(body is not None for body in (self.content, self.form, self.plain)) > 1:
            raise ValueError("json, form and plain exclude each other")
        if not _START.match(self.url):
            raise ValueError("url: must start with http(s)://host, {recipient}, or one value")
        return self

    @property
    def to_recipient(self) -> bool:
        """Whether the recipient of the notification is where the request goes."""
        return self.url.startswith("{recipient}")

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every text with placeholders, by its key."""
        named = {
            "url": self.url,
            "headers": self.headers,
            "basic": list(self.basic or ()),
            "bearer": self.bearer,
            "query": self.query,
            "json": self.content,
            "form": self.form,
            "plain": self.plain,
        }
        yield from _texts("request", named)


def _texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value or ())
    if isinstance(value, dict | list):
        for name, item in pairs:
            yield from _texts(f"{key}.{name}", item)


class Token(Strict):
    """Where a token comes from that ``{token}`` stands for, and how that answer is read."""

    method: Literal["GET", "POST", "PUT"] = "POST"
    url: str
    query: dict[str, str] = Field(default_factory=dict)
    content: Any = Field(default=None, alias="json")
    # Paths into the JSON of the answer: the token, and the seconds for which it is good.
    field: str = Field(min_length=1)
    expires_field: str | None = Field(default=None, min_length=1)
    # Where the answer does not say that.
    lifetime: Duration = Field(default=3600.0, ge=1.0)
    code: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    success: tuple[Scalar, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not _START.match(self.url) or self.url.startswith("{recipient}"):
            raise ValueError("url: must start with http(s)://host, or one value")
        return self

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every text with placeholders, by its key."""
        yield from _texts("token", {"url": self.url, "query": self.query, "json": self.content})


class Text(Strict):
    """How long ``{text}`` may be, and what must not stand in it as it is."""

    max_bytes: Whole | None = Field(default=None, ge=1)
    max_characters: Whole | None = Field(default=None, ge=1)
    truncate: bool = False
    # Of the whole body of the request.
    max_request_bytes: Whole | None = Field(default=None, ge=1)
    escapes: dict[Annotated[str, Field(min_length=1, max_length=1)], str] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.truncate and self.escapes:
            raise ValueError("truncate and escapes exclude each other")
        return self


class Meaning(Strict):
    """What an answer means for the delivery."""

    outcome: Literal["sent", "temporary", "permanent", "unknown"]
    reason: Reason | None = None

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        possible = REASONS[self.outcome]
        if self.reason is not None and self.reason not in possible:
            raise ValueError(f"reason: {self.outcome} goes with {', '.join(possible) or 'none'}")
        return self


class Code(Meaning):
    """One code of the provider. All conditions that are set must hold."""

    code: Scalar | None = None
    status: Status | None = None
    # One of these stands in the provider's message, in upper or lower case.
    contains: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    means: str = Field(min_length=1, max_length=200)
    action: Action | None = None
    # How long to wait where the answer's headers do not say it.
    wait: Duration | None = None
    source: Page

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.code is None and self.status is None:
            raise ValueError("needs code or status")
        wanted = "permanent" if self.action == "suppress" else "temporary"
        if self.action is not None and self.outcome != wanted:
            raise ValueError(f"action: {self.action} goes with outcome {wanted} only")
        if self.wait is not None and self.outcome != "temporary":
            raise ValueError("wait: goes with outcome temporary only")
        return self


class Answers(Strict):
    """How an answer is read: where the id and the code are, and what the codes mean.

    With ``success`` a 2xx is one only if its code is among those; without it a 2xx is one
    unless it has a code.
    """

    format: Literal["json", "text"] = "json"
    id: str | None = Field(default=None, min_length=1)
    # Paths into the JSON; the first that is there counts. The code of a text is all of it.
    code: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    message: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    success: tuple[Scalar, ...] | None = Field(default=None, min_length=1)
    # A 2xx with a code that is not listed.
    otherwise: Meaning = Meaning(outcome="permanent")
    codes: tuple[Code, ...] = ()


class Profile(Strict):
    """One kind of provider, from ``notify/profiles`` or ``config/providers``."""

    name: str
    title: str
    source: Page
    channels: tuple[Literal["sms", "email", "webhook"], ...] = Field(min_length=1)
    takes_idempotency_key: bool = False
    # Which recipients are its own, where the channel has several kinds of URLs.
    match: tuple[Match, ...] = ()
    values: dict[Named, Value] = Field(default_factory=dict)
    secrets: dict[Named, Secret] = Field(default_factory=dict)
    # What {priority} stands for.
    priorities: dict[Literal["urgent", "normal"], str | Whole] = Field(default_factory=dict)
    token: Token | None = None
    request: Request
    text: Text = Text()
    answers: Answers = Answers()

    @model_validator(mode="after")
    def _check_placeholders(self) -> Self:
        given = {
            *(f"value.{name}" for name in self.values),
            *(f"secret.{name}" for name in self.secrets),
        }
        if self.token is not None:
            _require_known(self.token.texts(), given)
        own = () if self.token is None else (TOKEN,)
        _require_known(self.request.texts(), {*PLACEHOLDERS, *given, *own})
        return self

    @model_validator(mode="after")
    def _check_token(self) -> Self:
        used = any(f"{{{TOKEN}}}" in text for _, text in self.request.texts())
        if self.token is not None and not used:
            raise ValueError("token: nothing in the request has {token}")
        for number, code in enumerate(self.answers.codes):
            if code.action == "refresh_token" and self.token is None:
                raise ValueError(f"answers.codes.{number}: refresh_token needs token")
        return self

    @model_validator(mode="after")
    def _check_signer(self) -> Self:
        if self.request.signer is not None and "secret" not in self.secrets:
            raise ValueError(f"request.signer: {self.request.signer} needs secrets.secret")
        return self

    @property
    def sends_secrets(self) -> bool:
        """Whether a secret itself leaves with a request, not only a signature."""
        marks = "{secret.", f"{{{TOKEN}}}"
        return any(mark in text for _, text in self.request.texts() for mark in marks)


def _require_known(texts: Iterable[tuple[str, str]], known: Collection[str]) -> None:
    for key, text in texts:
        for name in PLACEHOLDER.findall(text):
            if name not in known:
                raise ValueError(f"{key}: there is no placeholder {{{name}}}")
