"""The command line."""

from notify.cli.main import main

__all__ = ["main"]
