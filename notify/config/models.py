"""What can be configured. ``config/*.toml`` documents every key where it is set."""

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from notify.config.archive import ArchiveSettings
from notify.config.attachments import AttachmentSettings
from notify.config.care import CareSettings
from notify.config.described import Provider
from notify.config.endpoints import EndpointSettings
from notify.config.limits import LONGEST_TURN, ThrottleSettings
from notify.config.numbers import MetricsSettings
from notify.config.providers import AnyProvider
from notify.config.schedules import ScheduleSettings
from notify.config.texts import TextSettings
from notify.config.types import (
    AmqpUrl,
    CertificateFile,
    Duration,
    HttpUrls,
    Number,
    RedisUrl,
    SecretFile,
    Strict,
    Whole,
)
from notify.notification import CHANNELS, PRIORITIES
from notify.policy import DEFAULT_RUNGS, RetryPolicy

ChannelName = Literal["sms", "email", "webhook"]
Priority = Literal["urgent", "normal"]


def _ascending(rungs: tuple[int, ...]) -> tuple[int, ...]:
    if any(low >= high for low, high in pairwise(rungs)):
        raise ValueError("must be whole seconds in ascending order")
    return rungs


Rungs = Annotated[
    tuple[Annotated[Whole, Field(ge=1, le=86400)], ...],
    Field(min_length=1, max_length=20),
    AfterValidator(_ascending),
]


class BrokerSettings(Strict):
    """RabbitMQ: where it is, and how long we wait for it."""

    urls: tuple[AmqpUrl, ...] = Field(
        default=("amqp://guest:guest@127.0.0.1:5672/notify",), min_length=1, repr=False
    )
    management_url: HttpUrls = Field(default="http://guest:guest@127.0.0.1:15672", repr=False)
    password_file: SecretFile | None = None
    management_password_file: SecretFile | None = None
    ca_file: CertificateFile | None = Field(default=None, repr=False)
    heartbeat: Whole = Field(default=10, ge=2, le=60)
    connect_timeout: Duration = 3.0
    confirm_timeout: Duration = 10.0
    rungs: Rungs = DEFAULT_RUNGS
    delivery_limit: Whole = Field(default=10, ge=1, le=1000)

    @model_validator(mode="after")
    def _check_password(self) -> Self:
        places = [urlsplit(url) for url in self.urls]
        if self.password_file is None and any(at.username and not at.password for at in places):
            raise ValueError("urls: a user without a password: set password_file")
        return self


class RedisSettings(Strict):
    """Redis: the ledger of what happened to each notification, and the schedules."""

    url: RedisUrl = Field(default="redis://127.0.0.1:6379/0", repr=False)
    password_file: SecretFile | None = None
    prefix: str = Field(default="notify", pattern=r"^[a-z0-9_-]{1,32}$")
    timeout: Duration = 2.0
    replicas: Whole | None = Field(default=None, ge=0, le=5)


class LogSettings(Strict):
    """Logs: one line per event; ``auto`` is JSON unless on a terminal."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    format: Literal["auto", "json", "text"] = "auto"


class QueueSettings(Strict):
    """One worker process of a channel and priority."""

    concurrency: Whole = Field(default=8, ge=1, le=1000)
    nice: Whole = Field(default=0, ge=0, le=19)


class NormalQueueSettings(QueueSettings):
    """What is urgent, and the servers that it needs, come first."""

    nice: Whole = Field(default=10, ge=0, le=19)


class Queues(Strict):
    """Both priorities of a channel."""

    urgent: QueueSettings = QueueSettings()
    normal: NormalQueueSettings = NormalQueueSettings()


class GiveUpAfter(Strict):
    """How long after it was first queued a notification is tried."""

    urgent: Duration = 86400.0
    normal: Duration = 86400.0


class RetrySettings(Strict):
    """Backoff; ``preset = "quick"`` is three retries after 5, 10 and 20 seconds."""

    preset: Literal["standard", "quick"] = "standard"
    first: Duration = 5.0
    factor: Number = Field(default=2.0, ge=1.0, le=10.0)
    cap: Duration = 3600.0
    jitter: Number = Field(default=0.2, ge=0.0, le=0.9)
    max_retries: Whole | None = Field(default=None, ge=0, le=10000)
    give_up_after: GiveUpAfter = GiveUpAfter()

    @model_validator(mode="before")
    @classmethod
    def _apply_preset(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("preset") == "quick":
            return {"first": 5, "factor": 2, "jitter": 0, "max_retries": 3} | values
        return values

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.cap < self.first:
            raise ValueError("cap must not be shorter than first")
        return self


class SendSettings(Strict):
    """One attempt: how long it may take, and what an unknown outcome means."""

    deadline: Duration = 10.0
    lease: Duration = 30.0
    unknown: Literal["resend", "archive"] = "archive"
    # RabbitMQ 4 takes 16 MiB as it comes (max_message_size), the history of attempts included.
    max_bytes: Whole = Field(default=262_144, ge=256, le=15_728_640)
    retention: Duration = 7 * 86400.0

    @model_validator(mode="after")
    def _check_lease(self) -> Self:
        # A send that overruns its deadline is given up a little later than the deadline:
        # the owner must be gone before its lease is.
        if self.lease < self.deadline + 5:
            raise ValueError("lease must be at least 5 s longer than deadline")
        return self


class ChannelSettings(Strict):
    """One channel: its queues, retries, limits and providers in order of preference."""

    queues: Queues = Queues()
    retry: RetrySettings = RetrySettings()
    send: SendSettings = SendSettings()
    throttle: ThrottleSettings = ThrottleSettings()
    providers: tuple[Provider, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [provider.name for provider in self.providers]
        if len(set(names)) < len(names):
            raise ValueError("two providers have the same name")
        return self

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        weights = [provider.weight for provider in self.providers if provider.weight is not None]
        if weights and not any(weights):
            raise ValueError("providers: every weight is zero, so that none would be used")
        return self

    @model_validator(mode="after")
    def _check_turns(self) -> Self:
        for provider in self.providers:
            self._check_turn(provider)
        return self

    def _check_turn(self, provider: AnyProvider) -> None:
        """A message is held while it waits for its turn, and RabbitMQ sets that a limit."""
        rate = provider.limits.rate
        for priority in PRIORITIES:
            concurrency = getattr(self.queues, priority).concurrency
            if rate is not None and concurrency / rate > LONGEST_TURN:
                raise ValueError(
                    f"queues.{priority}.concurrency: {concurrency} messages at the rate of"
                    f" {provider.name} wait longer than ten minutes for their turn"
                )

    @model_validator(mode="after")
    def _check_resend(self) -> Self:
        """A text that may have arrived is sent again only where the gateway can tell."""
        for provider in self.providers:
            guesses = provider.type == "http-sms" and not provider.takes_idempotency_key
            if guesses and self.send.unknown == "resend":
                raise ValueError(
                    f"send.unknown: resend needs takes_idempotency_key = true for {provider.name}"
                )
        return self

    @model_validator(mode="after")
    def _check_retention(self) -> Self:
        horizon = max(self.retry.give_up_after.urgent, self.retry.give_up_after.normal)
        if self.send.retention < horizon + self.retry.cap:
            raise ValueError("send.retention must be longer than retry.give_up_after plus cap")
        return self

    def policy(self, priority: str) -> RetryPolicy:
        retry = self.retry
        return RetryPolicy(
            first=retry.first,
            factor=retry.factor,
            cap=retry.cap,
            jitter=retry.jitter,
            max_retries=retry.max_retries,
            give_up_after=getattr(retry.give_up_after, priority),
            resend_unknown=self.send.unknown == "resend",
        )


class SmsSettings(ChannelSettings):
    """The channel sms, which alone has numbers and segments."""

    texts: TextSettings = TextSettings()


class EmailSettings(ChannelSettings):
    """The channel email, which alone has attachments."""

    attachments: AttachmentSettings = AttachmentSettings()


class WebhookSettings(ChannelSettings):
    """The channel webhook, which alone has endpoints that are given up."""

    endpoints: EndpointSettings = EndpointSettings()


class Settings(Strict):
    """Everything, as read from ``notify.toml`` and ``channels/*.toml``."""

    broker: BrokerSettings = BrokerSettings()
    redis: RedisSettings = RedisSettings()
    archive: ArchiveSettings = ArchiveSettings()
    care: CareSettings = CareSettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()
    schedules: ScheduleSettings = ScheduleSettings()
    channels: dict[ChannelName, ChannelSettings] = Field(default_factory=dict)
    # Where it was read; no key of any file.
    _directory: Path = PrivateAttr(default=Path("config"))

    @property
    def templates(self) -> Path:
        return self._directory / "templates"

    def read_from(self, directory: Path) -> Self:
        """The same, knowing where it is from."""
        settings = self.model_copy()
        settings._directory = directory.absolute()
        return settings

    def channel(self, name: str) -> ChannelSettings:
        return self.channels[name]  # type: ignore[index]

    @property
    def attachments(self) -> AttachmentSettings:
        """What emails may carry; nothing without such a channel."""
        email = self.channels.get("email")
        return email.attachments if isinstance(email, EmailSettings) else AttachmentSettings()

    @property
    def texts(self) -> TextSettings:
        """How numbers and texts are read; the defaults without such a channel."""
        sms = self.channels.get("sms")
        return sms.texts if isinstance(sms, SmsSettings) else TextSettings()

    @property
    def endpoints(self) -> EndpointSettings:
        """When endpoints are given up; the defaults without such a channel."""
        webhook = self.channels.get("webhook")
        return webhook.endpoints if isinstance(webhook, WebhookSettings) else EndpointSettings()

    def queues(self) -> list[tuple[str, str]]:
        """Every (channel, priority) in a fixed order."""
        return [(name, p) for name in CHANNELS if name in self.channels for p in PRIORITIES]
