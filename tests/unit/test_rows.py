"""CSV files: what a good one becomes, and where a bad one is wrong."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.errors import InvalidInput
from notify.notification import Notification
from notify.rows import read_rows

HEAD = "channel,recipient,body\n"


def read(text: str) -> list[Notification]:
    return list(read_rows(io.StringIO(text, newline=""), "people.csv", "batch"))


def problem(text: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(text)
    return str(refused.value)


def test_every_column_and_many_scripts() -> None:
    rows = read(
        "id,channel,recipient,priority,subject,body,html,data,expires_at,label.order,label.shop\n"
        "a-1,sms,+491701234567,urgent,,【紧急】您的订单已发货,,,2027-03-01T09:00:00+01:00,7,Köln\n"
        ',email,ada@example.com,,رمزك,"Zwei\nZeilen, mit ""Zitat"" 👩🏽‍💻",<p>ё</p>,,,,\n'
        "\n"
        ',webhook,https://example.com/hook,normal,,,,"{""n"": [1, null]}",,8,\n'
    )
    assert [row.id for row in rows] == ["a-1", "batch:3", "batch:6"]
    assert [row.channel for row in rows] == ["sms", "email", "webhook"]
    assert [row.priority for row in rows] == ["urgent", "normal", "normal"]
    assert rows[0].body == "【紧急】您的订单已发货"
    assert rows[0].expires_at == datetime(2027, 3, 1, 8, tzinfo=UTC)
    assert rows[1].subject == "رمزك"
    assert rows[1].body == 'Zwei\nZeilen, mit "Zitat" 👩🏽‍💻'
    assert rows[1].html == "<p>ё</p>"
    assert rows[2].data == {"n": [1, None]}
    labels = [dict(row.labels) for row in rows]
    assert labels == [{"order": "7", "shop": "Köln"}, {}, {"order": "8"}]


@pytest.mark.parametrize("text", [HEAD, HEAD.replace("\n", "\r\n"), HEAD.rstrip()])
def test_a_header_alone_is_no_row(text: str) -> None:
    assert read(text) == []


def test_a_byte_order_mark_and_spaces_around_names_do_not_matter() -> None:
    rows = read("\ufeffchannel, recipient ,body\r\nsms,+491701234567,Hi\r\n")
    assert [row.body for row in rows] == ["Hi"]


def test_the_same_row_has_the_same_id_each_time() -> None:
    text = HEAD + "sms,+491701234567,Hi\n" * 3
    assert [row.id for row in read(text)] == ["batch:2", "batch:3", "batch:4"]
    assert [row.id for row in read(text)] == [row.id for row in read(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "people.csv: is empty; the first line must name the columns"),
        ("\n", "people.csv: is empty; the first line must name the columns"),
        ("channel,recipient,colour\n", "people.csv:1: unknown column 'colour'; known: id, channel"),
        ("+491701234567,sms\n", "people.csv:1: unknown column number 1; known: id, channel"),
        ("channel,body\n", "people.csv:1: column 'recipient' is missing"),
        ("recipient,body\n", "people.csv:1: column 'channel' is missing"),
        ("channel,recipient,body,body\n", "people.csv:1: a column stands there twice"),
        ('channel,"recipient\n', "people.csv:1: unexpected end of data"),
        (HEAD + "sms,+491701234567\n", "people.csv:2: has 2 cells, the header has 3"),
        (HEAD + "sms,+491701234567,a,b\n", "people.csv:2: has 4 cells, the header has 3"),
        (HEAD + 'sms,+491701234567,"open\n', "people.csv:2: unexpected end of data"),
        (HEAD + 'sms,+491701234567,"a"b\n', "people.csv:2: ',' expected after '\"'"),
        (HEAD + "fax,+491701234567,a\n", "people.csv:2: column channel: must be one of sms"),
        (HEAD + ",+491701234567,a\n", "people.csv:2: column channel: is missing"),
        (HEAD + "sms,,a\n", "people.csv:2: column recipient: is missing"),
        (HEAD + "sms,0170,a\n", "people.csv:2: column recipient: must be a phone number"),
        (HEAD + "sms,+491701234567,\n", "people.csv:2: column body: is required for sms"),
        (HEAD + "sms,+491701234567,a\x00b\n", "people.csv:2: column body: must not contain NUL"),
        (HEAD + "sms,+491701234567,half \ud83d\n", "people.csv:2: column body: contains an unp"),
        (
            HEAD + 'sms,+491701234567,"two\nlines"\n\nsms,0170,a\n',
            "people.csv:5: column recipient: must be a phone number",
        ),
        (
            "channel,recipient,body,priority\nsms,+491701234567,a,high\n",
            "people.csv:2: column priority: must be one of urgent, normal",
        ),
        (
            "channel,recipient,body,id\nsms,+491701234567,a,a.b\n",
            "people.csv:2: column id: must be 1 to 128",
        ),
        (
            "channel,recipient,body,expires_at\nsms,+491701234567,a,tomorrow\n",
            "people.csv:2: column expires_at: must be an ISO 8601",
        ),
        (
            "channel,recipient,body,expires_at\nsms,+491701234567,a,2027-03-01T09:00:00\n",
            "people.csv:2: column expires_at: must have a UTC offset",
        ),
        (
            "channel,recipient,data\nwebhook,https://example.com,{\n",
            "people.csv:2: column data: is not valid JSON",
        ),
        (
            "channel,recipient,data\nwebhook,https://example.com,NaN\n",
            "people.csv:2: column data: must be a JSON value",
        ),
        (
            "channel,recipient,data\nwebhook,https://example.com," + "[" * 100_000 + "\n",
            "people.csv:2: column data: is not valid JSON",
        ),
        (
            "channel,recipient,body,label.a b\nsms,+491701234567,a,x\n",
            "people.csv:2: column labels: a name has characters",
        ),
        (
            "channel,recipient,body,label.note\nsms,+491701234567,a,\"two\nlines\"\n",
            "people.csv:2: column labels: note must be one line",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_file_line_and_column(text: str, expected: str) -> None:
    assert problem(text).startswith(expected)


def test_the_rows_before_a_bad_one_come_first() -> None:
    rows = read_rows(io.StringIO(HEAD + "sms,+491701234567,Hi\nsms,0170,Hi\n"), "f", "b")
    assert next(rows).body == "Hi"
    with pytest.raises(InvalidInput, match="f:3"):
        next(rows)


@given(st.text())
def test_any_text_is_read_or_refused_in_one_way(text: str) -> None:
    for start in ("", HEAD, HEAD + "sms,+491701234567,"):
        try:
            rows = read(start + text)
        except InvalidInput as error:
            assert str(error).startswith("people.csv:")
        else:
            assert all(isinstance(row, Notification) for row in rows)


@given(st.text(min_size=8).map(lambda text: f"§{text}"))
def test_no_cell_is_quoted_in_an_error(text: str) -> None:
    cell = text.replace('"', '""')
    said = problem(HEAD + f'sms,"{cell}",Hello\n')
    assert text not in said
