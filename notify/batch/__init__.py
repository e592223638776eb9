"""Batches: many notifications from one source, resumable, paced, each row with an outcome."""

from notify.batch.checking import Account, check
from notify.batch.engine import WINDOW, Engine, Knobs
from notify.batch.files import FileSource, FileSpec, open_file
from notify.batch.outlet import TEMPORARY, Done, Outlet, Publishing
from notify.batch.owner import lives, where
from notify.batch.progress import Progress
from notify.batch.runner import check_name, open_batches, run, run_batch
from notify.batch.source import Checked, Given, Source

__all__ = [
    "TEMPORARY",
    "WINDOW",
    "Account",
    "Checked",
    "Done",
    "Engine",
    "FileSource",
    "FileSpec",
    "Given",
    "Knobs",
    "Outlet",
    "Progress",
    "Publishing",
    "Source",
    "check",
    "check_name",
    "lives",
    "open_batches",
    "open_file",
    "run",
    "run_batch",
    "where",
]
