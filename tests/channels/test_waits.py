from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.channels.waits import LONGEST, patience_asked, reset_asked, wait_asked

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def _in(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        (None, None, None),
        ("", None, None),
        ("0", None, 0.0),
        (" 120 ", None, 120.0),
        ("1.5", None, 1.5),
        ("-5", None, None),
        ("+5", None, None),
        ("1e9", None, None),
        ("soon", None, None),
        ("٣", None, None),
        ("9999999999", None, LONGEST),
        ("9" * 6000, None, LONGEST),
        ("1777636890", None, 90.0),  # an instant in seconds since 1970
        ("1777636710", None, None),
        ("1777636890500", None, 90.5),  # in milliseconds
        ("1777636710000", None, None),
        ("120, 60", None, 120.0),
        ("60,120,", None, 120.0),
        ("60, soon", None, 60.0),
        ("120s", None, 120.0),
        ("2 seconds", None, 2.0),
        ("Friday, 01-May-26 12:01:00 GMT", None, 60.0),
        ("Fri May  1 12:01:00 2026", None, 60.0),
        ("2026-05-01T12:01:00Z", None, 60.0),
        ("2026-05-01T14:01:00+02:00", None, 60.0),
        ("0001-01-01T00:00:00+23:59", None, None),
        ("9999-12-31T23:59:59-23:59", None, None),
        ("\x00", None, None),
        (_in(90), None, 90.0),
        (_in(-90), None, None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None, None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None, LONGEST),
        ("Fri, 01 May 2026 12:01:00 -0000", None, 60.0),
        ("Fri, 99 May 2026 12:01:00 GMT", None, None),
        (_in(3690), _in(3600), 90.0),
        (_in(-3510), _in(-3600), 90.0),
        (_in(90), "nonsense", 90.0),
    ],
)
def test_retry_after(value: str | None, date: str | None, seconds: float | None) -> None:
    headers = {"Retry-After": value, "Date": date}
    given = {name: text for name, text in headers.items() if text is not None}
    assert wait_asked(given, NOW) == seconds


TEXTS = st.one_of(
    st.text(),
    st.integers().map(str),
    st.floats().map(str),
    st.datetimes().map(format_datetime),
    st.datetimes(timezones=st.timezones()).map(datetime.isoformat),
    st.from_regex(r"[ 0-9,.:+A-Za-z-]{0,40}", fullmatch=True),
)


@given(TEXTS, TEXTS, st.datetimes(timezones=st.just(UTC)))
def test_nothing_that_a_server_says_breaks_it(value: str, date: str, now: datetime) -> None:
    headers = {"Retry-After": value, "Date": date, "X-RateLimit-Reset": value}
    for wait in (wait_asked(headers, now), reset_asked(headers, now)):
        assert wait is None or 0 <= wait <= LONGEST


def test_who_gets_too_much_may_name_its_limit_instead() -> None:
    reset = {"X-RateLimit-Reset": "30"}
    assert patience_asked(reset, NOW) == 30.0
    assert patience_asked({"X-Ogw-RateLimit-Reset": "52"}, NOW) == 52.0
    assert patience_asked({**reset, "Retry-After": "0"}, NOW) == 0.0
    assert wait_asked(reset, NOW) is None
