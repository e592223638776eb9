"""A directory of templates: what is there, what is in it, and which version it is."""

from pathlib import Path

import pytest

from notify.errors import ConfigError, InvalidNotification
from notify.templates import Templates, check_templates
from tests.templates.folders import load, problems, write
from tests.unit.test_config import SHIPPED

PLAIN = {"template.toml": 'description = "x"', "sms.txt": "Hello"}


def test_the_shipped_templates_are_valid() -> None:
    directory = SHIPPED / "templates"
    assert check_templates(directory) == []
    templates = Templates(directory)
    assert templates.names() == ["code", "welcome"]
    assert templates.get("code").channels == ("sms",)
    assert templates.get("welcome").channels == ("sms", "email", "webhook")


def test_no_directory_is_no_template(tmp_path: Path) -> None:
    assert Templates(tmp_path / "none").names() == []
    assert check_templates(tmp_path / "none") == []


@pytest.mark.parametrize("name", ["two", "", "..", "../one", "_shared", "/etc", "one/"])
def test_what_is_not_there_is_refused_with_what_is(tmp_path: Path, name: str) -> None:
    write(tmp_path, PLAIN | {"_shared/a.txt": ""})
    with pytest.raises(InvalidNotification) as refused:
        Templates(tmp_path).get(name)
    assert str(refused.value) == "template: there is no such template; known: one"


def test_what_is_no_folder_is_no_template(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("Not a template.")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    templates = Templates(tmp_path)
    assert templates.names() == []
    for name in ("notes", "gone"):
        with pytest.raises(InvalidNotification, match="no such template; known: none"):
            templates.get(name)


def test_each_channel_has_its_files(tmp_path: Path) -> None:
    files = {"subject.txt": "S", "text.txt": "T\n", "html.html": "<p>H</p>", "sms.txt": "M\n"}
    template = load(tmp_path, files | {"json.json": '{"a": 1}'})
    mail, sms, hook = (
        template.render(channel, template.samples) for channel in ("email", "sms", "webhook")
    )
    assert (mail.subject, mail.body, mail.html, mail.data) == ("S", "T", "<p>H</p>", None)
    assert (sms.subject, (sms.body or "").strip(), sms.html) == (None, "M", None)
    assert (hook.subject, hook.body, hook.data) == (None, None, {"a": 1})
    assert {mail.name, sms.name, hook.name} == {"one"}
    assert {mail.version, sms.version, hook.version} == {template.version}


def test_a_webhook_without_json_posts_subject_and_text(tmp_path: Path) -> None:
    template = load(tmp_path, PLAIN | {"subject.txt": "S", "text.txt": "T"})
    hook = template.render("webhook", {})
    assert (hook.subject, hook.body, hook.data) == ("S", "T", None)


def test_a_channel_without_files_is_refused(tmp_path: Path) -> None:
    template = load(tmp_path, PLAIN)
    with pytest.raises(InvalidNotification, match="one has nothing for channel email; it has sms"):
        template.render("email", {})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"template.toml": 'description = "x"'}, "one: there is nothing to send; add some of sub"),
        (PLAIN | {"html.html": "<p>"}, "one: html.html needs subject.txt beside it"),
        (PLAIN | {"text.txt~": ""}, "one/text.txt~: unknown file; known: template.toml, subject"),
        (PLAIN | {"sms.txt": "x" * 300_000}, "one/sms.txt: has more than 262144 bytes"),
        (PLAIN | {"sms.txt": ""}, "one: sms with its samples: body: is required for sms"),
        (
            PLAIN | {"subject.txt": " ", "text.txt": ""},
            "one: email with its samples: body: body or html is required",
        ),
    ],
)
def test_a_folder_that_cannot_be_sent_is_a_problem(
    tmp_path: Path, files: dict[str, str], expected: str
) -> None:
    found = problems(tmp_path, files)
    assert any(problem.startswith(expected) for problem in found), found


def test_files_that_are_not_text_or_missing_are_problems(tmp_path: Path) -> None:
    write(tmp_path, PLAIN)
    (tmp_path / "one/sms.txt").write_bytes(b"Gr\xfc\xdfe")
    (tmp_path / "two").mkdir()
    (tmp_path / "Bad Name").mkdir()
    (tmp_path / "note.txt").write_text("", encoding="utf-8")
    (tmp_path / ".hidden").write_text("", encoding="utf-8")
    found = [problem.replace(f"{tmp_path}/", "") for problem in check_templates(tmp_path)]
    assert found == [
        "Bad Name: is not a directory named by a-z, 0-9, '_' and '-'",
        "note.txt: is not a directory named by a-z, 0-9, '_' and '-'",
        "one/sms.txt: is not UTF-8 text at byte 2",
        "two: template.toml is missing",
    ]
    with pytest.raises(ConfigError, match="is not UTF-8"):
        Templates(tmp_path).get("one")


def test_a_version_names_all_that_is_rendered(tmp_path: Path) -> None:
    files = PLAIN | {"sms.txt": "{% include '_shared/a.txt' %}", "_shared/a.txt": "Hello"}

    def version(**changed: str) -> str:
        write(tmp_path, files | {name.replace("__", "."): t for name, t in changed.items()})
        return Templates(tmp_path).get("one").version

    first = version()
    assert len(first) == 12
    assert version() == first
    (tmp_path / "_shared/b.txt").write_text("not used", encoding="utf-8")
    assert version() == first
    others = {
        version(sms__txt="{% include '_shared/a.txt' %} "),
        version(template__toml='description = "y"'),
        version(text__txt=""),
    }
    (tmp_path / "one/text.txt").unlink()
    assert version() == first
    write(tmp_path, {**files, "_shared/a.txt": "Hallo"})
    others.add(Templates(tmp_path).get("one").version)
    assert len(others | {first}) == 5


def test_lines_end_alike_on_every_system(tmp_path: Path) -> None:
    template = load(tmp_path, PLAIN)
    (tmp_path / "one/sms.txt").write_bytes("\ufeffHel\r\nlo\r\n".encode())
    assert Templates(tmp_path).get("one").render("sms", {}).body == "Hel\nlo"
    assert template.render("sms", {}).body == "Hello"


def test_a_change_is_seen_by_the_next_one_only(tmp_path: Path) -> None:
    templates = Templates(write(tmp_path, PLAIN))
    assert templates.get("one").render("sms", {}).body == "Hello"
    write(tmp_path, PLAIN | {"sms.txt": "Changed"})
    assert templates.get("one").render("sms", {}).body == "Hello"
    assert Templates(tmp_path).get("one").render("sms", {}).body == "Changed"
