"""When a drill ends."""

from notify.drill.settling import Progress, Settling

DONE = Progress(count=10, published=10, delivered=9, archived=1, seen=11, left=0)


def quiet_needed(progress: Progress) -> float:
    """Seconds of silence after which the drill ends."""
    now = 0.0
    settling = Settling(clock=lambda: now)
    while not settling.over(progress):
        now += 0.5
        assert now < 1000
    return now


def test_it_ends_soon_when_everything_is_somewhere_and_the_queues_are_empty() -> None:
    assert quiet_needed(DONE) == 6


def test_it_waits_longer_for_what_is_missing() -> None:
    missing = Progress(count=10, published=10, delivered=8, archived=1, seen=9, left=0)
    assert quiet_needed(missing) == 20


def test_it_is_patient_while_messages_are_left_or_nobody_knows() -> None:
    for left in (1, None):
        assert (
            quiet_needed(
                Progress(count=10, published=10, delivered=9, archived=1, seen=11, left=left)
            )
            == 120
        )


def test_news_begin_the_silence_anew() -> None:
    now = 0.0
    settling = Settling(clock=lambda: now)
    assert not settling.over(Progress(count=10, published=10, delivered=8, archived=1, left=0))
    now = 5.9
    assert not settling.over(DONE)
    now = 11.0
    assert not settling.over(DONE)
    now = 12.0
    assert settling.over(DONE)


def test_faults_go_on_until_nine_tenths_are_settled() -> None:
    assert not Progress(count=100, published=100, delivered=80, archived=9).enough_faults
    assert Progress(count=100, published=100, delivered=80, archived=10).enough_faults
    assert not Progress(count=100, published=99, delivered=90, archived=9).enough_faults
