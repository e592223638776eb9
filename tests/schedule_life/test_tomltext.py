"""What is written as TOML is read again as it was."""

import tomllib
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.errors import InvalidInput
from notify.schedule.tomltext import table

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
scalars = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.dates(),
    st.datetimes(),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(name=texts, content=st.dictionaries(texts, values, max_size=5))
def test_round_trip(name: str, content: dict[str, Any]) -> None:
    assert tomllib.loads(table(name, content)) == {name: content}


def test_how_it_looks() -> None:
    content = {
        "cron": "0 9 * * 1-5",
        "body": 'Good morning,\nsay "hello".\n',
        "exclude": [date(2027, 12, 24), date(2027, 12, 31)],
        "start": datetime(2027, 1, 1, 8, tzinfo=UTC),
        "labels": {"team": "ops"},
    }
    assert table("standup", content) == (
        '[standup]\ncron = "0 9 * * 1-5"\nbody = """\nGood morning,\nsay "hello".\n"""\n'
        "exclude = [2027-12-24, 2027-12-31]\nstart = 2027-01-01T08:00:00+00:00\n"
        'labels = { team = "ops" }\n'
    )


@pytest.mark.parametrize(("value", "place"), [({"a": [1, None]}, "s.data.a.1"), (2**70, "s.data")])
def test_what_toml_cannot_say(value: Any, place: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^{place}: .* JSON Lines"):
        table("s", {"data": value})
