"""Whatever a value is, the message has the same structure: tags, fields, lines, and the rest."""

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from notify.errors import InvalidNotification
from notify.templates import Template
from tests.templates.folders import load

NASTY = [
    "{{ 7*7 }}",
    "{% if 1 %}x{% endif %}",
    "{# gone #}",
    "${7*7} #{7*7} <%= 7*7 %>",
    "<script>alert(1)</script>",
    "</title></style><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\" onclick='x' title=\"",
    "' style='x",
    "`x` = > < & &lt; &#60; &amp;lt;",
    "<!-- --> ]]> <![CDATA[",
    '"}, "admin": true, "x": {"y": "',
    '\\", \\u0022, \\\\"',
    "null",
    "Subject: x Bcc: y",
    "👩🏽‍💻 🇩🇪",
    "مرحبا بك",
    "您好。欢迎光临",
    "e\u0301\u0323 Z\u0351\u036b\u0343",
    "\u202eevil\u202c \u200f",
    "%s %(x)s {0} {0.__class__}",
    "=1+1",
    "+ADw-script+AD4-",
]
CONTROLS = [chr(code) for code in (*range(32), *range(127, 160), 0x2028, 0x2029)]
LINES = st.one_of(
    st.sampled_from(NASTY),
    st.lists(st.sampled_from([*NASTY, "<", ">", '"', "'", "{{", "}}", "&", "\\"])).map("".join),
    st.text(),
).filter(lambda text: bool(text.strip()) and len(text) <= 200 and _printable(text))
TEXTS = st.one_of(LINES, st.lists(LINES, min_size=1, max_size=4).map("\n".join))
HTML = """<!doctype html><html><head><title>{{ title }}</title></head><body>
<p title="{{ title }}" class='{{ title }}'>{{ note }}</p>
{% for line in lines %}
<li><a href="{{ line.where }}" title='{{ line.what }}'>{{ line.what }}</a></li>
{% endfor %}
<a href="https://example.com/?a={{ title|urlencode }}&amp;b={{ note|urlencode }}">x</a>
{{ title|upper }} {{ "<i>" ~ note ~ "</i>" }} {{ tags|join("<br>") }} {{ note|truncate(9) }}
</body></html>"""
JSON = """{"title": {{ title }}, "note": {{ "say: " ~ note }}, "tags": {{ tags }},
"lines": [{% for line in lines %}{"what": {{ line.what }}}{% if not loop.last %},{% endif %}
{% endfor %}], "upper": {{ title|upper }}, "short": {{ note|truncate(9) }} }"""


def _printable(text: str) -> bool:
    return not set(CONTROLS) & set(text) and not any("\ud800" <= c <= "\udfff" for c in text)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    files = {
        "subject.txt": "Hi {{ title }}!\n",
        "text.txt": "Hello,\n{{ note }}\n{{ title }}",
        "html.html": HTML,
        "sms.txt": "To {{ title }}: {{ note }}.",
        "json.json": JSON,
    }
    return load(tmp_path_factory.mktemp("templates"), files)


class _Events(HTMLParser):
    """What a parser sees, without the texts; ``data`` is what a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.events: list[Any] = []
        self.attributes: list[str] = []
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.events.append((tag, [name for name, _ in attrs]))
        self.attributes.extend(value or "" for _, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        self.events.append(tag)

    def handle_comment(self, data: str) -> None:
        self.events.append(("comment", data))

    def handle_decl(self, decl: str) -> None:
        self.events.append(("declaration", decl))

    def unknown_decl(self, data: str) -> None:
        self.events.append(("unknown", data))

    def handle_pi(self, data: str) -> None:
        self.events.append(("instruction", data))

    def handle_data(self, data: str) -> None:
        self.data += data


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shape(item) for name, item in value.items()}
    return [_shape(item) for item in value] if isinstance(value, list) else type(value)


def _values(template: Template, title: str, note: str) -> dict[str, Any]:
    line = {"what": title, "price": 1, "where": "https://example.com/"}
    tags = [title.replace(".", "").replace("/", "").replace("@", "") or "x"]
    try:
        template.variables["tags"].accept(tags)
    except ValueError:
        tags = ["x"]
    return {**template.samples, "title": title, "note": note, "lines": [line], "tags": tags}


@given(title=LINES, note=TEXTS)
def test_html_has_the_same_tags_and_attributes(template: Template, title: str, note: str) -> None:
    plain = _Events(template.render("email", _values(template, "a", "b")).html or "")
    filled = _Events(template.render("email", _values(template, title, note)).html or "")
    assert filled.events == plain.events
    assert note in filled.data
    assert filled.attributes[:2] == [title, title]
    links = [value for value in filled.attributes if value.startswith("https://")]
    assert links[0] == "https://example.com/"
    assert links[1].startswith("https://example.com/?a=")
    assert links[1].count("&") == 1


@given(title=LINES, note=TEXTS)
def test_json_has_the_same_fields_and_the_values_whole(
    template: Template, title: str, note: str
) -> None:
    plain = template.render("webhook", _values(template, "a", "b")).data
    values = _values(template, title, note)
    filled = template.render("webhook", values).data
    assert _shape(filled) == _shape(plain)
    assert filled["title"] == title
    assert filled["note"] == f"say: {note}"
    assert filled["lines"] == [{"what": title}]
    assert filled["tags"] == values["tags"]
    assert json.loads(json.dumps(filled)) == filled


@given(title=LINES, note=TEXTS)
def test_texts_have_the_value_as_it_is_and_a_subject_one_line(
    template: Template, title: str, note: str
) -> None:
    values = _values(template, title, note)
    mail = template.render("email", values)
    assert mail.subject == f"Hi {title}!"
    assert len(mail.subject.splitlines()) == 1
    assert (mail.body or "").startswith(f"Hello,\n{note}\n{title}")
    assert (template.render("sms", values).body or "").startswith(f"To {title}: {note}.")


@given(text=st.text(max_size=300))
def test_any_text_is_taken_whole_or_refused_without_being_quoted(
    template: Template, text: str
) -> None:
    for name in ("who", "title", "note", "link", "coupon"):
        try:
            rendered = template.render("sms", {**template.samples, name: text})
        except InvalidNotification as error:
            assert error.field == f"variables.{name}"
            assert len(text) < 9 or text not in str(error)
        else:
            assert name not in ("title", "note") or text in (rendered.body or "")


class _Sly(str):
    """Says of itself that it is safe markup."""

    def __html__(self) -> str:
        return "<b>sly</b>"

    def __str__(self) -> str:
        return "<i>sly</i>"

    def __format__(self, spec: str) -> str:
        return "<u>sly</u>"


@pytest.mark.parametrize("text", [Markup("<b>bold</b>"), _Sly("<b>bold</b>")])
def test_a_value_that_calls_itself_safe_is_text_like_any(template: Template, text: str) -> None:
    rendered = template.render("email", _values(template, text, text))
    assert "<b>" not in (rendered.html or "")
    assert "&lt;b&gt;bold&lt;/b&gt;" in (rendered.html or "")
    assert rendered.subject == "Hi <b>bold</b>!"


@pytest.mark.parametrize("control", CONTROLS, ids=repr)
def test_no_control_character_reaches_a_subject(template: Template, control: str) -> None:
    for name in ("title", "who", "coupon", "link"):
        with pytest.raises(InvalidNotification, match=f"variables.{name}: "):
            template.render("email", {**template.samples, name: f"a{control}b"})
    if control not in "\t\n\r\u2028\u2029":
        with pytest.raises(InvalidNotification, match=r"variables.note: "):
            template.render("email", {**template.samples, "note": f"a{control}b"})
