"""Mails through the provider of the email channel and nothing else, from one thread.

python -m benching.mailer COUNT
"""

import sys
from typing import Final

from benching.work import ids, mail
from notify import load_settings
from notify.channels import build_provider

_SECONDS: Final = 30.0


def main(arguments: list[str]) -> None:
    (count,) = arguments
    provider = build_provider(load_settings().channel("email").providers[0])
    for notification in map(mail, ids(int(count))):
        provider.send(notification, deadline=_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
