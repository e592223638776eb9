"""What is known about one person, and how it is erased."""

from notify.privacy.erasing import Erased, erase
from notify.privacy.knowing import Known, everything, facts, find
from notify.privacy.person import Person, person
from notify.privacy.places import UNREACHABLE

__all__ = [
    "UNREACHABLE",
    "Erased",
    "Known",
    "Person",
    "erase",
    "everything",
    "facts",
    "find",
    "person",
]
