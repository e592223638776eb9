"""Providers that a profile describes, or a class of somebody else."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    model_validator,
)

from notify.config.matches import Match
from notify.config.plugins import load_class
from notify.config.profiles import Profile
from notify.config.providers import (
    AnyProvider,
    HttpProvider,
    HttpSmsProvider,
    SmtpProvider,
    WebhookProvider,
)
from notify.config.shipped import profile_named
from notify.config.types import Networks, SecretFile, Whole, read_signing_secret


class ProfileProvider(HttpProvider):
    """An account at a provider that a profile describes.

    Where the recipient is the URL, the rules for webhooks hold.
    """

    UNITS = ("messages", "segments", "bytes")

    type: Literal["profile"]
    profile: Annotated[Profile, BeforeValidator(profile_named)] = Field(repr=False)
    values: dict[str, str] = Field(default_factory=dict)
    secrets: dict[str, SecretFile] = Field(default_factory=dict)
    # Instead of the profile's own.
    match: tuple[Match, ...] | None = Field(default=None, min_length=1)
    # Where requests go, instead of to the recipient.
    url_file: SecretFile | None = None
    allow: Networks = ()
    ports: tuple[Annotated[Whole, Field(ge=1, le=65535)], ...] = Field(
        default=(80, 443), min_length=1
    )
    schemes: tuple[Literal["https", "http"], ...] = Field(default=("https", "http"), min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _no_breaker_for_many(cls, values: Any, info: ValidationInfo) -> Any:
        """Recipients that are servers of their own say nothing about one another."""
        if not isinstance(values, dict) or "breaker" in values:
            return values
        try:
            profile = profile_named(values.get("profile"), info)
        except ValueError:
            return values
        many = profile.request.to_recipient and not (profile.match or values.get("url_file"))
        return {**values, "breaker": {"enabled": False}} if many else values

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        values = {name: value.default is not None for name, value in self.profile.values.items()}
        secrets = {f"{name}_file": each.optional for name, each in self.profile.secrets.items()}
        _require("values", self.values, values)
        _require("secrets", self.secrets, secrets)
        return self

    @model_validator(mode="after")
    def _check_signing_keys(self) -> Self:
        if self.profile.request.signer == "standard-webhooks":
            for name, secret in self.secrets.items():
                try:
                    read_signing_secret(secret)
                except ValueError as error:
                    raise ValueError(f"secrets.{name}: {error}") from None
        return self

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if self.url_file is not None and not self.profile.request.to_recipient:
            raise ValueError("url_file: this profile says itself where requests go")
        if self.url_file is not None and self.match is None:
            raise ValueError("url_file: needs match, to say which recipients it stands for")
        has_any = bool(self.secrets) or self.profile.token is not None
        shown = has_any and self.profile.sends_secrets
        if self.guarded and shown and not self.matches:
            raise ValueError("match: is required, or a secret would be sent to any recipient")
        return self

    @model_validator(mode="after")
    def _check_unit_of_channel(self) -> Self:
        if self.limits.unit == "segments" and "sms" not in self.profile.channels:
            raise ValueError("limits.unit: segments are for sms only")
        return self

    @property
    def matches(self) -> Sequence[Match]:
        return self.profile.match if self.match is None else self.match

    @property
    def takes_idempotency_key(self) -> bool:
        return self.profile.takes_idempotency_key

    @property
    def guarded(self) -> bool:
        """Whether the URL comes from whoever publishes, so that it must be checked."""
        return self.profile.request.to_recipient and self.url_file is None

    @property
    def given(self) -> dict[str, str]:
        """What the placeholders of values and secrets stand for. Not to be shown."""
        defaults = {n: v.default for n, v in self.profile.values.items() if v.default is not None}
        values = {f"value.{name}": text for name, text in {**defaults, **self.values}.items()}
        secrets = {
            f"secret.{name.removesuffix('_file')}": secret.get_secret_value()
            for name, secret in self.secrets.items()
        }
        return {**values, **secrets}


def _require(key: str, given: Mapping[str, Any], known: Mapping[str, bool]) -> None:
    """``known`` says of each name whether it may be missing."""
    for name in sorted(given.keys() - known.keys()):
        names = ", ".join(sorted(known)) or "none"
        raise ValueError(f"{key}.{name}: unknown key; the profile has {names}")
    for name in sorted(known.keys() - given.keys()):
        if not known[name]:
            raise ValueError(f"{key}.{name}: is required by the profile")


def _loadable(name: str) -> str:
    load_class(name)
    return name


class PythonProvider(AnyProvider):
    """A class of somebody else: an entry point of ``notify.providers``, or ``package:Class``."""

    UNITS = ("messages", "segments", "bytes")

    type: Literal["python"]
    class_name: Annotated[str, AfterValidator(_loadable)] = Field(alias="class")
    values: dict[str, Any] = Field(default_factory=dict)
    secrets: dict[Annotated[str, Field(pattern=r"_file$")], SecretFile] = Field(
        default_factory=dict
    )
    takes_idempotency_key: bool = False
    match: tuple[Match, ...] = ()

    @property
    def matches(self) -> Sequence[Match]:
        return self.match

    @property
    def opened(self) -> dict[str, str]:
        """The secrets by name. Not to be shown."""
        found: dict[str, SecretStr] = self.secrets
        return {n.removesuffix("_file"): s.get_secret_value() for n, s in found.items()}


Provider = Annotated[
    HttpSmsProvider | SmtpProvider | WebhookProvider | ProfileProvider | PythonProvider,
    Field(discriminator="type"),
]
PROVIDER_TYPES = {
    "sms": ("http-sms", "profile", "python"),
    "email": ("smtp", "profile", "python"),
    "webhook": ("webhook", "profile", "python"),
}
