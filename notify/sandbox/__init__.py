"""A local SMS, webhook and mail gateway whose answers can be scripted per recipient.

It records durably what it received and when: for the demo, tests, drills and benchmarks.
"""

from notify.sandbox.answers import ACCEPT, Answer
from notify.sandbox.client import SandboxClient
from notify.sandbox.records import Received, read_record
from notify.sandbox.scripts import EVERYONE, HTTP_CONNECTION, SMTP_CONNECTION
from notify.sandbox.server import Sandbox

__all__ = [
    "ACCEPT",
    "EVERYONE",
    "HTTP_CONNECTION",
    "SMTP_CONNECTION",
    "Answer",
    "Received",
    "Sandbox",
    "SandboxClient",
    "read_record",
]
