"""Where each process shows its metrics."""

from typing import Final

from pydantic import Field

from notify.config.types import Duration, Strict, Whole
from notify.notification import CHANNELS, PRIORITIES

# In the order of their ports: a number, once given, stays.
PROCESSES: Final[tuple[tuple[str, ...], ...]] = (
    *((channel, priority) for channel in CHANNELS for priority in PRIORITIES),
    ("archiver",),
    ("beat",),
    ("exporter",),
)
# Between copies of one process on a host: room for processes to come.
_STEP: Final = 20
_PORTS: Final = 65536


class MetricsSettings(Strict):
    """Prometheus metrics: each process on a port of its own, from the first one on."""

    address: str = "127.0.0.1"
    first_port: Whole = Field(default=9464, ge=0, le=65000)
    # The exporter's watchdog waits for a look, and the alert about silence for two heartbeats.
    look_every: Duration = Field(default=15.0, le=60)
    heartbeats: bool = True
    heartbeat_every: Duration = Field(default=60.0, ge=1, le=90)

    def port(self, *process: str, copy: int = 1) -> int:
        """Of a worker by channel and priority, or of another process; 0 for nowhere.

        A second one of its kind on the same host (``copy``) is 20 ports further on, and so forth.
        """
        if not self.first_port:
            return 0
        port = self.first_port + PROCESSES.index(process) + (copy - 1) * _STEP
        return port if copy >= 1 and port < _PORTS else 0
