"""What a template may say: everything else is refused when it is read, with file and line."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from notify.errors import InvalidNotification
from tests.templates.folders import load, problems

# Known ways out of Jinja2's sandbox, and what is not worth having there.
ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ who.__class__ }}",
    "{{ who['__class__'] }}",
    "{{ who|attr('__class__') }}",
    "{{ [who]|map(attribute='__class__')|list }}",
    "{{ tags|map('attr', '__class__') }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ lipsum(1000) }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ joiner() }}",
    "{{ namespace() }}",
    "{{ dict(a=1) }}",
    "{{ range(10) }}",
    "{% for n in range(99999999) %}{% endfor %}",
    "{{ config }}",
    "{{ request.application }}",
    "{{ self }}",
    "{{ self._TemplateReference__context }}",
    "{{ self.__init__.__globals__ }}",
    "{{ '{0.__class__}'.format(who) }}",
    "{{ '{0.__class__}'.format_map({}) }}",
    "{{ '%s'|format(who) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ 'a' * 999999999 }}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ who|replace('a', 'b' * 999) }}",
    "{{ who|center(999999999) }}",
    "{{ who|safe }}",
    "{{ who|e|safe }}",
    "{{ who|tojson }}",
    "{{ who|xmlattr }}",
    "{{ who|urlize }}",
    "{{ who|striptags }}",
    "{{ who|pprint }}",
    "{{ lines|groupby('__class__') }}",
    "{{ lines|sum(attribute='__class__') }}",
    "{{ lines.__class__ }}",
    "{{ lines[0] }}",
    "{{ tags.index('a') }}",
    "{{ who.upper() }}",
    "{{ who.upper }}",
    "{{ at.tzinfo }}",
    "{% for line in lines %}{{ line.__dict__ }}{% endfor %}",
    "{% for line in lines %}{{ loop.__class__ }}{% endfor %}",
    "{% for line in lines %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for line in lines recursive %}{{ loop(lines) }}{% endfor %}",
    "{% macro a() %}{% endmacro %}",
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{% call who() %}{% endcall %}",
    "{% set who = 'x' %}",
    "{% set a %}x{% endset %}",
    "{% with a = 1 %}{% endwith %}",
    "{% filter upper %}x{% endfilter %}",
    "{% import '_shared/a.txt' as a %}",
    "{% from '_shared/a.txt' import a %}",
    "{% include '../../notify.toml' %}",
    "{% include '_shared/../one/sms.txt' %}",
    "{% include '/etc/passwd' %}",
    "{% include 'sms.txt' %}",
    "{% include 'text.txt' %}",
    "{% include who %}",
    "{% include ['_shared/a.txt', 'b'] %}",
    "{% extends who %}",
    "{% include '_shared/a.html' %}",
    "{% include '_shared/.a.txt' %}",
    "{% autoescape false %}{{ who }}{% endautoescape %}",
    "{% do who.a %}",
    "{% debug %}",
    "{% trans %}x{% endtrans %}",
    "{{ who is callable }}",
    "{{ who is filter }}",
    "{{ super() }}",
    "{{ loop.index }}",
    "{{ caller() }}",
    "{{ {'a': 1} }}",
    "{{ who[0:1] }}",
    "{{ 1 // 0 }}",
    "{{ 1 / 0 }}",
]  # fmt: skip


@pytest.mark.parametrize("text", ESCAPES)
def test_what_could_lead_out_is_refused_with_file_and_line(tmp_path: Path, text: str) -> None:
    found = problems(tmp_path, {"text.txt": f"Hello\n{text}\n"})
    assert found
    assert all(problem.startswith("one/text.txt:2: ") for problem in found)


@pytest.mark.parametrize("text", ESCAPES)
def test_in_html_too(tmp_path: Path, text: str) -> None:
    files = {"subject.txt": "Hello", "html.html": f"<p>\n{text}</p>\n"}
    found = problems(tmp_path, files)
    assert any(problem.startswith(("one/html.html:2: ", "_shared/a.html: ")) for problem in found)


WRONG = [
    ("{{ name }}", "variable 'name' is not declared"),
    ("{% if name %}{% endif %}", "variable 'name' is not declared"),
    ("{% for line in lines %}{{ line.size }}{% endfor %}", "there is no field 'size' here"),
    ("{% for line in lines %}{% endfor %}{{ line.what }}", "variable 'line' is not declared"),
    ("{% for who in lines %}{% endfor %}", "a loop needs one name that is not a variable's"),
    ("{% for a, b in lines %}{% endfor %}", "a loop needs one name"),
    ("{% for c in who %}{% endfor %}", "for goes through a variable of type list only"),
    ("{% for c in [1, 2] %}{% endfor %}", "for goes through a variable of type list only"),
    (
        "{% for a in lines %}{% for b in lines %}{% for c in lines %}"
        "{% endfor %}{% endfor %}{% endfor %}",
        "loops are nested at most 2 deep",
    ),
    ("{{ urgent }}", "a boolean has no text form"),
    ("{{ tags }}", "a list has no text form"),
    ("{{ 'a' ~ coupon }}", "~ joins what always has a text form"),
    ("{{ 'a' ~ urgent }}", "~ joins what always has a text form"),
    ("{{ 'a' if urgent }}", "if needs an else here"),
    ("{{ who|date }}", "filter 'date' does not take a name"),
    ("{{ who|number }}", "filter 'number' does not take a name"),
    ("{{ who|join }}", "filter 'join' does not take a name"),
    ("{{ who|nosuch }}", "filter 'nosuch' is not one of date, default"),
    ("{{ day|date('%A') }}", "date: knows %Y"),
    ("{{ day|date('%H:%M') }}", "date: knows %Y"),
    ("{{ at|date('%H:%M', 'Mars/Base') }}", "date: there is no such time zone"),
    ("{{ at|date('%H:%M', '../../etc/passwd') }}", "date: there is no such time zone"),
    ("{{ at|date(title) }}", "date takes only constants"),
    ("{{ at|date(zone=title) }}", "date takes only constants"),
    ("{{ total|number(99) }}", "number: shows 0 to 15 decimals"),
    ("{{ total|number(decimals=2, colour='red') }}", "number: takes other arguments"),
    ("{{ who|truncate('x') }}", "truncate: takes other arguments"),
    ("{{ who|truncate(*tags) }}", "truncate takes only constants"),
    ("{{ who is odd }}{{ who is nosuch }}", "test 'nosuch' is not one of"),
    ("{{ who", "unexpected end of template"),
    ("{% if who %}", "Unexpected end of template"),
    ("{% nosuch %}", "Encountered unknown tag 'nosuch'"),
    ("{{ " + "(" * 40 + "who" + " ~ 'a')" * 40 + " }}", "is nested too deep"),
    ("{% include '_shared/none.txt' %}", ""),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_what_makes_no_sense_is_said_with_file_and_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    found = problems(tmp_path, {"text.txt": f"Hello\n\n{text}"})
    place = f"one/text.txt:3: {expected}" if expected else "_shared/none.txt: cannot be read"
    assert any(problem.startswith(place) for problem in found), found


@pytest.mark.parametrize(
    "text",
    ["{{ " + "(" * 9999, "{{ " + "9" * 9999 + " }}", "{{ 1e999 }}", "{{ who|default(1e999) }}"],
)
def test_what_no_parser_takes_is_a_problem_like_any(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, {"text.txt": text})


def test_shared_files_are_checked_as_they_are_used(tmp_path: Path) -> None:
    files = {
        "subject.txt": "{{ title }}",
        "html.html": "{% extends '_shared/page.html' %}{% block a %}{{ note }}{% endblock %}",
        "text.txt": "{% include '_shared/end.txt' %}",
        "_shared/page.html": "<p>\n{% block a %}{% endblock %}<b {{ who }}></b></p>",
        "_shared/end.txt": "\n{% include '_shared/end.txt' %}",
    }
    assert problems(tmp_path, files) == [
        "_shared/end.txt:2: a shared file cannot use another",
        "_shared/page.html:2: a value stands inside tag b, outside of a quoted attribute",
    ]


def test_blocks_and_includes_do_not_stand_in_loops(tmp_path: Path) -> None:
    loop = "{% for line in lines %}\n#\n{% endfor %}"
    files = {
        "text.txt": loop.replace("#", "{% include '_shared/a.txt' %}"),
        "subject.txt": "Hi",
        "html.html": loop.replace("#", "{% block a %}{% endblock %}"),
        "_shared/a.txt": "",
    }
    assert problems(tmp_path, files) == [
        "one/text.txt:2: include cannot stand in a loop",
        "one/html.html:2: a block cannot stand in a loop",
    ]


def test_a_subject_is_one_line_of_what_is_one_line(tmp_path: Path) -> None:
    files = {"text.txt": "Hi", "subject.txt": "{{ title }} {{ note }}\n"}
    found = problems(tmp_path, files)
    assert found == ["one/subject.txt:1: a text may have line breaks: a subject takes a line"]
    files["subject.txt"] = "{{ title }}\nfor {{ who }}\n"
    assert problems(tmp_path, files) == ["one/subject.txt:1: has two lines"]


def test_what_is_allowed_works(tmp_path: Path) -> None:
    text = (
        "{{ who|upper }} {{ count }} {{ total|number(2, point=',', thousands='.') }} {{ total }}\n"
        "{{ day }} {{ day|date('%-d.%-m.%y') }} {{ at|date('%d.%m.%Y %H:%M', 'Asia/Kolkata') }}\n"
        "{% for line in lines if line.price > 1 %}\n"
        "{{ loop.index }}/{{ loop.length }} {{ line.what }} {{ line.price + 1 }}\n"
        "{% else %}\nnothing\n{% endfor %}\n"
        "{{ tags|join(' & ') }} {{ tags|length }} {{ coupon|default('none') }}\n"
        "{{ 'yes' if urgent and not count is even else 'no' }} {{ who ~ '!' ~ count }}\n"
        "{% if title in ['Two', 'Three'] %}{{ note|truncate(2) }}{% endif %}{{ title|urlencode }}\n"
    )
    template = load(tmp_path, {"text.txt": text, "subject.txt": "Hi"})
    values = {**template.samples, "note": "A long note", "title": "Two", "coupon": None}
    assert (template.render("email", values).body or "").splitlines() == [
        "ADA 3 1.234,50 1234.5",
        "2027-03-01 1.3.27 01.03.2027 13:30",
        "1/1 Tea 3.5",
        "a & b 2 none",
        "yes Ada!3",
        "A…Two",
    ]


def test_what_is_joined_is_what_is_shown(tmp_path: Path) -> None:
    text = "{{ total ~ '|' ~ at ~ '|' ~ day }}\n{{ total }}|{{ at }}|{{ day }}"
    files = {"subject.txt": "Hi", "text.txt": text, "json.json": text.partition("\n")[0]}
    template = load(tmp_path, files)
    at = datetime(2027, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)
    for total, shown in ((Decimal("0.00000000"), "0.00000000"), (1e-7, "0.0000001"), (9, "9")):
        values = {**template.samples, "total": total, "at": at}
        expected = f"{shown}|2027-03-01 09:00:00+00:00|2027-03-01"
        assert (template.render("email", values).body or "").splitlines() == [expected] * 2
        assert template.render("webhook", values).data == expected


def test_what_grows_without_end_is_stopped(tmp_path: Path) -> None:
    text = "{% for a in tags %}{% for b in tags %}{{ note }}{{ note }}{% endfor %}{% endfor %}"
    template = load(tmp_path, {"text.txt": text})
    values = {**template.samples, "tags": ["x"] * 100, "note": "secret" * 1000}
    with pytest.raises(InvalidNotification, match=r"text.txt: has more than 1000000 characters"):
        template.render("webhook", values)


def test_what_fails_with_certain_values_says_where_and_not_with_which(tmp_path: Path) -> None:
    template = load(tmp_path, {"text.txt": "Hello\n{% if who > count %}{% endif %}"})
    with pytest.raises(InvalidNotification) as refused:
        template.render("webhook", {**template.samples, "who": "Secret"})
    assert str(refused.value) == ("template: one: text.txt:2: cannot be rendered with these values")


def test_what_was_not_given_cannot_be_shown_by_mistake(tmp_path: Path) -> None:
    found = problems(tmp_path, {"text.txt": "Code:\n{{ coupon }}"})
    assert found == [
        "one: webhook with the required samples: template: one: text.txt:2: has no text form:"
        " test it with if, or give it a default"
    ]
