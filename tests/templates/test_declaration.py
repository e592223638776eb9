"""``template.toml``: every problem at once, with file, line and key."""

from pathlib import Path

import pytest

from tests.templates.folders import problems

HEAD = 'description = "x"\n[variables.a]\n'
WRONG = [
    ("", "template.toml: description: is required"),
    ("description = 7", "template.toml:1: description: is required"),
    ("description = ", "template.toml: is not valid TOML"),
    ("[variables.a.b.c", "template.toml: is not valid TOML"),
    ('colour = 1\ndescription = "x"', "template.toml:1: colour: unknown key; known: description"),
    ('description = "x"\nvariables = 7', "template.toml:2: variables: must be tables"),
    ('description = "x"\nvariables.a = 7', "template.toml:2: variables.a: must be a table with a"),
    ('description = "x"\n[variables.A]', "template.toml:2: variables.A: must be named by lower"),
    ('description = "x"\n[variables.loop]', "template.toml:2: variables.loop: must be named by"),
    ('description = "x"\n[variables.if]', "template.toml:2: variables.if: must be named by"),
    (HEAD, "template.toml:2: variables.a.type: must be one of boolean, date"),
    (HEAD + 'type = "money"', "template.toml:3: variables.a.type: must be one of"),
    (HEAD + 'type = "line"', "template.toml:2: variables.a.sample: is required"),
    (HEAD + 'type = "line"\nsample = 7', "template.toml:4: variables.a.sample: must be text"),
    (HEAD + 'type = "line"\nsample = "a"\nhosts = ["b"]', "template.toml:5: variables.a.hosts: un"),
    (HEAD + 'type = "line"\nsample = "a"\nlinks = 1', "template.toml:5: variables.a.links: must"),
    (HEAD + 'type = "line"\nsample = "a.de"', "template.toml:4: variables.a.sample: contains"),
    (
        HEAD + 'type = "line"\nsample = "a"\nmax_length = 0',
        "template.toml:5: variables.a.max_length: must be a number from 1 to 1000",
    ),
    (
        HEAD + 'type = "line"\nsample = "a"\nmax_length = true',
        "template.toml:5: variables.a.max_length: must be a number from 1 to 1000",
    ),
    (
        HEAD + 'type = "line"\nsample = "a"\ndefault = "b\\n"',
        "template.toml:5: variables.a.default: must not contain control characters",
    ),
    (
        HEAD + 'type = "line"\nsample = "a"\ndefault = "b"\nrequired = true',
        "template.toml:5: variables.a.default: is never used",
    ),
    (HEAD + 'type = "url"\nsample = "https://a.de"', "template.toml:2: variables.a.hosts: is req"),
    (
        HEAD + 'type = "url"\nsample = "https://a.de"\nhosts = "a.de"',
        "template.toml:5: variables.a.hosts: is required: host names",
    ),
    (
        HEAD + 'type = "url"\nsample = "https://a.de"\nhosts = ["b.de"]',
        "template.toml:4: variables.a.sample: is not at one of the declared hosts",
    ),
    (HEAD + 'type = "date"\nsample = "2027-03-01"', "template.toml:4: variables.a.sample: must be"),
    (HEAD + 'type = "list"\nsample = []', "template.toml:2: variables.a: a list needs either of"),
    (
        HEAD + 'type = "list"\nof = "line"\nsample = ["a", 1]',
        "template.toml:5: variables.a.sample: must be text (item 2)",
    ),
    (HEAD + 'type = "list"\nof = "list"\nsample = []', "template.toml:4: variables.a.of: must not"),
    (HEAD + 'type = "list"\nof = "url"\nsample = []', "template.toml:4: variables.a.of.hosts: is"),
    (
        HEAD + 'type = "list"\nsample = []\n[variables.a.fields.b]\ntype = "list"\nof = "line"',
        "template.toml:6: variables.a.fields.b.type: must not be a list",
    ),
    (
        HEAD + 'type = "list"\nsample = []\n[variables.a.fields.b]\ntype = "line"\nsample = "c"',
        "template.toml:7: variables.a.fields.b.sample: unknown key",
    ),
    (
        HEAD + 'type = "line"\nsample = "a"',
        "template.toml:2: variables.a: is not used by any file",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=lambda value: str(value)[-50:])
def test_what_is_wrong_is_said_with_file_line_and_key(
    tmp_path: Path, text: str, expected: str
) -> None:
    found = problems(tmp_path, {"template.toml": text, "sms.txt": "Hello"})
    assert any(problem.startswith(f"one/{expected}") for problem in found), found


def test_all_at_once(tmp_path: Path) -> None:
    text = 'description = "x"\ncolour = 1\n[variables.a]\ntype = "x"\n[variables.b]\ntype = "line"'
    assert len(problems(tmp_path, {"template.toml": text, "sms.txt": "Hello"})) == 3


def test_no_sample_is_quoted(tmp_path: Path) -> None:
    text = HEAD + 'type = "name"\nsample = "Secret 7"'
    found = problems(tmp_path, {"template.toml": text, "sms.txt": "{{ a }}"})
    assert len(found) == 1
    assert "Secret" not in found[0]
