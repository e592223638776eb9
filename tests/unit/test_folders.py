"""Files are read below their folder only, and are what they were when they were attached."""

import hashlib
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from notify.attaching import attach, check_attached
from notify.config import AttachmentSettings, Settings
from notify.config.models import EmailSettings
from notify.config.providers import SmtpProvider
from notify.errors import InvalidNotification
from notify.folders import FileMissing, FileTooLarge, FolderUnreadable, read_below


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder, and a secret beside it."""
    (tmp_path / "secret").write_text("secret")
    made = tmp_path / "files"
    (made / "deep/er").mkdir(parents=True)
    (made / "a.pdf").write_bytes(b"content")
    (made / "deep/er/b.png").write_bytes(b"\x89PNG")
    return made


def settings(folder: Path, **changes: Any) -> Settings:
    provider = SmtpProvider(type="smtp", name="mails", host="localhost", sender="a@example.com")
    attachments = AttachmentSettings(folders={"files": folder}, **changes)
    email = EmailSettings(attachments=attachments, providers=(provider,))
    return Settings().model_copy(update={"channels": {"email": email}})


def test_files_at_any_depth(folder: Path) -> None:
    assert read_below(folder, "a.pdf", 7) == b"content"
    assert read_below(folder, "deep/er/b.png", 100) == b"\x89PNG"


def test_a_folder_may_be_reached_through_a_link(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert read_below(link, "a.pdf", 7) == b"content"


@pytest.mark.parametrize(
    "file",
    [
        "",
        ".",
        "..",
        "../secret",
        "deep/../../secret",
        "deep/./er/b.png",
        "/etc/passwd",
        "//etc/passwd",
        "deep//er/b.png",
        "a.pdf/",
        "a.pdf/b",
        "missing.pdf",
        "deep/missing/b.png",
        "a\x00.pdf",
        "deep",
        "link",
        "out/secret",
        "alias.pdf",
        "pipe",
        "socket",
        ".hidden",
        "x" * 300,
    ],
    ids=ascii,
)
def test_nothing_else_is_read(folder: Path, file: str) -> None:
    (folder / "link").symlink_to("../secret")
    (folder / "out").symlink_to("..")
    (folder / "alias.pdf").symlink_to("a.pdf")
    (folder / ".hidden").write_text("secret")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
        with pytest.raises(FileMissing) as caught:
            read_below(folder, file, 1000)
    assert caught.value.__cause__ is None
    assert str(folder) not in str(caught.value)


def test_devices_are_not_read() -> None:
    with pytest.raises(FileMissing, match="not a regular file"):
        read_below(Path("/dev"), "zero", 1000)


def test_a_file_that_is_too_large(folder: Path) -> None:
    with pytest.raises(FileTooLarge):
        read_below(folder, "a.pdf", 6)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("none", "file"):
        with pytest.raises(FolderUnreadable) as caught:
            read_below(tmp_path / place, "a.pdf", 6)
        assert str(tmp_path) not in str(caught.value)


def test_no_descriptor_is_left_open(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for file in ("a.pdf", "deep/er/b.png", "missing", "deep/missing/b", "a.pdf/b", "deep"):
        try:
            read_below(folder, file, 3)
        except (FileMissing, FileTooLarge):
            continue
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_what_is_attached_is_what_the_file_is(folder: Path) -> None:
    made = attach(settings(folder), "files", "a.pdf")
    assert made.to_dict() == {
        "folder": "files",
        "file": "a.pdf",
        "sha256": hashlib.sha256(b"content").hexdigest(),
        "size": 7,
        "type": "application/pdf",
    }
    shown = attach(settings(folder), "files", "deep/er/b.png", inline=True)
    assert (shown.type, shown.inline, shown.name) == ("image/png", True, "b.png")


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("a.txt", "text/plain"),
        ("a.TXT", "text/plain"),
        ("a.csv", "text/csv"),
        ("a.tar.gz", "application/gzip"),
        ("a.svgz", "application/gzip"),
        ("a.txt.Z", "application/octet-stream"),
        ("a.eml", "application/octet-stream"),
        ("a.unheardof", "application/octet-stream"),
        ("http: a?b.pdf", "application/pdf"),
        ("Makefile", "application/octet-stream"),
    ],
)
def test_media_types(folder: Path, file: str, kind: str) -> None:
    (folder / file).write_bytes(b"")
    assert attach(settings(folder), "files", file).type == kind


@pytest.mark.parametrize(
    ("name", "file", "problem"),
    [
        ("other", "a.pdf", "folder is not declared in channels/email.toml"),
        ("../x", "a.pdf", "folder must be the name of a declared folder"),
        ("files", "../secret", "file must be a path below the folder, without hidden names"),
        ("files", "missing.pdf", "the file is missing"),
        ("files", "deep", "the file is not a regular file"),
        ("files", "large.pdf", "must have at most 8 bytes together"),
    ],
)
def test_files_that_cannot_be_attached(folder: Path, name: str, file: str, problem: str) -> None:
    (folder / "large.pdf").write_bytes(b"x" * 9)
    with pytest.raises(InvalidNotification) as refused:
        attach(settings(folder, max_bytes=8), name, file)
    assert (refused.value.field, refused.value.problem) == ("attachments", problem)


def test_a_folder_that_is_on_other_hosts_only(tmp_path: Path) -> None:
    with pytest.raises(InvalidNotification, match="the folder cannot be read: No such file"):
        attach(settings(tmp_path / "elsewhere"), "files", "a.pdf")


def test_an_image_in_the_html_must_be_one(folder: Path) -> None:
    with pytest.raises(InvalidNotification, match="inline is for images"):
        attach(settings(folder), "files", "a.pdf", inline=True)


def test_what_workers_would_not_send_can_be_known_before(folder: Path) -> None:
    made = attach(settings(folder), "files", "a.pdf")
    check_attached(settings(folder, max_bytes=14), [made, made])
    with pytest.raises(InvalidNotification, match="at most 13 bytes together"):
        check_attached(settings(folder, max_bytes=13), [made, made])
    with pytest.raises(InvalidNotification, match="folder is not declared"):
        check_attached(Settings(), [made])
