"""A desk at which replays are made."""

from collections.abc import Iterator

import pytest

from notify.replay import Desk, open_desk
from tests.deployment import Deployment


@pytest.fixture
def desk(deployment: Deployment) -> Iterator[Desk]:
    with open_desk(deployment.settings) as opened:
        yield opened
