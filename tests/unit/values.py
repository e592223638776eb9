"""Notifications that the tests of this folder share, and how to draw them at random."""

import string
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

from hypothesis import strategies as st

from notify.notification import Notification

PHONE: Final = "+491701234567"
ADDRESS: Final = "ada.lovelace@example.com"
URL: Final = "https://example.com/hook"
BODY: Final = "Ihr Code lautet 314159"
CREATED: Final = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)

VALID: Final[dict[str, dict[str, Any]]] = {
    "sms": {"channel": "sms", "recipient": PHONE, "body": BODY},
    "email": {"channel": "email", "recipient": ADDRESS, "subject": "Code", "body": BODY},
    "webhook": {"channel": "webhook", "recipient": URL, "data": {"code": 314159}},
}


def make(kind: str = "sms", /, **changes: Any) -> Notification:
    return Notification(**VALID[kind] | changes)


_WORDS = st.text(min_size=1, max_size=40).filter(lambda text: "\x00" not in text)
_LINES = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=40)
_NAMES = st.text(string.ascii_letters + string.digits, min_size=1, max_size=20)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # JSON text that cannot be encoded is refused; here are values that can be.
    | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=8,
)
_OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda n: timezone(timedelta(minutes=n)))
INSTANTS: Final = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=_OFFSETS)  # noqa: DTZ001

_CONTENT: Final = {
    "sms": st.fixed_dictionaries({"recipient": st.just(PHONE), "body": _WORDS}),
    "email": st.fixed_dictionaries(
        {"recipient": st.just(ADDRESS), "subject": _LINES, "body": _WORDS},
        optional={"html": _WORDS},
    ),
    "webhook": st.fixed_dictionaries(
        {"recipient": st.just(URL), "data": _JSON.filter(lambda value: value is not None)},
        optional={"subject": _LINES, "body": _WORDS},
    ),
}
_REST: Final = st.fixed_dictionaries(
    {},
    optional={
        "id": _NAMES,
        "priority": st.sampled_from(["urgent", "normal"]),
        "template": _LINES,
        "template_version": _LINES,
        "expires_at": INSTANTS,
        "created_at": INSTANTS,
        "labels": st.dictionaries(_NAMES, _LINES, max_size=5),
    },
)


@st.composite
def notifications(draw: st.DrawFn) -> Notification:
    channel = draw(st.sampled_from(sorted(_CONTENT)))
    content: Any = draw(_CONTENT[channel])
    rest: Any = draw(_REST)
    return Notification(channel=channel, **content, **rest)
