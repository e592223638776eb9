"""What a value of each type may be; what it may not is said with its name, never with itself."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.errors import InvalidNotification
from notify.templates import Template
from tests.templates.folders import DECLARED, USES_ALL, load

STRICT = DECLARED.replace("links = true\n", "").replace('["*"]', '["example.com"]')
WRONG: list[tuple[str, Any, str]] = [
    ("who", 7, "must be text"),
    ("who", None, "is required"),
    ("who", "  ", "must not be empty"),
    ("who", "Ada 7", "must consist of letters"),
    ("who", "Ada/", "must consist of letters"),
    ("who", "Ada, click", "must consist of letters"),
    ("who", "Visit evil.com", "contains what a program may show as a link"),
    ("who", "A" * 101, "must have at most 100 characters"),
    ("who", "Ada\nBcc", "must not contain control characters or line breaks"),
    ("who", "\u202eAda", "must consist of letters"),
    ("who", "half \ud83d", "contains an unpaired surrogate"),
    ("title", "a\r\nb", "must not contain control characters or line breaks"),
    ("title", "Booking.com", "contains what a program may show as a link"),
    ("note", "see https://a", "contains what a program may show as a link"),
    ("note", "see HTTP:/a", "contains what a program may show as a link"),
    ("note", "www.evil", "contains what a program may show as a link"),
    ("note", "ada@example.com", "contains what a program may show as a link"),
    ("note", "пример.рф", "contains what a program may show as a link"),
    ("note", "evil。com", "contains what a program may show as a link"),
    ("note", "mailto:a", "contains what a program may show as a link"),
    ("note", "a\x00b", "must not contain control characters"),
    ("note", "a" * 10_001, "must have at most 10000 characters"),
    ("link", "javascript:alert(1)", "must be a URL like"),
    ("link", "data:text/html,x", "must be a URL like"),
    ("link", "//example.com/", "must be a URL like"),
    ("link", "https://", "must be a URL like"),
    ("link", "https://example.com/ x", "must be a URL like"),
    ("link", 'https://example.com/"x', "must be a URL like"),
    ("link", "https://example.com/ü", "must be a URL like"),
    ("link", "https://u:p@example.com/", "must be a URL like"),
    ("link", "https://example.com\\@evil.example/", "must be a URL like"),
    ("link", "https://[::1/", "must be a URL like"),
    ("link", "https://example.com:0/", "must be a URL like"),
    ("link", "https://example.com:99999/", "must be a URL like"),
    ("link", "https://example.com.evil.example/", "is not at one of the declared hosts"),
    ("link", "https://evil.example/?example.com", "is not at one of the declared hosts"),
    ("count", "3", "must be a whole number"),
    ("count", True, "must be a whole number"),
    ("count", 3.0, "must be a whole number"),
    ("count", 10**16, "must have at most 15 digits"),
    ("total", "3", "must be a number"),
    ("total", False, "must be a number"),
    ("total", float("nan"), "must have at most 15 digits"),
    ("total", float("inf"), "must have at most 15 digits"),
    ("total", Decimal("1e999999"), "must have at most 15 digits"),
    ("total", Decimal("sNaN"), "must have at most 15 digits"),
    ("total", Decimal("1e-999999"), "must have at most 30 decimal places"),
    ("urgent", 1, "must be true or false"),
    ("urgent", "true", "must be true or false"),
    ("day", "2027-03-01", "must be a date"),
    ("day", datetime(2027, 3, 1, tzinfo=UTC), "must be a date"),
    ("at", date(2027, 3, 1), "must be a date and time with a UTC offset"),
    ("at", datetime(2027, 3, 1), "must be a date and time with a UTC offset"),  # noqa: DTZ001
    ("tags", "ab", "must be a list"),
    ("tags", [], "must not be empty"),
    ("tags", ["a"] * 101, "must have at most 100 items"),
    ("tags", ["a", 7], "2: must be text"),
    ("lines", ["a"], "1: must have the declared fields"),
    ("lines", [{"what": "Tea", "price": 1}], "1.where: is required"),
    (
        "lines",
        [{"what": "Tea", "price": 1, "where": "https://example.com/", "size": 2}],
        "1.size: is not declared",
    ),
    ("lines", [{"what": "a\nb", "price": 1, "where": "https://example.com/"}], "1.what: must not"),
]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    root = tmp_path_factory.mktemp("templates")
    return load(root, {"template.toml": STRICT, "text.txt": f"Hello{USES_ALL}"})


@pytest.mark.parametrize(("name", "value", "expected"), WRONG, ids=lambda value: str(value)[:40])
def test_what_does_not_fit_is_refused_by_name(
    template: Template, name: str, value: Any, expected: str
) -> None:
    with pytest.raises(InvalidNotification) as refused:
        template.render("webhook", {**template.samples, name: value})
    place, _, problem = expected.rpartition(": ")
    assert refused.value.field == ".".join(filter(None, ("variables", name, place)))
    assert refused.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("who", "J. R. R. Tolkien"),
        ("who", "J.R.R. Tolkien-O’Brien"),
        ("who", "Nguyễn Thị Ánh"),
        ("who", "李小龍"),
        ("who", "محمد عبد‌الله"),
        ("who", "राजेन्द्र"),
        ("who", "レオナルド・ダ・ヴィンチ"),
        ("title", "Version 1.2, z.B. 50 % (v1.10)"),
        ("title", "您好。欢迎光临。"),
        ("note", "Line\n\tTwo\r\nThree... and so on. 10.50 EUR"),
        ("note", "at 10:30, a/b: c"),
        ("link", "https://example.com:8443/a%20b?c=d&e='f'#g"),
        ("link", "HTTP://EXAMPLE.com"),
        ("total", Decimal("1e3")),
        ("total", 0.1),
        ("count", -5),
        ("urgent", False),
        ("coupon", ""),
        ("coupon", None),
        ("tags", ("a",)),
    ],
)
def test_what_fits_is_taken(template: Template, name: str, value: Any) -> None:
    template.render("webhook", {**template.samples, name: value})


def test_what_is_missing_or_unknown_is_named(template: Template) -> None:
    values = dict(template.samples)
    del values["who"]
    with pytest.raises(InvalidNotification, match=r"^variables.who: is required$"):
        template.render("webhook", values)
    with pytest.raises(InvalidNotification, match=r"^variables.size: is not declared$"):
        template.render("webhook", {**template.samples, "size": "Secret"})


@pytest.mark.parametrize("name", ["+491701234567", "Ada Lovelace", "a" * 99, 7, ""])
def test_what_can_be_no_name_is_not_shown(template: Template, name: Any) -> None:
    with pytest.raises(InvalidNotification, match=r"^variables: is not declared$"):
        template.render("webhook", {**template.samples, name: 1})
    with pytest.raises(InvalidNotification, match=r"^variables: must be values by name$"):
        template.render("webhook", name)


TEXTS = {
    "who": "Ada",
    "count": "-3",
    "total": "1234.50",
    "urgent": "false",
    "day": "2027-03-01",
    "at": "2027-03-01T09:00:00+01:00",
    "tags": '["a", "b"]',
    "lines": '[{"what": "Tea", "price": 2.5, "where": "https://example.com/"}]',
}


def test_texts_are_read_as_their_types(template: Template) -> None:
    values = template.read(TEXTS)
    assert values["who"] == "Ada"
    assert (values["count"], values["urgent"]) == (-3, False)
    assert str(values["total"]) == "1234.50"
    assert values["day"] == date(2027, 3, 1)
    assert values["at"] == datetime(2027, 3, 1, 8, tzinfo=UTC)
    assert values["tags"] == ["a", "b"]
    assert values["lines"][0]["price"] == Decimal("2.5")
    template.render("webhook", {**template.samples, **values})


@given(name=st.sampled_from(sorted(TEXTS)), text=st.text())
def test_any_text_is_read_or_refused_in_one_way(template: Template, name: str, text: str) -> None:
    try:
        template.render("webhook", {**template.samples, **template.read({name: text})})
    except InvalidNotification as error:
        assert error.field.startswith(f"variables.{name}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("count", "1_000"),
        ("count", "٣"),
        ("count", "9" * 5000),
        ("total", "1e5"),
        ("total", "1."),
        ("total", ".5"),
        ("total", "NaN"),
        ("total", "1,5"),
        ("urgent", "yes"),
        ("day", "tomorrow"),
        ("at", "noon"),
        ("tags", "a"),
        ("tags", "{}"),
        ("tags", "[" * 99_999),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(template: Template, name: str, text: str) -> None:
    with pytest.raises(InvalidNotification, match=f"^variables.{name}: must be a|or false"):
        template.read({name: text})


def test_numbers_are_shown_exactly(tmp_path: Path) -> None:
    text = "{{ total }} {{ total|number(2) }} {{ total|number }}\n{{ count|number(1) }}"
    template = load(tmp_path, {"text.txt": text})

    def shown(total: Any) -> str:
        values = {**template.samples, "total": total, "count": -1}
        return (template.render("webhook", values).body or "").partition("\n")[0]

    assert shown(Decimal("1234.50")) == "1234.50 1234.50 1235"
    assert shown(Decimal("1e3")) == "1000 1000.00 1000"
    assert shown(0.1 + 0.2) == "0.30000000000000004 0.30 0"
    assert shown(-0.005) == "-0.005 -0.01 0"
    assert shown(10**15) == "1000000000000000 1000000000000000.00 1000000000000000"
