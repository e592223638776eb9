"""``ops/bench``."""

import sys

from benching.command import main

sys.exit(main(sys.argv[1:]))
