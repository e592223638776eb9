"""Configuration: typed, strict, and checked as a whole before anything starts."""

from notify.config.answers import AnswerRule
from notify.config.attachments import AttachmentSettings
from notify.config.described import ProfileProvider, PythonProvider
from notify.config.dkim import DkimSettings
from notify.config.endpoints import EndpointSettings
from notify.config.limits import BreakerSettings, LimitSettings, ThrottleSettings, Window
from notify.config.load import load_settings, settings_directory
from notify.config.matches import Match, accepts, candidates
from notify.config.models import (
    ArchiveSettings,
    BrokerSettings,
    ChannelSettings,
    EmailSettings,
    LogSettings,
    RedisSettings,
    Settings,
    SmsSettings,
    WebhookSettings,
)
from notify.config.providers import (
    AnyProvider,
    HttpProvider,
    HttpSmsProvider,
    SmtpProvider,
    WebhookProvider,
)
from notify.config.texts import TextSettings

__all__ = [
    "AnswerRule",
    "AnyProvider",
    "ArchiveSettings",
    "AttachmentSettings",
    "BreakerSettings",
    "BrokerSettings",
    "ChannelSettings",
    "DkimSettings",
    "EmailSettings",
    "EndpointSettings",
    "HttpProvider",
    "HttpSmsProvider",
    "LimitSettings",
    "LogSettings",
    "Match",
    "ProfileProvider",
    "PythonProvider",
    "RedisSettings",
    "Settings",
    "SmsSettings",
    "SmtpProvider",
    "TextSettings",
    "ThrottleSettings",
    "WebhookProvider",
    "WebhookSettings",
    "Window",
    "accepts",
    "candidates",
    "load_settings",
    "settings_directory",
]
