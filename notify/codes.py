"""What the code of a provider means, as far as its profile or its protocol says it."""

from notify.config import Settings
from notify.config.profiles import Profile
from notify.protocolcodes import http_meaning, smtp_meaning


def meaning(settings: Settings, channel: str | None, provider: str, code: str) -> str:
    """In words; "" where nobody knows. The provider may be configured no more."""
    if not code or channel not in settings.channels:
        return ""
    for configured in settings.channel(channel).providers:
        if configured.name == provider:
            profile = getattr(configured, "profile", None)
            listed = listed_meaning(profile, code) if isinstance(profile, Profile) else ""
            return listed or _by_protocol(channel, code)
    return _by_protocol(channel, code)


def listed_meaning(profile: Profile, code: str) -> str:
    """The first entry: where the status or the text of an answer chose another, the attempt's
    detail has that one's words."""
    for each in profile.answers.codes:
        if str(each.status if each.code is None else each.code) == code:
            return each.means
    return ""


def _by_protocol(channel: str, code: str) -> str:
    return smtp_meaning(code) if channel == "email" else http_meaning(code)
