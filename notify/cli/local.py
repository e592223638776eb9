"""``notify up`` and ``notify demo``."""

COMMANDS = ()
