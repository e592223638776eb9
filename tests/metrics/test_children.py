"""Children of metrics that are counted with each message."""

import threading

import pytest
from prometheus_client import CollectorRegistry

from notify.metrics.children import Counter, Histogram
from notify.outcomes import Reason


@pytest.fixture
def counter() -> Counter:
    return Counter("notify_x", "x", ["who", "reason"], registry=CollectorRegistry())


def totals(counter: Counter) -> dict[str, float]:
    (family,) = counter.collect()
    samples = [sample for sample in family.samples if sample.name.endswith("_total")]
    return {sample.labels["who"]: sample.value for sample in samples}


def test_they_are_found_by_whatever_is_the_same_text(counter: Counter) -> None:
    one = counter.labels("a", "refused")
    assert counter.labels("a", "refused") is one
    assert counter.labels("a", Reason.REFUSED) is one
    assert counter.labels(who="a", reason="refused") is one
    assert counter.labels("b", "refused") is not one
    with pytest.raises(ValueError, match="label count"):
        counter.labels("a")
    one.inc()
    assert totals(counter) == {"a": 1, "b": 0}


def test_what_is_counted_is_counted_for_ever() -> None:
    """A child that somebody holds would count on, unseen."""
    seconds = Histogram("notify_x", "x", ["who"], registry=CollectorRegistry())
    seconds.labels("a").observe(1)
    with pytest.raises(NotImplementedError):
        seconds.remove("a")
    with pytest.raises(NotImplementedError):
        seconds.remove_by_labels({"who": "a"})
    with pytest.raises(NotImplementedError):
        seconds.clear()


def test_one_name_is_one_child_for_all_threads(counter: Counter) -> None:
    barrier = threading.Barrier(8)

    def count() -> None:
        barrier.wait()
        for number in range(500):
            counter.labels(str(number % 50), "").inc()

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals(counter) == {str(number): 80.0 for number in range(50)}
