"""Every command of a runbook is one that exists, with its options, as the programs read them."""

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import click
import pytest

from notify.cli.main import cli
from tests.runbooks.programs import NOT_RUN
from tests.runbooks.reading import ALL, ROOT, Command, commands, mentioned

RABBITMQ = sorted(name for name in NOT_RUN if name.startswith("rabbitmq"))


def parse(words: list[str]) -> None:
    """Follows the words through the groups to a command, which reads its options.

    Raises ``click.UsageError``.
    """
    command: click.Command = cli
    context = click.Context(cli, info_name="notify")
    while True:
        context = command.make_context(context.info_name, words, parent=context.parent)
        if not isinstance(command, click.Group):
            return
        words = [*context._protected_args, *context.args]
        if not words:
            return
        found = command.get_command(context, words[0])
        if found is None:
            raise click.UsageError(f"no such command: {words[0]}")
        command, words = found, words[1:]
        context = click.Context(found, context, found.name)


def problem(command: Command, *, whole: bool = True) -> str:
    """What is wrong with it; files that are not here are no problem.

    Neither is what is missing, where it is not ``whole``.
    """
    try:
        parse(command.words[1:])
    except click.exceptions.Exit:  # a group shows its help
        return ""
    except click.UsageError as error:
        lacking = isinstance(error, click.MissingParameter) or "requires an argument" in str(error)
        if "does not exist" in error.message or (lacking and not whole):
            return ""
        return f"{command.line}: {error.message}"
    return ""


@pytest.mark.parametrize("runbook", ALL, ids=lambda path: path.stem)
def test_each_command_of_ours_exists_with_its_options(runbook: Path) -> None:
    ours = [each for each in commands(runbook) if each.words[0] == "notify"]
    assert ours
    assert [found for each in ours if (found := problem(each))] == []


@pytest.mark.parametrize("runbook", ALL, ids=lambda path: path.stem)
def test_each_command_between_words_exists_with_its_options(runbook: Path) -> None:
    found = [problem(each, whole=False) for each in mentioned(runbook)]
    assert [each for each in found if each] == []


@pytest.mark.parametrize("wrong", ["notify dead lost", "notify queues --jsn", "notify lost"])
@pytest.mark.parametrize("whole", [True, False])
def test_what_does_not_exist_is_found(wrong: str, whole: bool) -> None:
    assert problem(Command(runbook="none", line=wrong), whole=whole)


def test_what_is_missing_is_found_in_blocks_only() -> None:
    short = Command(runbook="none", line="notify status")
    assert problem(short)
    assert not problem(short, whole=False)


def others() -> dict[str, list[Command]]:
    """Commands of other programs, by program."""
    found: dict[str, list[Command]] = defaultdict(list)
    for each in (each for runbook in ALL for each in commands(runbook)):
        if each.words[0] not in ("notify", "redis-cli"):
            found[each.words[0]].append(each)
    return found


def test_each_other_program_is_run_or_it_is_said_why_not() -> None:
    assert others().keys() == NOT_RUN.keys()
    assert all(NOT_RUN.values())


def test_each_script_of_ours_exists_with_its_options() -> None:
    scripts = {name: each for name, each in others().items() if "ops/" in name}
    assert scripts
    for name, used in scripts.items():
        script = ROOT / "ops" / name.rpartition("ops/")[2]
        options = {word for each in used for word in each.words if word.startswith("--")}
        assert options <= {word.rstrip(")") for word in script.read_text().split()}, name


@pytest.mark.parametrize("program", RABBITMQ)
def test_each_subcommand_of_rabbitmq_exists(program: str) -> None:
    """In the version that is installed; the help needs no node."""
    found = shutil.which(program, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert found, f"{program} is not installed: run ops/setup"
    said = subprocess.run([found, "help"], capture_output=True, text=True, timeout=30, check=False)
    known = {line.split()[0] for line in said.stdout.splitlines() if line.startswith("   ")}
    used = {
        next(word for word in each.words[1:] if not word.startswith("-"))
        for each in others()[program]
    }
    assert used <= known
