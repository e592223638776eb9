"""Email: a worker beside Postfix's smtp-source, at the same smtp-sink."""

import os
from collections.abc import Callable
from typing import Final

from benching.brokers import depth, purge
from benching.children import Child, ending, program, python
from benching.deliveries import SECONDS
from benching.mailsink import Post
from benching.meters import Sampler, cpu_seconds, memory_mb
from benching.rounds import Contestant, alternate
from benching.stage import MAILS, Stage
from benching.values import Aim, Facts, Figure, Findings, Run, Unlike
from benching.waiting import until
from benching.work import ids, mail, publish_all

OURS: Final = "notify, one worker"
ALONE: Final = "notify, its SMTP alone, 1 session"
# Its letters differ in size from ours by so much at most.
TOLERANCE: Final = 0.02
_EVERY: Final = 0.01
_GUESS: Final = 1000


class Mails:
    """Both ways to send so many letters of one size."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._count = stage.sizes.mails
        self._ours = stage.ours(concurrency=stage.sizes.threads)
        self._size = self._size_of(self._first_of_ours)
        theirs = self._size_of(lambda: self._source(1, 1, _GUESS))
        self._length = _GUESS + self._size - theirs

    def ours(self, number: int) -> Run:
        purge(self._stage.url, MAILS)
        self._fill(self._count)
        post = self._stage.sink.begin()
        with ending([self._worker(f"mail-{number}")]) as (worker,):
            with Sampler(lambda: memory_mb(worker.pids), 0.5) as memory:
                self._wait(post, worker)
            used = cpu_seconds(worker.pids)
        if left := depth(self._stage.url, MAILS):
            raise Unlike(f"{MAILS}: {left} were delivered and not acknowledged")
        run = self._run(post)
        further = (
            Figure(name="CPU with its start", unit="µs each", value=used / self._count * 1e6),
            Figure(name="memory", unit="MB", value=memory.peak),
        )
        return Run(figures=(*run.figures, *further), facts=run.facts)

    def alone(self, _: int) -> Run:
        """No queue, no claim, no record: what is left is what smtp-source does."""
        post = self._stage.sink.begin()
        command = python("benching.mailer", str(self._count))
        child = Child(command, self._ours.environ, self._stage.new_file("mailer.log"))
        self._wait(post, None)
        child.wait(SECONDS)
        return self._run(post)

    def source(self, sessions: int) -> Callable[[int], Run]:
        def sent(_: int) -> Run:
            post = self._stage.sink.begin()
            child = self._source(self._count, sessions, self._length)
            self._wait(post, None)
            child.wait(SECONDS)
            return self._run(post)

        return sent

    def _worker(self, prefix: str) -> Child:
        return self._ours.worker("email-normal", prefix=prefix)

    def _fill(self, count: int) -> None:
        with self._ours.client() as client:
            publish_all(client, map(mail, ids(count)))

    def _first_of_ours(self) -> Child:
        purge(self._stage.url, MAILS)
        self._fill(1)
        return self._worker("mail-first")

    def _size_of(self, start: Callable[[], Child]) -> int:
        """That of one letter."""
        post = self._stage.sink.begin()
        with ending([start()]):
            until(lambda: post.count() == 1, "a letter at smtp-sink", SECONDS)
            post.settle()
        ((_, size),) = post.letters()
        return size

    def _source(self, count: int, sessions: int, length: int) -> Child:
        """Its connections are kept, as ours are."""
        numbers = ("-d", "-s", str(sessions), "-m", str(count), "-l", str(length))
        people = ("-f", "notify@example.com", "-t", "person@example.com")
        address = f"127.0.0.1:{self._stage.sink.port}"
        command = [program("smtp-source"), *numbers, *people, address]
        return Child(command, os.environ, self._stage.new_file("source.log"))

    def _wait(self, post: Post, worker: Child | None) -> None:
        def over() -> bool:
            if worker is not None:
                worker.check()
            return post.count() >= self._count

        until(over, f"{self._count} letters at smtp-sink", SECONDS, every=_EVERY)

    def _run(self, post: Post) -> Run:
        post.settle()
        letters = list(post.letters())
        names = {id for id, _ in letters}
        if not len(letters) == len(names - {""}) == self._count:
            raise Unlike(f"{len(letters)} letters with {len(names)} ids at smtp-sink")
        wrong = [size for _, size in letters if abs(size / self._size - 1) > TOLERANCE]
        if wrong:
            raise Unlike(f"letters of {wrong[0]} bytes beside those of {self._size}")
        facts: Facts = {
            "count": self._count,
            "ids": "each once",
            "payload": f"about {self._size} bytes",
            "counted at": "smtp-sink",
        }
        rate = Figure(name="rate", unit="a second", value=post.pace())
        return Run(figures=(rate,), facts=facts)


def run(stage: Stage) -> Findings:
    mails = Mails(stage)
    threads = stage.sizes.threads
    one, many = "smtp-source, 1 session", f"smtp-source, {threads} sessions"
    contestants = [
        Contestant(name=OURS, run=mails.ours),
        Contestant(name=ALONE, run=mails.alone),
        Contestant(name=one, run=mails.source(1)),
        Contestant(name=many, run=mails.source(threads)),
    ]
    aims = (
        Aim(of=OURS, to=one, least=0.7),
        Aim(of=ALONE, to=one, least=0.7),
        Aim(of=OURS, to=many),
    )
    return Findings(runs=alternate(contestants, stage.sizes.rounds), aims=aims)
