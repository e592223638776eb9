"""JSON templates: right by construction, or refused with file and line."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from notify.errors import InvalidNotification
from tests.templates.folders import load, problems

WRONG = [
    ('{"a": "{{ who }}"}', "one/json.json:2: a value stands in quotes: write"),
    ('{"a": "x {{ who }} y"}', "one/json.json:2: a value stands in quotes: write"),
    ('{"a": "{% if who %}b{% endif %}"}', "one/json.json:2: a value stands in quotes"),
    ('{"a": "\\"{{ who }}"}', "one/json.json:2: a value stands in quotes"),
    ('{"a": "b{{ who }}', "one/json.json:2: a text is not closed on its line"),
    ('{"a": "b\nc"}', "one/json.json:2: a text is not closed on its line"),
    ('{ {{ who }}: 1}', "one/json.json:2: a value cannot be the name of a field"),
    ('{ {{ who }}{% if who %} : {% endif %}1}', "one/json.json:2: a value cannot be the name"),
    ('{"a": {{ who }}', "one: webhook with its samples: template: one: json.json: is not valid"),
    ('{"a": {{ count }}{{ count }}}', "one: webhook with its samples: template: one: json.json"),
    ('{"a": 1{{ count }}}', "one: webhook with its samples: template: one: json.json: is not"),
    ('{"a": {{ who }},}', "one: webhook with its samples: template: one: json.json: is not"),
    ('{"a": 1, "a": {{ who }}}', "one: webhook with its samples: template: one: json.json: a f"),
    ('{"a": NaN}', "one: webhook with its samples: template: one: json.json: has a number"),
    ("[" * 50_000, "one: webhook with its samples: template: one: json.json: is nested too"),
    ("{ {% if urgent %}{{ who }}{% else %}1{% endif %}: 1}", "one: webhook with its samples: t"),
    ("{{ coupon }}", "one: webhook with the required samples: data: data or body is required"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=lambda value: str(value)[:40])
def test_what_is_no_json_or_would_paste_a_value_is_refused(
    tmp_path: Path, text: str, expected: str
) -> None:
    found = problems(tmp_path, {"json.json": f"\n{text}"})
    assert found
    assert all(problem.startswith(expected) for problem in found), found


def test_every_type_becomes_its_json(tmp_path: Path) -> None:
    text = """{
      "who": {{ who }}, "greeting": {{ "Hello " ~ who ~ "!" }}, "count": {{ count }},
      "total": {{ total }}, "shown": {{ total|number(2) }}, "urgent": {{ urgent }},
      "day": {{ day }}, "at": {{ at }}, "tags": {{ tags }}, "lines": {{ lines }},
      "coupon": {{ coupon }}, "kind": {{ 1 }}, "rate": {{ 0.5 }},
      "each": [{% for line in lines %}{{ line.what }}{% if not loop.last %},{% endif %}{% endfor %}]
    }"""
    template = load(tmp_path, {"json.json": text})
    note = 'a"}, {{ who }} \\ </script> 👩🏽‍💻'
    item = {"what": note, "price": 2.5, "where": "https://example.com/tea"}
    values = {**template.samples, "tags": [note], "lines": [item], "coupon": None}
    assert template.render("webhook", values).data == {
        "who": "Ada",
        "greeting": "Hello Ada!",
        "count": 3,
        "total": 1234.5,
        "shown": "1234.50",
        "urgent": True,
        "day": "2027-03-01",
        "at": "2027-03-01T09:00:00+01:00",
        "tags": [note],
        "lines": [item],
        "coupon": None,
        "kind": 1,
        "rate": 0.5,
        "each": [note],
    }


def test_a_branch_that_no_sample_took_fails_without_quoting(tmp_path: Path) -> None:
    text = '{"a": {{ who }}{% if count > 3 %},{% endif %}}'
    template = load(tmp_path, {"json.json": text})
    assert template.render("webhook", template.samples).data == {"a": "Ada"}
    with pytest.raises(InvalidNotification) as refused:
        template.render("webhook", {**template.samples, "count": 4, "who": "Secret"})
    assert str(refused.value).startswith("template: one: json.json: is not valid JSON")
    assert "Secret" not in str(refused.value)


def test_an_instant_keeps_its_offset(tmp_path: Path) -> None:
    template = load(tmp_path, {"json.json": "[{{ at }}]"})
    values = {**template.samples, "at": datetime(2027, 1, 1, tzinfo=UTC)}
    assert template.render("webhook", values).data == ["2027-01-01T00:00:00+00:00"]
