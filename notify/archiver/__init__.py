"""The archiver: moves dead letters from RabbitMQ into the archive."""

from notify.archiver.archiver import Archiver

__all__ = ["Archiver"]
