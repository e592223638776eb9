"""The commands of the runbooks are run as they stand there, on real servers."""

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from notify.outcomes import Reason
from tests.cli.conftest import Ran, shell_of
from tests.deployment import Deployment
from tests.replay.letters import die, text
from tests.runbooks.programs import NOTIFY_NOT_RUN, REDIS_CHANGES
from tests.runbooks.reading import ALL, ROOT, Command, commands

pytestmark = [pytest.mark.broker, pytest.mark.redis]

PROVIDER = (
    '[[providers]]\nname = "{name}"\ntype = "http-sms"\nurl = "${{NOTIFY_SANDBOX_HTTP}}/sms"\n'
    "takes_idempotency_key = true\n"
)
# What the words in capital letters stand for, after the command that they belong to.
NAMES = {
    "schedule": "standup",
    "batch": "after-outage",
    "template": "code",
    "provider": "first",
    "replays": "after-outage",
}
WORDS = {"CHANNEL": "sms", "PROVIDER": "first", "ID": "n-0", "RULE": "provider-outage"}
# Where the runbooks keep files, and a test does not.
PLACES = ("/backup/", "/var/lib/notify/")
# No, and in part, are answers too; wrong usage and what is unavailable are none.
ANSWERS = (0, 1, 5)
# What cannot be done to what is there, and is said.
REFUSED = {"batch pause NAME": "notify: batch after-outage is finished\n"}


@pytest.fixture
def shell(
    deploy: Callable[..., Deployment],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Ran]:
    """A deployment with something of everything that the runbooks speak of."""
    both = PROVIDER.format(name="first") + PROVIDER.format(name="second")
    deployment = deploy(providers={"sms": both})
    shutil.copytree(ROOT / "config" / "templates", deployment.settings.templates)
    reasons = (Reason.RETRIES_EXHAUSTED, Reason.UNKNOWN_OUTCOME, Reason.UNROUTABLE, Reason.REFUSED)
    letters = [die(deployment, text(n), reason) for n, reason in enumerate(reasons)]
    deployment.store.add(letters)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corrected.txt").write_text("Hello again")
    run = shell_of(deployment, monkeypatch, capsys)
    every = ("schedule", "add", "standup", "sms", "+491701234567", "--body", "x", "--every", "1h")
    assert run(*every).code == 0
    return run


def ours() -> list[list[str]]:
    """Each command once, in the order of the runbooks; those that are not run are left out."""
    found = {
        shlex.join(each.words): each.words[1:]
        for runbook in ALL
        for each in commands(runbook)
        if each.words[0] == "notify"
    }
    return [words for words in found.values() if not _left_out(words)]


def _left_out(words: list[str]) -> bool:
    return any(tuple(words[: len(each)]) == each for each in NOTIFY_NOT_RUN)


def filled_in(words: list[str], folder: Path) -> Iterator[str]:
    """With what is there in the place of what a person fills in."""
    for number, word in enumerate(words):
        before = [each for each in words[:number] if each in NAMES]
        for place in PLACES:
            word = word.replace(place, f"{folder}/")
        word = word.replace("care-RULE-…", "care-none").replace("+49...", "+491701234567")
        yield NAMES[before[-1]] if word == "NAME" and before else WORDS.get(word, word)


def test_each_command_of_ours_runs(shell: Callable[..., Ran], tmp_path: Path) -> None:
    wrong = []
    for words in ours():
        ran = shell(*filled_in(words, tmp_path))
        refused = REFUSED.get(shlex.join(words)) == ran.err
        if not (ran.out or ran.err) or (ran.code not in ANSWERS and not refused):
            wrong.append(f"{shlex.join(words)}: {ran.code}: {ran.err or ran.out}")
    assert not wrong, "\n".join(wrong)


def test_none_is_left_out_that_is_not_there() -> None:
    every = [each.words[1:] for runbook in ALL for each in commands(runbook)]
    for left_out in NOTIFY_NOT_RUN:
        assert any(tuple(words[: len(left_out)]) == left_out for words in every), left_out


def _asks_redis(command: Command) -> bool:
    program, *words = command.words
    changes = any(tuple(words[: len(each)]) == each for each in REDIS_CHANGES)
    return program == "redis-cli" and not changes


def test_each_command_that_asks_redis_runs(deployment: Deployment) -> None:
    program = shutil.which("redis-cli")
    assert program, "redis-cli is not installed: run ops/setup"
    every = {tuple(each.words[1:]) for path in ALL for each in commands(path) if _asks_redis(each)}
    assert every
    for words in sorted(every):
        command = [program, "-u", deployment.settings.redis.url, *words]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert ran.returncode == 0, words
        assert ran.stdout, words
        assert "ERR" not in ran.stdout, words
