"""Files as people have them: delimiters, encodings, gzip, JSON Lines, damage."""

import gzip
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from notify.batch import FileSource, FileSpec, check, open_file
from notify.batch.files import STDIN
from notify.errors import InvalidInput, UsageError
from notify.rows import Row
from notify.templates import Templates
from tests.templates import folders
from tests.unit.configs import EMAIL, WEBHOOK, load

HEAD = "channel,recipient,body\n"
TEXT = 'sms,+491701234567,"Grüße, 您好"\n'
Opening = Callable[..., FileSource]


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """Opens content as a file, or as what comes through a pipe."""
    files = {"channels/email.toml": EMAIL, "channels/webhook.toml": WEBHOOK}
    settings = load(tmp_path, files)
    with ExitStack() as stack:

        def open_(
            content: bytes, *, encoding: str = "", pipe: bool = False, **more: str
        ) -> FileSource:
            path = tmp_path / "people"
            path.write_bytes(content)
            defaults = {name.replace("_", "."): value for name, value in more.items()}
            spec = FileSpec(path=STDIN if pipe else str(path), encoding=encoding, defaults=defaults)
            stdin = io.BytesIO(content)
            templates = Templates(settings.templates)
            return stack.enter_context(open_file(spec, stdin, settings, templates))

        yield open_


def bodies(source: FileSource) -> list[str | None]:
    rows = list(source.rows())
    assert [row.problem for row in rows if row.problem] == []
    return [row.notification.body for row in rows if row.notification]


def problems(source: FileSource) -> list[tuple[int, str, str]]:
    return [(r.number, r.column, r.problem) for r in source.rows() if r.notification is None]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_what_spreadsheets_write(
    opening: Opening, delimiter: str, encoding: str, packed: bool, ends: str
) -> None:
    text = (HEAD + 'sms,+491701234567,"Grüße; 您好\tdu"\n').replace(",", delimiter)
    content = text.replace("\n", ends).encode(encoding)
    content = gzip.compress(content) if packed else content
    given = "" if encoding.startswith("utf-8") else encoding
    assert bodies(opening(content, encoding=given)) == ["Grüße; 您好\tdu"]


def test_latin_1_by_its_name(opening: Opening) -> None:
    content = (HEAD + "sms,+491701234567,Grüße\n").encode("latin-1")
    assert bodies(opening(content, encoding="latin-1")) == ["Grüße"]
    assert problems(opening(content)) == [
        (2, "body", "has bytes that are not of this encoding; --encoding names another")
    ]


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13"])
def test_an_encoding_must_be_one(opening: Opening, encoding: str) -> None:
    with pytest.raises(UsageError, match="--encoding"):
        opening(b"", encoding=encoding)


def test_a_pipe_is_read_twice_and_has_the_ids_of_the_same_file(opening: Opening) -> None:
    content = (HEAD + TEXT).encode()
    piped = opening(content, pipe=True)
    assert bodies(piped) == bodies(piped) == ["Grüße, 您好"]
    assert piped.batch == opening(content).batch
    assert piped.name == "standard input"


def test_rows_go_on_after_any_row(opening: Opening) -> None:
    text = HEAD + 'sms,+491701234567,"a\nb"\n\nsms,+491701234567,c\nsms,+491701234567,d\n'
    source = opening(text.encode())
    numbers = [row.number for row in source.rows()]
    assert numbers == [2, 5, 6]
    for number in range(8):
        assert [r.number for r in source.rows(number)] == [n for n in numbers if n > number]


def test_bad_rows_do_not_hide_the_good_ones(opening: Opening) -> None:
    text = HEAD + 'sms,0170,a\nsms,"+491701234567"x,b\nsms,+491701234567\n' + TEXT
    source = opening(text.encode())
    assert [number for number, _, _ in problems(source)] == [2, 3, 4]
    assert [r.number for r in source.rows() if r.notification] == [5]


def test_a_quotation_mark_that_is_missing_ends_it(opening: Opening) -> None:
    text = HEAD + TEXT + 'sms,+491701234567,"never closed\n' + TEXT * 3
    with pytest.raises(InvalidInput, match=r"people:3: .*is a quotation mark missing\?"):
        list(opening(text.encode()).rows())


@pytest.mark.parametrize("content", [
    HEAD + TEXT + f"sms,+491701234567,{'x' * 10_000_000}\n" + TEXT,
    HEAD + TEXT + f'sms,+491701234567,"{"x" * 10_000_000}"\n' + TEXT,
    HEAD + TEXT + f"sms,+491701234567,{'x' * 200_000}\n" + TEXT,
], ids=["line", "quoted", "cell"])  # fmt: skip
def test_a_row_that_is_too_large_is_named_with_its_column(opening: Opening, content: str) -> None:
    rows = list(opening(content.encode()).rows())
    assert [bool(row.notification) for row in rows] == [True, False, True]
    assert (rows[1].number, rows[1].column) == (3, "body")
    assert rows[1].problem == "has more than 131072 characters"


def test_json_lines(opening: Opening) -> None:
    lines = [
        {"channel": "sms", "recipient": "+491701234567", "body": "a", "labels": {"shop": "Köln"}},
        {"v": 1, "id": "own", "channel": "webhook", "recipient": "https://a.b", "data": [1, None]},
    ]
    text = "\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    rows = [row.notification for row in opening(text.encode()).rows()]
    assert [row.id if row else "" for row in rows][1:] == ["own"]
    assert rows[0] and dict(rows[0].labels) == {"shop": "Köln"}
    assert rows[1] and rows[1].data == [1, None]


@pytest.mark.parametrize(("line", "column", "problem"), [
    ('{"a": 1', "", "is not valid JSON: Expecting ',' delimiter at character 8"),
    ('{"x":' + "[" * 100_000, "", "is not valid JSON: too deeply nested"),
    ('{"channel": "sms"} []', "", "is not valid JSON: Extra data at character 20"),
    ('{"channel": "sms", "recipient": "+491701234567", "colour": 1}', "colour", "is not a field"),
    ('{"+4917012345": 1}', "of another name", "is not a field of a notification"),
    ('{"channel": "sms", "body": "a"}', "recipient", "is missing"),
    ('{"channel": "sms", "recipient": 5, "body": "a"}', "recipient", "must be"),
    ('{"template": 5, "channel": "sms", "recipient": "+491701234567"}', "template", "must be text"),
    ('{"template": "code", "body": "b"}', "body", "does not go with a template"),
    ('{"v": 2}', "v", "must be 1"),
    ('{"var": []}', "var", "must be an object"),
    ('{"channel": "sms", "body": "' + "x" * 2_000_000 + '"}', "body", "the row has more than"),
])  # fmt: skip
def test_what_is_wrong_in_json_lines(
    opening: Opening, line: str, column: str, problem: str
) -> None:
    ((number, named, said),) = problems(opening(f"\n{line}\n".encode()))
    assert (number, named) == (2, column)
    assert said.startswith(problem)


def test_a_template_and_its_variables_for_all_rows(opening: Opening, tmp_path: Path) -> None:
    folder = {
        "template.toml": 'description = "A code."\n[variables.code]\ntype = "line"\nsample = "1"\n'
        '[variables.minutes]\ntype = "integer"\nsample = 5\n',
        "sms.txt": "{{ code }} {{ minutes }}",
    }
    folders.write(tmp_path / "templates", folder, "code")
    csv = b"channel,recipient,var.code\nsms,+491701234567,7\n"
    given = {"template": "code", "var_minutes": "9"}
    assert bodies(opening(csv, **given)) == ["7 9"]
    line = {"channel": "sms", "recipient": "+491701234567", "var": {"code": "8", "minutes": 3}}
    assert bodies(opening(json.dumps(line).encode(), **given)) == ["8 3"]
    plain = opening(csv, template="code", var_minutes="9").fingerprint
    assert plain != opening(csv, template="code", var_minutes="8").fingerprint


@pytest.mark.parametrize("content", [
    gzip.compress((HEAD + TEXT * 5000).encode())[:-20],
    gzip.compress((HEAD + TEXT).encode())[:-4] + b"1234",
    b"\x1f\x8bno gzip at all",
], ids=["cut", "other length", "no gzip"])  # fmt: skip
def test_a_damaged_archive_is_said(opening: Opening, content: bytes) -> None:
    with pytest.raises(InvalidInput, match="people: is a damaged gzip file"):
        list(opening(content).rows())


def test_a_file_that_changes_while_it_is_read_is_said(opening: Opening, tmp_path: Path) -> None:
    source = opening((HEAD + TEXT * 3).encode())
    rows = source.rows()
    next(rows)
    path = tmp_path / "people"
    with path.open("a") as file:
        file.write(TEXT)
    os.utime(path, ns=(1, 1))
    with pytest.raises(InvalidInput, match="was changed while it was read"):
        list(rows)


def test_what_a_source_has_is_counted(opening: Opening) -> None:
    text = "id,channel,recipient,subject,body\n"
    text += ",sms,+491701234567,," + "x" * 161 + "\n"
    text += ",sms,+491701234567,,a\n,email,ada@example.com,Hi,b\n"
    text += "x,email,ada@example.com,Hi,b\nx,email,bob@example.com,Hi,b\n,sms,1,,b\n"
    source = opening(text.encode())
    rejected: list[Row] = []
    account = check(source, batch=source.batch, rejected=rejected.append)
    assert (account.rows, account.rejected, account.last) == (6, 1, 7)
    assert (account.repeated, account.same_id) == (2, 1)
    assert (account.loads["sms"].messages, account.loads["sms"].segments) == (2, 3)
    assert account.loads["email"].messages == 3
    assert rejected == [account.first]
