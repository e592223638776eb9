"""How long a delivery takes at the limits of the providers."""

from pathlib import Path

import pytest

from notify.batch.estimate import Load, estimate, seconds
from notify.config.models import ChannelSettings
from tests.unit.configs import SMS, load

LOAD = Load(messages=1000, segments=3000, bytes=500_000)


def channel(tmp_path: Path, *providers: str) -> ChannelSettings:
    texts = "".join(
        SMS.replace('"texts"', f'"texts-{number}"') + each for number, each in enumerate(providers)
    )
    small = "[queues.urgent]\nconcurrency = 1\n[queues.normal]\nconcurrency = 1\n"
    settings = load(tmp_path, {"channels/sms.toml": small + texts})
    return settings.channel("sms")


RATE = '[providers.limits]\nrate = "10/s"\n'
SEGMENTS = RATE + 'unit = "segments"\n'


@pytest.mark.parametrize(
    ("providers", "expected"),
    [
        (("",), None),
        ((RATE,), 100.0),
        ((SEGMENTS,), 300.0),
        ((RATE, SEGMENTS), 100.0),
        (("weight = 1\n" + RATE, "weight = 3\n" + SEGMENTS), 225.0),
        (("weight = 0\n" + RATE, "weight = 3\n" + SEGMENTS), 300.0),
        (("weight = 1\n" + RATE, "weight = 1\n"), 50.0),
        (("[providers.limits]\ndaily = 400\nurgent_share = 0\n",), 2 * 86400.0),
        ((RATE + "daily = 400\nurgent_share = 0\n",), 2 * 86400.0 + 20),
        ((RATE + "daily = 1000\nurgent_share = 0\n",), 100.0),
        ((RATE + "daily = 1000\nurgent_share = 0.2\n",), 86400.0 + 20),
    ],
)
def test_the_slowest_share_decides(
    tmp_path: Path, providers: tuple[str, ...], expected: float | None
) -> None:
    assert seconds(LOAD, channel(tmp_path, *providers)) == pytest.approx(expected)


def test_nothing_takes_no_time(tmp_path: Path) -> None:
    assert seconds(Load(), channel(tmp_path, RATE + "daily = 5\n")) == 0.0


def test_each_channel_is_told(tmp_path: Path) -> None:
    settings = load(tmp_path, {"channels/sms.toml": SMS})
    assert estimate({"sms": LOAD}, settings) == {"sms": None}
