"""Connections are used again by whichever thread comes next, and not kept for ever."""

import os
import threading
from typing import Any, cast

import pytest

from notify.channels import build_provider, mailline
from notify.channels.mailline import MailLine
from notify.channels.maillines import MailLines

from .mailpeers import mail_server
from .peers import Peer
from .values import mail, mail_settings


class Line:
    """Usable until a test says otherwise."""

    def __init__(self) -> None:
        self.usable = True
        self.open = True

    def close(self) -> None:
        self.open = False


def _lines() -> tuple[MailLines, list[Line]]:
    made: list[Line] = []

    def make() -> MailLine:
        made.append(Line())
        return cast(MailLine, made[-1])

    return MailLines(make), made


def test_the_one_used_last_is_taken_first() -> None:
    lines, made = _lines()
    one, two = lines.take(), lines.take()
    lines.give_back(one)
    lines.give_back(two)
    assert [lines.take(), lines.take()] == [two, one]
    assert len(made) == 2
    assert lines.take() is cast(Any, made[2])


def test_what_is_no_longer_good_is_closed() -> None:
    lines, made = _lines()
    taken = [lines.take() for _ in range(3)]
    made[1].usable = False
    for line in taken:
        lines.give_back(line)
    assert [each.open for each in made] == [True, False, True]
    assert [lines.take(), lines.take()] == [taken[2], taken[0]]


def test_one_that_rests_too_long_is_closed_by_whoever_comes() -> None:
    lines, made = _lines()
    for line in [lines.take() for _ in range(3)]:
        lines.give_back(line)
    made[0].usable = made[1].usable = False
    for expected in ([False, True, True], [False, False, True], [False, False, True]):
        lines.give_back(lines.take())
        assert [each.open for each in made] == expected


def test_a_forked_process_takes_none_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, made = _lines()
    mine = lines.take()
    lines.give_back(mine)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert lines.take() is not mine
    assert all(each.open for each in made)


def test_threads_one_after_the_other_use_one_connection() -> None:
    with Peer(mail_server()) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(5):
            thread = threading.Thread(target=provider.send, args=(mail(),), kwargs={"deadline": 5})
            thread.start()
            thread.join()
        assert peer.connections == 1


def test_there_are_no_more_connections_than_mails_under_way() -> None:
    both = threading.Barrier(2)

    def meet(_: object) -> bytes:
        both.wait(5)
        return b"250 ok\r\n"

    with Peer(mail_server({"RCPT": meet})) as peer:
        provider = build_provider(mail_settings(peer.port))

        def send() -> None:
            for _ in range(20):
                provider.send(mail(), deadline=10)

        threads = [threading.Thread(target=send) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert peer.connections == 2


def test_a_connection_that_rested_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only replaced: the server has to keep it open as long as we do."""
    ended = threading.Event()

    def serve(connection: Any) -> None:
        mail_server()(connection)
        ended.set()

    with Peer(serve) as peer:
        provider = build_provider(mail_settings(peer.port))
        provider.send(mail(), deadline=5)
        assert not ended.is_set()
        monkeypatch.setattr(mailline, "MAX_IDLE", -1.0)
        provider.send(mail(), deadline=5)
        assert ended.wait(5)
