"""One person in the archive: what is there of them, and its erasure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from notify.store import erasing, erasures, scrubbing
from notify.store.batches import Batches
from notify.store.erasing import Names
from notify.store.erasures import Erasure
from notify.store.part import Part
from notify.store.rows import ArchivedLetter
from notify.store.shredding import shred

_BATCHES = 1000


class People(Part):
    """Of the archive at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def __init__(self, url: str) -> None:
        self._url = url
        super().__init__(url)

    @property
    def dialect(self) -> str:
        return self._database.dialect

    def letters(self, keys: Sequence[str]) -> Iterator[ArchivedLetter]:
        """Letters to them, by what stands for them."""
        return erasing.letters_of(self._database, keys)

    def mentions(self, keys: Sequence[str], names: Names) -> Iterator[tuple[int, str | None, bool]]:
        """Other letters that name them: number, id, whether it could not be understood."""
        return erasing.mentions(self._database, keys, names)

    def texts(self, names: Names) -> dict[str, list[tuple[Any, ...]]]:
        """Rows of other tables that name them."""
        return scrubbing.named_in(self._database, names)

    def erase(self, seqs: Sequence[int]) -> int:
        """For good; returns how many letters."""
        return erasing.erase(self._database, seqs)

    def scrub(self, names: Names, without: Callable[[str], str]) -> dict[str, int]:
        """Takes the name out of texts, for good; how many rows by table."""
        return scrubbing.scrub(self._database, names, without)

    def shred(self) -> bool:
        """Whether the database's own files are known to hold nothing of it any more."""
        return shred(self._database)

    def note_erasure(
        self, person: str, actor: str, letters: int, details: Mapping[str, int]
    ) -> None:
        erasures.note_erasure(self._database, person, actor, letters, details)

    def erasures_of(self, person: str) -> list[Erasure]:
        """When this one was erased, the latest first."""
        return erasures.erasures_of(self._database, person)

    def latest_erasures(self, limit: int) -> list[Erasure]:
        return erasures.latest_erasures(self._database, limit)

    def files(self) -> list[str]:
        """The files that batches were sent from."""
        batches = Batches(self._url)
        try:
            found = batches.latest(_BATCHES)
        finally:
            batches.close()
        paths = (each.source.get("path") for each in found)
        return sorted({str(path) for path in paths if path not in (None, "-")})
