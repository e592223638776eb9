"""What a process shows when it is asked, as a mapping of samples."""

from collections.abc import Mapping
from contextlib import suppress

import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import eventually

Sample = tuple[str, frozenset[tuple[str, str]]]


def scrape(port: int) -> str:
    answer = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=10)
    answer.raise_for_status()
    return answer.text


def until_shown(port: int) -> str:
    """What a process that was just started shows."""

    def shown() -> str:
        with suppress(requests.ConnectionError):
            return scrape(port)
        return ""

    return eventually(shown, f"metrics on port {port}", 90)


def samples(port: int) -> dict[Sample, float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(scrape(port))
        for sample in family.samples
    }


def value(found: Mapping[Sample, float], name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


def names(text: str) -> set[str]:
    """Every name that a query could ask for, whether it has samples yet or not."""
    found: set[str] = set()
    for family in text_string_to_metric_families(text):
        endings = {
            "counter": ("_total",),
            "histogram": ("_bucket", "_count", "_sum"),
        }.get(family.type, ("",))
        found |= {family.name + ending for ending in endings}
    return found
