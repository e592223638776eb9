"""What every part that keeps something in the archive's database begins and ends with."""

from notify.store.engine import Database
from notify.store.migrating import make_newest


class Part:
    """A part of the archive at an SQLAlchemy URL. Safe in threads.

    Every method raises ``StoreUnavailable``.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def create(self) -> None:
        """Makes the tables what they must be; any number of processes may do so at once.

        An archive of an earlier version is migrated, all or nothing.
        """
        make_newest(self._database)

    def close(self) -> None:
        self._database.close()
