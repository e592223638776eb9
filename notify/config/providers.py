"""Providers: accounts at gateways, as the configuration describes them."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from notify.config.answers import AnswerRule
from notify.config.dkim import DkimSettings
from notify.config.limits import BreakerSettings, LimitSettings
from notify.config.matches import Match
from notify.config.types import (
    CertificateFile,
    Duration,
    HttpUrl,
    Mailbox,
    Networks,
    Number,
    ProxyUrl,
    SecretFile,
    SigningSecretFiles,
    Strict,
    Whole,
    is_loopback,
)

ProviderName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
Headers = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")], str]


class AnyProvider(Strict):
    """What all providers have in common."""

    UNITS: ClassVar[tuple[str, ...]] = ("messages", "bytes")

    name: ProviderName
    weight: Number | None = Field(default=None, ge=0.0, le=1000.0)
    limits: LimitSettings = LimitSettings()
    breaker: BreakerSettings = BreakerSettings()
    # Trusted instead of what this machine trusts.
    ca_file: CertificateFile | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _check_unit(self) -> Self:
        if self.limits.unit not in self.UNITS:
            raise ValueError(f"limits.unit: must be one of {', '.join(self.UNITS)} here")
        return self

    @property
    def matches(self) -> Sequence[Match]:
        """Which recipients it is for; all, where there are none."""
        return ()


class HttpProvider(AnyProvider):
    """What is spoken to over HTTP."""

    # May contain a token.
    headers: Headers = Field(default_factory=dict, repr=False)
    token_file: SecretFile | None = None
    # May contain a password.
    proxy: ProxyUrl = Field(default=None, repr=False)
    answers: tuple[AnswerRule, ...] = ()


class HttpSmsProvider(HttpProvider):
    """An SMS gateway with an HTTP interface, described by data."""

    UNITS = ("messages", "segments")

    type: Literal["http-sms"]
    url: HttpUrl
    method: Literal["POST", "PUT"] = "POST"
    body: dict[str, Any] = Field(
        default_factory=lambda: {"to": "{recipient}", "text": "{body}", "id": "{id}"}
    )
    id_field: str = "id"
    # The most that {validity} asks for.
    max_validity: Duration = Field(default=36_000.0, ge=1.0, le=7 * 86400.0)
    takes_idempotency_key: bool = False


class SmtpProvider(AnyProvider):
    """A mail server that takes our messages."""

    type: Literal["smtp"]
    host: str = Field(min_length=1)
    port: Annotated[Whole, Field(ge=1, le=65535)] = 25
    security: Literal["none", "starttls", "tls"] = "starttls"
    username: str | None = None
    password_file: SecretFile | None = None
    sender: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    sender_name: str | None = None
    reply_to: Mailbox | None = None
    unsubscribe_mailto: Mailbox | None = None
    dkim: DkimSettings | None = None

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.username is None) != (self.password_file is None):
            raise ValueError("username and password_file go together")
        if self.username is not None and self.security == "none" and not is_loopback(self.host):
            raise ValueError("username needs security starttls or tls, or a server on this machine")
        return self

    @model_validator(mode="after")
    def _check_trust(self) -> Self:
        if self.ca_file is not None and self.security == "none":
            raise ValueError("ca_file needs security starttls or tls")
        return self


class WebhookProvider(HttpProvider):
    """Posts JSON to the URL that is the recipient.

    Such a URL may come from anybody, so that only public addresses are connected to, and
    those in ``allow``, there on every port.
    """

    type: Literal["webhook"]
    allow: Networks = ()
    ports: tuple[Annotated[Whole, Field(ge=1, le=65535)], ...] = Field(
        default=(80, 443), min_length=1
    )
    schemes: tuple[Literal["https", "http"], ...] = Field(default=("https", "http"), min_length=1)
    # The newest first; two while receivers change from one to the other.
    signing_secret_files: SigningSecretFiles = Field(default=(), max_length=2)
    # Each recipient is a server of its own: one that is down says nothing about the others.
    breaker: BreakerSettings = BreakerSettings(enabled=False)
