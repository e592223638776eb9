"""A deployment that knows every node of the cluster."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from notify.broker import Depth
from notify.config import Settings
from tests.deployment import Deployment


@dataclass
class ClusterDeployment(Deployment):
    """The first of the broker URLs leads to the node that leads each queue at first."""

    vhost: str = ""

    def _own(self, config: Path) -> dict[str, str]:
        every = {"NOTIFY_BROKER_URLS": ",".join(self.servers.broker_urls)}
        return super()._own(config) | every

    def depth(self, queue: str) -> int:
        """Of whichever node answers; -1 where none does."""
        with closing(Depth(self.servers.broker_urls, queue, timeout=5)) as depth:
            ready = depth.ready()
        return -1 if ready is None else ready

    def lead_with(self, *urls: str) -> Settings:
        """From now on processes, and whoever uses these settings, try these URLs first."""
        every = (*urls, *self.servers.broker_urls)
        self.environ["NOTIFY_BROKER_URLS"] = ",".join(every)
        broker = self.settings.broker.model_copy(update={"urls": every})
        return self.settings.model_copy(update={"broker": broker})
