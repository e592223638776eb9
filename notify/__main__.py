"""``python -m notify``: the command line."""

from notify.cli import main

main()
