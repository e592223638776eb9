"""``notify phone``."""

import json
from collections.abc import Callable
from pathlib import Path

import phonenumbers

from tests.cli.conftest import Ran
from tests.unit.configs import SMS, write


def test_numbers_are_shown_as_they_are_read(offline: Callable[..., Ran]) -> None:
    ran = offline("phone", "--region", "de", "0170 1234567", "+49 30 1234567")
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[1] == ["+491701234567", "DE", "mobile"]
    assert lines[2][:4] == ["+49301234567", "DE", "fixed", "line"]
    assert lines[-1] == ["numbering", "plans:", phonenumbers.__version__]


def test_one_that_is_not_possible(offline: Callable[..., Ran]) -> None:
    ran = offline("phone", "+491701234567", "+5215517329563", "--json")
    shown = json.loads(ran.out)
    good, bad = shown["numbers"]
    assert ran.code == 1
    assert shown["metadata"] == phonenumbers.__version__
    assert (good["number"], good["possible"], good["valid"]) == ("+491701234567", True, True)
    assert (bad["number"], bad["possible"]) == (None, False)
    assert bad["problem"] == "is too long for a phone number of its country"
    assert good.keys() == bad.keys()


def test_the_configured_region(offline: Callable[..., Ran], tmp_path: Path) -> None:
    ran = offline("phone", "0664 1234567")
    assert ran.code == 1
    assert "no default region is configured" in ran.out
    write(tmp_path, {"channels/sms.toml": f'[texts]\ndefault_region = "AT"\n{SMS}'})
    ran = offline("phone", "0664 1234567")
    assert ran.code == 0
    assert "+436641234567" in ran.out


def test_a_region_that_does_not_exist(offline: Callable[..., Ran]) -> None:
    ran = offline("phone", "--region", "UK", "07700 900123")
    assert ran.code == 2
    assert "--region: must be a country or territory" in ran.err
