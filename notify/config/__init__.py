"""Configuration: typed, strict, and checked as a whole before anything starts."""

from notify.config.answers import AnswerRule
from notify.config.archive import ArchiveSettings
from notify.config.attachments import AttachmentSettings
from notify.config.care import (
    PROVIDER_OUTAGE,
    CareMatch,
    CareRule,
    CareSettings,
    DigestSettings,
    is_outage,
)
from notify.config.described import ProfileProvider, PythonProvider
from notify.config.dkim import DkimSettings
from notify.config.endpoints import EndpointSettings
from notify.config.limits import BreakerSettings, LimitSettings, ThrottleSettings, Window
from notify.config.load import load_settings, settings_directory
from notify.config.matches import Match, accepts, candidates
from notify.config.models import (
    BrokerSettings,
    ChannelSettings,
    EmailSettings,
    LogSettings,
    RedisSettings,
    Settings,
    SmsSettings,
    WebhookSettings,
)
from notify.config.passwords import archive_url
from notify.config.providers import (
    AnyProvider,
    HttpProvider,
    HttpSmsProvider,
    SmtpProvider,
    WebhookProvider,
)
from notify.config.retention import KeepLess, RetentionSettings
from notify.config.schedules import ScheduleSettings
from notify.config.texts import TextSettings

__all__ = [
    "PROVIDER_OUTAGE",
    "AnswerRule",
    "AnyProvider",
    "ArchiveSettings",
    "AttachmentSettings",
    "BreakerSettings",
    "BrokerSettings",
    "CareMatch",
    "CareRule",
    "CareSettings",
    "ChannelSettings",
    "DigestSettings",
    "DkimSettings",
    "EmailSettings",
    "EndpointSettings",
    "HttpProvider",
    "HttpSmsProvider",
    "KeepLess",
    "LimitSettings",
    "LogSettings",
    "Match",
    "ProfileProvider",
    "PythonProvider",
    "RedisSettings",
    "RetentionSettings",
    "ScheduleSettings",
    "Settings",
    "SmsSettings",
    "SmtpProvider",
    "TextSettings",
    "ThrottleSettings",
    "WebhookProvider",
    "WebhookSettings",
    "Window",
    "accepts",
    "archive_url",
    "candidates",
    "is_outage",
    "load_settings",
    "settings_directory",
]
