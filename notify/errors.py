"""Every exception this package raises, as one tree.

    NotifyError
    ├── UsageError                    the caller's input is wrong
    │   ├── InvalidNotification       a field of a notification; names the field
    │   └── InvalidInput              a file, row or option; names where
    ├── ConfigError                   one or more problems in the configuration
    ├── MessageError                  a message from the broker that cannot be used
    ├── Unavailable                   a service we depend on does not answer
    │   ├── BrokerUnavailable         RabbitMQ cannot be reached
    │   │   ├── BrokerBlocked         RabbitMQ stopped reading from publishers (resource alarm)
    │   │   └── BrokerUntrusted       what answers has not shown that it is RabbitMQ (TLS)
    │   ├── ManagementUnavailable     RabbitMQ's management API cannot be reached
    │   ├── LedgerUnavailable         Redis cannot be reached or refuses writes
    │   └── StoreUnavailable          the archive's database cannot be used
    ├── PublishError                  a publish that was not confirmed
    │   ├── Unroutable                no queue is bound for the routing key
    │   ├── QueueFull                 the queue refused the message (nack)
    │   └── Unconfirmed               no answer in time: the message may or may not be queued
    ├── TopologyMismatch              the broker does not have what we need; lists the differences
    └── NotFound                      no such notification, dead letter or schedule

What a provider raises about a delivery (temporary, permanent, unknown) is not an
error of this package but an outcome: see ``notify.policy``.
"""

from collections.abc import Sequence


class NotifyError(Exception):
    """Something went wrong in Notify."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").partition("\n")[0].rstrip("."))


class UsageError(NotifyError):
    """The input is wrong."""


class InvalidNotification(UsageError):
    """A notification has an invalid field."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InvalidInput(UsageError):
    """A file, row or option is invalid."""


class ConfigError(NotifyError):
    """The configuration is invalid; ``problems`` lists every error found, not the first."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class MessageError(NotifyError):
    """A message from the broker cannot be used."""


class Unavailable(NotifyError):
    """A service Notify depends on does not answer."""


class BrokerUnavailable(Unavailable):
    """RabbitMQ cannot be reached."""


class BrokerBlocked(BrokerUnavailable):
    """RabbitMQ has a memory or disk alarm and does not read from publishers."""


class BrokerUntrusted(BrokerUnavailable):
    """The certificate of RabbitMQ is not one to trust; nothing was sent to it."""


class ManagementUnavailable(Unavailable):
    """RabbitMQ's management API cannot be reached."""


class LedgerUnavailable(Unavailable):
    """Redis cannot be reached or refuses writes."""


class StoreUnavailable(Unavailable):
    """The archive's database cannot be used."""


class PublishError(NotifyError):
    """A publish was not confirmed."""


class Unroutable(PublishError):
    """No queue is bound for this routing key; nothing was queued."""


class QueueFull(PublishError):
    """The queue refused the message; nothing was queued. Slow down and try again."""


class Unconfirmed(PublishError):
    """No confirm came in time: the message may or may not be queued.

    Publishing again with the same id is safe: a second copy is recognised and skipped.
    """


class TopologyMismatch(NotifyError):
    """The broker's topology is not what Notify needs; ``differences`` says where."""

    def __init__(self, differences: Sequence[str]) -> None:
        super().__init__("\n".join(differences))
        self.differences = tuple(differences)


class NotFound(NotifyError):
    """There is no such thing."""
