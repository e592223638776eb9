"""Publishers in processes of their own, with what they have to know."""

import json
from pathlib import Path
from typing import Any, Final

from benching.brokers import Taken, purge, take_all
from benching.children import Child, python
from benching.ours import Ours
from benching.peers import settings
from benching.samples import save
from benching.stage import QUEUE, Stage
from benching.values import Broken
from benching.work import text

# As long as the ids that are measured.
_SAMPLE: Final = "sample00000000"
_SECONDS: Final = 600.0


def notification_of(taken: Taken) -> dict[str, Any]:
    """What a task message carries."""
    found: dict[str, Any] = json.loads(taken.body)[1]["notification"]
    return found


class Publishing:
    """Starts publishers by their kind."""

    def __init__(self, stage: Stage, ours: Ours) -> None:
        self._stage = stage
        self._sample = self._take_sample(ours)
        self._environ = ours.environ | {settings.BROKER: stage.url, settings.CONFIRM: "1"}

    def _take_sample(self, ours: Ours) -> Path:
        """One message of our client's, for those that publish the same bytes."""
        purge(self._stage.url, QUEUE)
        with ours.client() as client:
            client.send(text(_SAMPLE))
        (taken,) = take_all(self._stage.url, QUEUE)
        path = self._stage.new_file("sample.json")
        save(taken, _SAMPLE, path)
        return path

    def start(self, kind: str, count: int) -> Child:
        command = python("benching.publisher", kind, str(count), str(self._sample))
        return Child(command, self._environ, self._stage.new_file("publisher.log"))

    def told(self, child: Child) -> dict[str, float]:
        """Seconds and processor time, when it has ended. Raises ``Broken``."""
        child.wait(_SECONDS)
        output = child.text()
        for line in reversed(output.splitlines()):
            if line.startswith("{"):
                told: dict[str, float] = json.loads(line)
                return told
        raise Broken(f"the publisher told nothing: {output}")
