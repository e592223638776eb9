"""The archiver: moves dead letters from RabbitMQ into the archive."""

from notify.archiver.archiver import CONNECTING, Archiver

__all__ = ["CONNECTING", "Archiver"]
