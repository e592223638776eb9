"""What this process saw of each provider since it last told the others."""

import threading
from collections.abc import Mapping

from notify.limits import Sample


class Tally:
    """Counts until they are taken. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: dict[str, Sample] = {}

    def add(self, name: str, sample: Sample) -> int:
        """Counts one more; answers how many failed since the last ``take``."""
        with self._lock:
            self._samples[name] = _sum(self._samples.get(name, Sample()), sample)
            return self._samples[name].failed

    def take(self) -> dict[str, Sample]:
        with self._lock:
            taken, self._samples = self._samples, {}
            return taken

    def put_back(self, samples: Mapping[str, Sample]) -> None:
        for name, sample in samples.items():
            self.add(name, sample)


def _sum(one: Sample, other: Sample) -> Sample:
    return Sample(
        ok=one.ok + other.ok,
        failed=one.failed + other.failed,
        seconds=one.seconds + other.seconds,
        late_ok=one.late_ok + other.late_ok,
        late_failed=one.late_failed + other.late_failed,
        probed=other.probed or one.probed,
    )
