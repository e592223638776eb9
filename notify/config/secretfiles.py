"""Which files a configuration names: where a secret is found, and who may read it."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

# Of "signing_secret_files" the keys end with a number as well.
_NAMES_A_FILE: Final = re.compile(r"_files?(\.[0-9]+)?$")
_PASSWORD: Final = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
# Everybody knows it: whether it may be used is another question.
_NO_SECRET: Final = "guest"


def names_a_file(key: str) -> bool:
    """Whether the values of such a key are paths."""
    return _NAMES_A_FILE.search(key) is not None


def find_file(name: str, root: Path, environ: Mapping[str, str]) -> str:
    """Where a file is that is named without a folder: a secret's name is enough.

    Systemd hands secrets to a unit as credentials, so that only the unit can read them; a
    person's command line reads the same ones where they are stored.
    """
    if "/" in name or not name or "$" in name:
        return name
    handed = environ.get("CREDENTIALS_DIRECTORY")
    places = [Path(handed, name), Path(handed, f"notify_{name}")] if handed else []
    places.append(root / "secrets" / name)
    return str(next((each for each in places if _is_there(each)), Path(name)))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:
        # Who reads it will say so, with the key that names it.
        return True


def secret_files(root: Path, environ: Mapping[str, str] | None = None) -> list[Path]:
    """The files with secrets: those that keys name, those in the folder ``secrets``, and those of
    the configuration itself that have a password in a URL. What cannot be read is left out."""
    environment = os.environ if environ is None else environ
    found = {path for path in (root / "secrets").glob("*") if path.is_file()}
    for path in sorted(root.rglob("*.toml")):
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for key, text in _texts(values):
            if any(word != _NO_SECRET for word in _PASSWORD.findall(text)):
                found.add(path)
            # Certificates are no secret.
            if names_a_file(key) and not key.startswith("ca_"):
                found.add(Path(find_file(text, root, environment)))
    return sorted(found)


def _texts(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text with its key, at any depth."""
    for key, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from _texts(each)
            elif isinstance(each, str):
                yield key, each
