"""Configuration: typed, strict, and checked as a whole before anything starts."""

from notify.config.answers import AnswerRule
from notify.config.limits import BreakerSettings, LimitSettings, ThrottleSettings, Window
from notify.config.load import load_settings
from notify.config.models import (
    ArchiveSettings,
    BrokerSettings,
    ChannelSettings,
    LogSettings,
    RedisSettings,
    Settings,
)
from notify.config.providers import (
    AnyProvider,
    HttpProvider,
    HttpSmsProvider,
    SmtpProvider,
    WebhookProvider,
)

__all__ = [
    "AnswerRule",
    "AnyProvider",
    "ArchiveSettings",
    "BreakerSettings",
    "BrokerSettings",
    "ChannelSettings",
    "HttpProvider",
    "HttpSmsProvider",
    "LimitSettings",
    "LogSettings",
    "RedisSettings",
    "Settings",
    "SmtpProvider",
    "ThrottleSettings",
    "WebhookProvider",
    "Window",
    "load_settings",
]
