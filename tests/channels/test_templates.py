"""Placeholders of profiles: filled in once, and encoded for their place."""

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.channels.templates import (
    add_query,
    encode_json,
    fill_headers,
    fill_json,
    fill_pairs,
    fill_text,
    fill_url,
)
from notify.outcomes import PermanentFailure, Reason

FILLING: dict[str, Any] = {
    "id": "n-1",
    "body": '{id} "quoted" \\1 {body}',
    "recipient": "https://example.com/a%20b?c=d",
    "subject": None,
    "data": {"order": [1, None, "x"]},
    "priority": 5,
    "value.api": "https://api.example/v1",
    "secret.key": "a/b&c=d",
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def test_a_json_value_becomes_what_its_placeholder_stands_for() -> None:
    template = {
        "texts": ["{body}", "{id}: {priority}", "{subject}"],
        "priority": "{priority}",
        "data": "{data}",
        "left out": "{subject}",
        "empty": "<{subject}>",
        "as text": "data={data}",
        "other": [1, True, None, 2.5, "{}", "{ id }"],
    }
    assert fill_json(template, FILLING) == {
        "texts": ['{id} "quoted" \\1 {body}', "n-1: 5"],
        "priority": 5,
        "data": {"order": [1, None, "x"]},
        "empty": "<>",
        "as text": 'data={"order":[1,null,"x"]}',
        "other": [1, True, None, 2.5, "{}", "{ id }"],
    }
    assert fill_json("{subject}", FILLING) is None


@settings(deadline=None)
@given(TEXTS)
def test_any_text_survives_every_place(text: str) -> None:
    filling = {"body": text}
    assert json.loads(encode_json(fill_json({"a": "<{body}>"}, filling))) == {"a": f"<{text}>"}
    url = add_query("https://example.com/", fill_pairs({"t": "{body}"}, filling))
    assert parse_qs(urlsplit(url).query, keep_blank_values=True) == {"t": [text]}
    if text not in (".", ".."):
        path = fill_url("https://example.com/texts/{body}/send", filling)
        assert unquote(path.split("/")[4]) == text
        assert path.count("/") == 5


def test_a_url_begins_with_a_url_and_goes_on_encoded() -> None:
    assert fill_url("{recipient}", FILLING) == "https://example.com/a%20b?c=d"
    filled = fill_url("{value.api}/keys/{secret.key}/{subject}", FILLING)
    assert filled == "https://api.example/v1/keys/a%2Fb%26c%3Dd/"


@pytest.mark.parametrize("text", [".", ".."])
def test_no_text_leads_to_another_path(text: str) -> None:
    with pytest.raises(PermanentFailure, match="invalid: the URL cannot carry"):
        fill_url("https://example.com/a/{body}/b", {"body": text})


@pytest.mark.parametrize(
    ("url", "result"),
    [
        ("https://e.example/", "https://e.example/?a=b%20%26&c=%2B"),
        ("https://e.example/?x=%2f", "https://e.example/?x=%2f&a=b%20%26&c=%2B"),
        ("https://e.example/?", "https://e.example/?a=b%20%26&c=%2B"),
        ("https://e.example/?x&", "https://e.example/?x&a=b%20%26&c=%2B"),
    ],
)
def test_a_query_is_added_to_what_is_there(url: str, result: str) -> None:
    assert add_query(url, {"a": "b &", "c": "+"}) == result
    assert add_query(url, {}) == url


@pytest.mark.parametrize("text", ["a\r\nX-Admin: 1", "a\nb", "a\x00b", " a", "a\t"])
def test_nothing_is_injected_into_headers(text: str) -> None:
    with pytest.raises(PermanentFailure) as caught:
        fill_headers({"Title": "{body}"}, {"body": text})
    assert caught.value.reason is Reason.INVALID
    assert caught.value.detail == "header Title: cannot carry such a text"


def test_a_header_without_a_value_is_left_out() -> None:
    assert fill_headers({"Title": "{subject}", "Id": "<{id}>"}, FILLING) == {"Id": "<n-1>"}
    assert fill_text("{subject}", FILLING) is None
