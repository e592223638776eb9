"""What a replay works with: the archive, the ledger, and a way to RabbitMQ."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from notify import provision
from notify.blocklist import Blocklist
from notify.broker import Publisher
from notify.config import Settings
from notify.ledger import Ledger
from notify.publishcount import open_publisher
from notify.store import Store
from notify.store.batches import Batches
from notify.store.replays import Replays


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Safe in threads. Nothing is connected to before it is needed, but the archive."""

    settings: Settings
    store: Store
    replays: Replays
    batches: Batches
    ledger: Ledger
    publisher: Publisher
    blocklist: Blocklist


@contextmanager
def open_desk(settings: Settings) -> Iterator[Desk]:
    """All closed at the end. Raises ``StoreUnavailable``."""
    url = settings.archive.url
    with ExitStack() as stack:
        store = stack.enter_context(closing(Store(url)))
        store.create()
        yield Desk(
            settings=settings,
            store=store,
            replays=stack.enter_context(closing(Replays(url))),
            batches=stack.enter_context(closing(Batches(url))),
            ledger=stack.enter_context(closing(provision.ledger(settings))),
            publisher=stack.enter_context(closing(open_publisher(settings))),
            blocklist=stack.enter_context(closing(provision.blocklist(settings))),
        )
