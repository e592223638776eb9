"""What must be right before a worker consumes."""

from notify.config import Settings
from notify.errors import ConfigError, TopologyMismatch, Unavailable
from notify.provision import check_services, stop_problem
from notify.systemd import supervised, tell_status


def check(settings: Settings, channel: str, priority: str) -> Settings:
    """The settings with a broker first that answers. Raises what ``check_services`` raises.

    Under systemd, what RabbitMQ and Redis lack is ``Unavailable``: it is mended elsewhere, and
    the worker shall come then, where one with a wrong configuration is not started again.
    """
    if not supervised():
        return check_services(settings, channel, priority)
    if problem := stop_problem(settings, channel):
        raise ConfigError([problem])
    try:
        return check_services(settings, channel, priority)
    except (TopologyMismatch, ConfigError, Unavailable) as error:
        tell_status(f"not started, systemd tries again: {error}")
        raise error if isinstance(error, Unavailable) else Unavailable(str(error)) from error
