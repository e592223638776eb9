"""SIGHUP: the configuration is read again, and what can change in a running process does."""

import logging
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from notify.config import Settings, load_settings
from notify.errors import ConfigError
from notify.systemd import tell_reloading
from notify.telemetry import event, set_up_logging

log = logging.getLogger(__name__)


def adopt_log(old: Settings, new: Settings) -> Settings:
    """What every process can change: how much it logs, and how."""
    set_up_logging(new.log.level, new.log.format)
    return old.model_copy(update={"log": new.log})


class Reloader:
    """Reads the configuration again when told to. What is wrong with it changes nothing.

    ``adopt`` takes the settings that are in force and the new ones, puts what it can into
    effect, and returns what is in force then. What differs still is logged by its keys, of
    ``sections`` only: the others are of no concern to this process. ``then`` tells systemd
    that it goes on, and gets what a person should know, or nothing.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        adopt: Callable[[Settings, Settings], Settings] = adopt_log,
        sections: Collection[str],
        then: Callable[[str], None],
        read: Callable[[], Settings] = load_settings,
    ) -> None:
        self._settings = settings
        self._adopt = adopt
        self._sections = sections
        self._then = then
        self._read = read
        self._lock = threading.Lock()

    def watch(self) -> None:
        """Reloads at each SIGHUP from now on; called in the main thread."""
        signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=self.reload).start())

    def reload(self) -> None:
        with self._lock:
            tell_reloading()
            note = "new configuration refused, see the log"
            try:
                note = self._reload()
            except ConfigError as error:
                log.error("new configuration refused", extra=event(problems=list(error.problems)))
            finally:
                self._then(note)

    def _reload(self) -> str:
        before, new = self._settings, self._read()
        self._settings = self._adopt(before, new)
        changed = [key for key in differing(before, self._settings) if self._concerns(key)]
        left = [key for key in differing(self._settings, new) if self._concerns(key)]
        log.info("configuration read again", extra=event(changed=changed, needs_restart=left))
        return f"restart to use the new {', '.join(left)}" if left else ""

    def _concerns(self, key: str) -> bool:
        return any(key == name or key.startswith(name + ".") for name in self._sections)


def differing(old: Settings, new: Settings) -> list[str]:
    """The keys whose values differ, as in ``channels.sms.retry.first``; never the values."""
    return sorted(_differing("", old.model_dump(), new.model_dump()))


def _differing(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in old.keys() | new.keys():
            yield from _differing(
                f"{place}.{key}" if place else str(key), old.get(key), new.get(key)
            )
    elif old != new:
        yield place
