"""The daily digest: what is new, what rules did, what waits for a person. No recipients, and no
content: only names from the configuration, from closed sets, and codes that a profile lists or
that can be nothing else.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from notify.codes import meaning
from notify.config import DigestSettings, Settings
from notify.notification import CHANNELS, Notification
from notify.outcomes import Reason
from notify.store.care import HELD, Held
from notify.store.digests import News

ID: Final = "care-digest"
_OTHER: Final = "another"
_REASONS: Final = frozenset(map(str, Reason))
_CODE: Final = re.compile(r"[A-Z]{0,3}[-_]?[0-9]{1,6}|[245](?:\.[0-9]{1,3}){2}")
_MOST_LINES: Final = 20
_STYLE: Final = "%Y-%m-%d %H:%M"


def planned(now: datetime, settings: DigestSettings) -> tuple[date, datetime]:
    """The last day whose digest is due, and when it was.

    A time of day that a change of the clocks leaves out is an hour later, as everywhere.
    """
    zone = ZoneInfo(settings.zone)
    hour, minute = map(int, settings.at.split(":"))
    day = now.astimezone(zone).date()
    while True:
        at = datetime.combine(day, time(hour, minute), zone).astimezone(UTC)
        if at <= now:
            return day, at
        day -= timedelta(days=1)


def facts(
    settings: Settings,
    *,
    since: datetime,
    until: datetime,
    news: News,
    done: Mapping[tuple[str, str], int],
    held: Sequence[Held],
) -> dict[str, Any]:
    """What is told, for programs."""
    return {
        "since": since.isoformat(timespec="seconds"),
        "until": until.isoformat(timespec="seconds"),
        "new": sum(news.counts.values()),
        "still_open": news.still_open,
        "counts": _counts(settings, news),
        "codes": _codes(settings, news),
        "rules": [
            {"rule": rule, "state": state, "letters": number}
            for (rule, state), number in sorted(done.items())
            if state != HELD
        ],
        "held": [_held(each) for each in held],
    }


def _counts(settings: Settings, news: News) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, str], int] = {}
    for (reason, channel, provider), number in news.counts.items():
        known = reason if reason in _REASONS else _OTHER
        key = (known, _channel(channel), _provider(settings, channel, provider))
        found[key] = found.get(key, 0) + number
    names = ("reason", "channel", "provider", "letters")
    rows = sorted(((*key, number) for key, number in found.items()), key=lambda row: -row[3])
    return [dict(zip(names, row, strict=True)) for row in rows]


def _codes(settings: Settings, news: News) -> list[dict[str, Any]]:
    return [
        {
            "channel": _channel(channel),
            "provider": _provider(settings, channel, provider),
            "code": code,
            "letters": number,
        }
        for (channel, provider, code), number in news.codes.items()
        if _CODE.fullmatch(code) or meaning(settings, channel, provider, code)
    ]


def _channel(channel: str) -> str:
    return channel if channel in CHANNELS else "none"


def _provider(settings: Settings, channel: str, provider: str) -> str:
    own = settings.channels.get(channel)  # type: ignore[call-overload]
    if not provider:
        return "none"
    names = {each.name for each in own.providers} if own else set()
    return provider if provider in names else _OTHER


def _held(held: Held) -> dict[str, Any]:
    return {
        "rule": held.rule,
        "channel": _channel(held.channel),
        "reason": held.reason if held.reason in _REASONS else _OTHER,
        "letters": held.letters,
        "oldest": held.oldest.isoformat(timespec="seconds"),
        "command": command(held),
    }


def command(held: Held) -> str:
    """What lists these letters."""
    words = ["notify dead list --state open"]
    words += [f"--reason {held.reason}"] if held.reason in _REASONS else []
    return " ".join(words + ([f"--channel {held.channel}"] if held.channel in CHANNELS else []))


def is_news(told: Mapping[str, Any]) -> bool:
    """Whether anybody has to be told."""
    return bool(told["new"] or told["rules"])


def headline(told: Mapping[str, Any]) -> str:
    held = sum(each["letters"] for each in told["held"])
    wait = f", {held} held for a person" if held else ""
    return f"Notify: {told['new']} new dead letters, {told['still_open']} open{wait}"


def text(told: Mapping[str, Any]) -> str:
    """The digest in words."""
    since, until = (datetime.fromisoformat(told[name]) for name in ("since", "until"))
    lines = [headline(told), f"From {since:{_STYLE}} to {until:{_STYLE}} UTC.", ""]
    lines += _section("New, by reason, channel and provider:", told["counts"], _count_line)
    lines += _section("Codes that came most:", told["codes"], _code_line)
    lines += _section("What the rules did:", told["rules"], _rule_line)
    lines += _section("Held for a person:", told["held"], _held_line)
    return "\n".join([*lines, "Look: notify dead count, notify dead show ID, notify care show"])


def _section(title: str, rows: Sequence[Any], line: Any) -> list[str]:
    if not rows:
        return []
    more = [f"  and {len(rows) - _MOST_LINES} more"] if len(rows) > _MOST_LINES else []
    return [title, *(f"  {line(row)}" for row in rows[:_MOST_LINES]), *more, ""]


def _count_line(row: Mapping[str, Any]) -> str:
    return f"{row['letters']:>7}  {row['reason']}, {row['channel']}, {row['provider']}"


def _code_line(row: Mapping[str, Any]) -> str:
    return f"{row['letters']:>7}  {row['code']}, {row['channel']}, {row['provider']}"


def _rule_line(row: Mapping[str, Any]) -> str:
    return f"{row['letters']:>7}  {row['rule']}: {row['state']}"


def _held_line(row: Mapping[str, Any]) -> str:
    oldest = datetime.fromisoformat(row["oldest"])
    kind = f"{row['reason']}, {row['channel']}, since {oldest:{_STYLE}}"
    return f"{row['letters']:>7}  {kind}: {row['command']}"


def notification(
    settings: DigestSettings, name: str, told: Mapping[str, Any], *, id: str = ""
) -> Notification:
    """What is sent; the same for the same day and facts."""
    content: dict[str, Any] = {"body": f"{headline(told)}. More: notify care digest"}
    if settings.channel == "email":
        content = {"subject": headline(told), "body": text(told)}
    elif settings.channel == "webhook":
        content = {"data": dict(told)}
    return Notification(
        channel=settings.channel,
        recipient=settings.recipient,
        id=id or f"{ID}:{name}",
        **content,
    )
