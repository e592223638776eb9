"""A configuration directory that is valid, to break in one place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from notify.config import Settings, load_settings
from notify.errors import ConfigError

SMS: Final = """
[[providers]]
name = "texts"
type = "http-sms"
url = "http://127.0.0.1:8025/sms"
"""
EMAIL: Final = """
[[providers]]
name = "mails"
type = "smtp"
host = "127.0.0.1"
sender = "notify@example.com"
"""
WEBHOOK: Final = """
[[providers]]
name = "hooks"
type = "webhook"
"""


def write(root: Path, files: Mapping[str, str]) -> Path:
    """``files`` by name, beside a valid ``notify.toml`` and ``channels/sms.toml``."""
    (root / "channels").mkdir(exist_ok=True)
    for name, text in ({"notify.toml": "", "channels/sms.toml": SMS} | dict(files)).items():
        (root / name).write_text(text, encoding="utf-8")
    return root


def load(root: Path, files: Mapping[str, str], **environ: str) -> Settings:
    return load_settings(write(root, files), environ)


def problems(root: Path, files: Mapping[str, str], **environ: str) -> list[str]:
    """What is wrong, with the directory taken out."""
    try:
        load(root, files, **environ)
    except ConfigError as error:
        assert str(error) == "\n".join(error.problems)
        return [problem.replace(f"{root}/", "") for problem in error.problems]
    return []
