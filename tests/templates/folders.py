"""A directory of templates that is valid, to break in one place."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from notify.errors import ConfigError
from notify.templates import Template, Templates, check_templates

# A variable of each type; what a test writes stands in one of the files.
DECLARED: Final = """description = "For tests."
[variables.who]
type = "name"
sample = "Ada"
[variables.note]
type = "text"
sample = "One"
links = true
[variables.title]
type = "line"
sample = "Two"
links = true
[variables.link]
type = "url"
sample = "https://example.com/a?b=c"
hosts = ["*"]
[variables.count]
type = "integer"
sample = 3
[variables.total]
type = "number"
sample = 1234.5
[variables.urgent]
type = "boolean"
sample = true
[variables.day]
type = "date"
sample = 2027-03-01
[variables.at]
type = "datetime"
sample = 2027-03-01T09:00:00+01:00
[variables.tags]
type = "list"
of = "line"
sample = ["a", "b"]
[variables.lines]
type = "list"
sample = [{ what = "Tea", price = 2.5, where = "https://example.com/tea" }]
[variables.lines.fields.what]
type = "line"
links = true
[variables.lines.fields.price]
type = "number"
[variables.lines.fields.where]
type = "url"
hosts = ["*"]
[variables.coupon]
type = "line"
sample = "SPRING"
required = false
"""
_NAMES: Final = re.findall(r"^\[variables\.([a-z]+)\]$", DECLARED, flags=re.M)
# Uses every variable, so that none is reported as unused.
USES_ALL: Final = "".join(f"{{% if {name} %}}{{% endif %}}" for name in _NAMES)


def write(root: Path, files: Mapping[str, str], name: str = "one") -> Path:
    """Writes ``files`` of a template, and those named ``_shared/...``, below ``root``."""
    given = {"template.toml": DECLARED} | dict(files)
    if given["template.toml"] == DECLARED:
        given["sms.txt"] = given.get("sms.txt", "Hello") + USES_ALL
    for file, text in given.items():
        path = root / file if file.startswith("_shared/") else root / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def load(root: Path, files: Mapping[str, str]) -> Template:
    return Templates(write(root, files)).get("one")


def problems(root: Path, files: Mapping[str, str]) -> list[str]:
    """What is wrong, with the directory taken out."""
    found = check_templates(write(root, files))
    try:
        Templates(root).get("one")
    except ConfigError as error:
        assert set(error.problems) <= set(found)
    return [problem.replace(f"{root}/", "") for problem in found]
