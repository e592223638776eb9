"""Configuration: typed, strict, and checked as a whole before anything starts."""

from notify.config.load import load_settings
from notify.config.models import (
    ArchiveSettings,
    BrokerSettings,
    ChannelSettings,
    HttpSmsProvider,
    LogSettings,
    RedisSettings,
    Settings,
    SmtpProvider,
    WebhookProvider,
)

__all__ = [
    "ArchiveSettings",
    "BrokerSettings",
    "ChannelSettings",
    "HttpSmsProvider",
    "LogSettings",
    "RedisSettings",
    "Settings",
    "SmtpProvider",
    "WebhookProvider",
    "load_settings",
]
