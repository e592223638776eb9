"""Publishing from Python: ``Client``."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from notify.attaching import check_attached
from notify.broker import Outgoing
from notify.config import Settings
from notify.errors import InvalidNotification, NotifyError
from notify.message import Envelope, encode
from notify.notification import Notification
from notify.publishcount import open_publisher
from notify.rendering import from_template
from notify.sizes import check_size
from notify.smsprep import prepare_sms
from notify.templates import Templates
from notify.topology import EXCHANGE


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What became of one of many: ``error`` is None when RabbitMQ has confirmed it."""

    id: str
    error: NotifyError | None = None


class Client:
    """Publishes notifications. One per process is enough: safe in threads and after fork.

    with Client(load_settings()) as client:
        client.send(Notification(channel="sms", recipient="+491701234567", body="Hello"))
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._publisher = open_publisher(settings)
        self._templates = Templates(settings.templates)

    def send(self, notification: Notification, *, timeout: float | None = None) -> str:
        """Returns the id once a majority of brokers has the notification.

        ``timeout`` in seconds bounds the whole call (default: ``broker.confirm_timeout``).
        Raises ``InvalidNotification``; ``Unroutable`` and ``QueueFull``, where nothing was
        queued; ``BrokerBlocked``, ``BrokerUnavailable`` and ``Unconfirmed``, after which
        sending again with the same id is safe.
        """
        item = self._outgoing(notification)
        self._publisher.publish(item.exchange, item.message, timeout=timeout)
        return notification.id

    def send_template(self, name: str, variables: Mapping[str, Any], **fields: Any) -> str:
        """``send`` with what ``render`` makes."""
        return self.send(self.render(name, variables, **fields))

    def render(self, name: str, variables: Mapping[str, Any], **fields: Any) -> Notification:
        """A notification from a template, to send or to give to ``send_many``.

        ``fields`` are a notification's: ``channel`` and ``recipient``, and perhaps ``id``,
        ``priority``, ``expires_at`` and ``labels``. Raises ``InvalidNotification``, for a
        variable as ``variables.NAME``; ``ConfigError`` for a template that is not valid.
        """
        return from_template(self._templates, name, variables, **fields)

    def send_many(
        self, notifications: Iterable[Notification], *, window: int = 500
    ) -> Iterator[Sent]:
        """Publishes many with up to ``window`` unconfirmed at once; one ``Sent`` for each.

        Results come as the confirms do, not in the order given. An invalid notification is
        reported like a failed one; the others go on.
        """
        refused: list[Sent] = []
        for result in self._publisher.publish_many(
            self._valid(notifications, refused), window=window
        ):
            yield Sent(id=result.key, error=result.error)
            yield from _drained(refused)
        yield from _drained(refused)

    def close(self) -> None:
        self._publisher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _valid(
        self, notifications: Iterable[Notification], refused: list[Sent]
    ) -> Iterator[Outgoing]:
        for notification in notifications:
            try:
                yield self._outgoing(notification)
            except InvalidNotification as error:
                refused.append(Sent(id=notification.id, error=error))

    def _outgoing(self, notification: Notification) -> Outgoing:
        now = datetime.now(UTC)
        notification = prepare(notification, self._settings, now)
        message = encode(Envelope(notification=notification, first_queued=now), now=now)
        return Outgoing(key=notification.id, exchange=EXCHANGE, message=message)


def prepare(notification: Notification, settings: Settings, now: datetime) -> Notification:
    """The notification as it is to be published: a text's number and words made uniform.

    Raises ``InvalidNotification`` for what this configuration would never deliver.
    """
    channel = settings.channels.get(notification.channel)  # type: ignore[call-overload]
    if channel is None:
        raise InvalidNotification("channel", f"{notification.channel} is not configured")
    if notification.expired(now):
        raise InvalidNotification("expires_at", "is in the past")
    check_size(notification, channel.send.max_bytes)
    if notification.attachments:
        check_attached(settings, notification.attachments)
    return prepare_sms(notification, settings)


def _drained(refused: list[Sent]) -> Iterator[Sent]:
    yield from refused
    refused.clear()
