"""Where a value may stand in HTML, and where not: said with file and line."""

from pathlib import Path

import pytest

from tests.templates.folders import load, problems

WRONG = [
    ("<{{ who }}>", "is not HTML that can be checked here"),
    ("<a{{ who }}>", "a value stands inside tag a, outside of a quoted attribute"),
    ("<p {{ who }}>", "a value stands inside tag p, outside of a quoted attribute"),
    ("<p {{ who }}='x'>", "a value stands inside tag p"),
    ("<p title={{ who }}>", "attribute title with a value in it must be quoted"),
    ("<p title=a{{ who }}>", "attribute title with a value in it must be quoted"),
    ("<p title='a'{{ who }}>", "a value stands inside tag p"),
    ("</{{ who }}>", "is not HTML that can be checked here"),
    ("<p style='color: {{ who }}'>", "attribute style of p cannot contain values"),
    ("<p onclick='{{ who }}'>", "attribute onclick has no place in a message"),
    ("<p ONCLICK=go()>", "attribute onclick has no place in a message"),
    ("<p data-x='{{ who }}'>", "attribute data-x of p cannot contain values"),
    ("<p id='{{ who }}'>", "attribute id of p cannot contain values"),
    ("<meta http-equiv=refresh content='{{ link }}'>", "attribute content of meta cannot"),
    ("<link rel=stylesheet href='{{ link }}'>", "attribute href of link cannot contain"),
    ("<img srcset='{{ link }}'>", "attribute srcset of img cannot contain values"),
    ("<body background='{{ link }}'>", "attribute background of body cannot contain"),
    ("<a href='{{ who }}'>", "attribute href takes one variable of type url"),
    ("<a href='{{ link|upper }}'>", "attribute href takes one variable of type url"),
    ("<a href='{{ link }}x'>", "attribute href takes one variable of type url"),
    ("<a href='x{{ link }}'>", "attribute href takes one variable of type url"),
    ("<a href='{{ link }}{{ link }}'>", "attribute href takes one variable of type url"),
    ("<a href='https://{{ who }}'>", "attribute href takes one variable of type url"),
    ("<a href='https://{{ who|urlencode }}/?a=b'>", "attribute href takes one variable"),
    ("<a href='https://a.example/{{ who|urlencode }}'>", "attribute href takes one variable"),
    ("<a href='https://a.example/?a={{ who }}'>", "attribute href takes one variable of type"),
    ("<a href='javascript:go({{ who|urlencode }})'>", "attribute href runs or embeds"),
    ("<a href=' javascript:go()'>", "attribute href runs or embeds"),
    ("<a href='&#106;avascript&colon;go()'>", "attribute href runs or embeds"),
    ("<a href='java\nscript:go()'>", "attribute href runs or embeds"),
    ("<img src='data:image/png;base64,AAAA'>", "attribute src runs or embeds"),
    ("<a href='mailto:{{ who|urlencode }}'>", "attribute href takes one variable of type url"),
    ("<a href={{ link }}>", "attribute href with a value in it must be quoted"),
    ("<img src='{{ title }}'>", "attribute src takes one variable of type url"),
    ("<!-- {{ who }} -->", "a comment cannot contain values or statements"),
    ("<!-- {% if who %}{% endif %} -->", "a comment cannot contain values or statements"),
    ("<!--> {{ who }} -->", "is not a comment that every program ends at the same place"),
    ("<!-- a --!> b -->", "is not a comment that every program ends at the same place"),
    ("<!-- a <!-- b -->", "is not a comment that every program ends at the same place"),
    ("<!-- a", "is not a comment that every program ends at the same place"),
    ("<!-- a >", "is not a comment that every program ends at the same place"),
    ("<!doctype {{ who }}>", "a comment cannot contain values or statements"),
    ("<?xml ?>", "is not HTML that can be checked here"),
    ("a < b", "is not HTML that can be checked here: write < as &lt;"),
    ("<p", "tag p is not HTML that can be checked here"),
    ("<p title='a>", "tag p is not HTML that can be checked here"),
    ("<p title='a'class='b'>", "tag p is not HTML that can be checked here"),
    ("<script>{{ who }}</script>", "element script has no place in a message"),
    ("<SCRIPT src='a'>", "element script has no place in a message"),
    ("<iframe src='{{ link }}'>", "element iframe has no place in a message"),
    ("<form action='{{ link }}'>", "element form has no place in a message"),
    ("<textarea>{{ who }}</textarea>", "element textarea has no place in a message"),
    ("<svg><style>{{ who }}</style></svg>", "element svg has no place in a message"),
    ("<base href='{{ link }}'>", "element base has no place in a message"),
    ("<style>{{ who }}</style>", "element style cannot contain values or statements"),
    ("<style>{% if who %}a{% endif %}</style>", "element style cannot contain values"),
    ("<style>a { }", "element style is not closed"),
    ("<title>{{ who }}", "element title is not closed"),
    ("<title><b>{{ who }}</b></title>", "element title cannot contain tags"),
    ("<p {% if who %}title='a'{% endif %}>", "a statement stands inside a tag"),
    ("<p title='{% if who %}a{% endif %}'>", "a statement stands inside a tag"),
    ("<p title={% if who %}a{% endif %}>", "a statement stands inside a tag"),
    ("{% if who %}<p title='{% else %}<p title='{% endif %}{{ who }}'>", "a statement stands"),
    ("{% if who %}<!--{% endif %}{{ who }}-->", "a comment cannot contain values"),
    ("{% for a in tags %}<p title='{% endfor %}'>", "a statement stands inside a tag"),
    ("<p {% block a %}{% endblock %}>", "a statement stands inside a tag"),
    ("<p {% include '_shared/a.html' %}>", "a statement stands inside a tag"),
    ("{% raw %}<p title='{% endraw %}{{ who }}", "a value stands inside tag p"),
    ("{% raw %}<p title={% endraw %}{{ who }}>", "attribute title with a value in it"),
    ("{#- a -#}<p{# b #}{{ who }}>", "a value stands inside tag p"),
    ("\ue000{{ who }}", ""),
]


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=lambda value: str(value)[:50])
def test_a_value_where_it_could_be_more_than_text_is_refused(
    tmp_path: Path, text: str, expected: str
) -> None:
    files = {
        "subject.txt": "Hi",
        "html.html": f"<p>\n\n{text}\n</p>",
        "_shared/a.html": "title='a'",
    }
    found = problems(tmp_path, files)
    place = f"one/html.html:3: {expected}" if expected else "one/html.html: contains a character"
    assert any(problem.startswith(place) for problem in found), found


@pytest.mark.parametrize(
    "text",
    [
        "<p>{{ who }}{{ note }}{{ title }}{{ total }}</p>",
        "<P Title = 'a {{ who }} b' class=\"{{ 'red' if urgent else 'blue' }}\" hidden>",
        "<a href='{{ link }}' title='{{ title }}'>{{ link }}</a><br/><hr />",
        '<img src="{{ link }}" alt="{{ title }}" width=\'{{ count }}\'>',
        "<a href='https://a.example/b/?c={{ who|urlencode }}&amp;d={{ note|urlencode }}#e'>x</a>",
        "{% for line in lines %}<a href='{{ line.where }}'>{{ line.what }}</a>{% endfor %}",
        "<a href='mailto:help@example.com?subject=Hello'>write</a><a href=#top>up</a>",
        "<title>{{ title }}{% if who %} for {{ who }}{% endif %}</title>",
        "<!-- a comment - with <b> --><!--[if mso]><table><tr><td><![endif]-->{{ who }}",
        "<![if !mso]>{{ who }}<![endif]><!--[if !mso]><!-->{{ who }}<!--<![endif]-->",
        "<!doctype html><html><head><style>p > a { color: red }</style></head></html>",
        "{% if urgent %}<b>{% else %}<i>{% endif %}{{ who }}",
        "a > b &amp; c {{ who }}",
    ],
)
def test_what_mails_are_made_of_is_taken(tmp_path: Path, text: str) -> None:
    load(tmp_path, {"subject.txt": "Hi", "html.html": text})
    assert problems(tmp_path, {"subject.txt": "Hi", "html.html": text}) == []
