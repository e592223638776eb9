"""ops/setup leaves the system's services as they were, and says in one line what is wrong."""

import os
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "ops" / "setup"
POLICY = "usr/sbin/policy-rc.d"
OLD = ("etc/systemd/system/multi-user.target.wants/old.service", "etc/rc3.d/S01old")
NEW = (
    "etc/systemd/system/multi-user.target.wants/new.service",
    "etc/systemd/system/sockets.target.wants/new.socket",
    "etc/systemd/system/alias.service",
    "etc/rc3.d/S02new",
)
AS_IF_ROOT = 'as_root() { "$@"; }\n'
INSTALL = f"for link in {' '.join(NEW)}; do ln -s /unit $root/$link; done\n"


def run(commands: str, *, directory: Path, user: int | None = None) -> "Outcome":
    """These commands, with the functions of ops/setup at hand."""
    done = subprocess.run(
        ["bash", "-c", f"source <(cat)\n{commands}"],
        input=SETUP.read_text(),
        capture_output=True,
        text=True,
        cwd=directory,
        timeout=30,
        user=user,
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


class Outcome:
    def __init__(self, code: int, output: str) -> None:
        self.code = code
        self.lines = output.splitlines()

    def __repr__(self) -> str:
        return f"exit code {self.code}: {self.lines}"


def run_in_root(commands: str, system: Path) -> Outcome:
    return run(f"root='{system}'\n{AS_IF_ROOT}{commands}", directory=system.parent)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A root directory with one service that was enabled before."""
    system = tmp_path / "root"
    for name in (*OLD, *NEW, POLICY):
        (system / name).parent.mkdir(parents=True, exist_ok=True)
    for name in OLD:
        (system / name).symlink_to("/unit")
    return system


def links(system: Path) -> set[str]:
    found = (path for path in system.rglob("*") if path.is_symlink())
    return {str(path.relative_to(system)) for path in found}


def policies(system: Path) -> list[str]:
    return sorted(path.name for path in (system / POLICY).parent.iterdir())


def test_only_what_is_new_is_disabled(system: Path) -> None:
    outcome = run_in_root(f"protect_services a b\n{INSTALL}release_services\n", system)
    assert outcome.code == 0, outcome
    assert links(system) == {*OLD, "etc/rc3.d/K02new"}
    assert policies(system) == []


def test_while_packages_are_installed_no_service_may_start(system: Path) -> None:
    outcome = run_in_root("protect_services a\n$root$policy || echo refused: $?\n", system)
    assert outcome.lines == ["refused: 101"]


def test_a_policy_that_was_there_is_put_back_as_it_was(system: Path) -> None:
    policy = system / POLICY
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o711)
    os.utime(policy, (1, 1))
    before = policy.stat()
    outcome = run_in_root("protect_services a\n$root$policy || exit $(($? - 101))\n", system)
    assert outcome.code == 0, outcome
    after = policy.stat()
    assert (after.st_ino, after.st_mode, after.st_mtime) == (before.st_ino, before.st_mode, 1)
    assert policies(system) == ["policy-rc.d"]


@pytest.mark.parametrize("end", ["exit 1", "kill -INT $$", "kill -TERM $$"])
def test_a_failed_or_interrupted_installation_is_cleaned_up(end: str, system: Path) -> None:
    outcome = run_in_root(f"protect_services a b\n{INSTALL}{end}\n", system)
    assert outcome.code != 0
    assert links(system) == {*OLD, "etc/rc3.d/K02new"}
    assert policies(system) == []
    assert (system.parent / "var/setup/packages").read_text() == "a\nb\n"


def test_what_a_killed_run_left_is_cleaned_up_by_the_next(system: Path) -> None:
    (system / POLICY).write_text("the system's own\n")
    run_in_root(f"protect_services a\n{INSTALL}kill -KILL $$\n", system)
    assert policies(system) == ["policy-rc.d", "policy-rc.d.kept"]
    outcome = run_in_root("protect_services a\nrelease_services\n", system)
    assert outcome.code == 0, outcome
    assert links(system) == {*OLD, "etc/rc3.d/K02new"}
    assert policies(system) == ["policy-rc.d"]
    assert (system / POLICY).read_text() == "the system's own\n"


def test_an_installation_that_was_interrupted_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "var/setup").mkdir(parents=True)
    (tmp_path / "var/setup/packages").write_text("half-done\n")
    outcome = run("system_ready || missing_packages\n", directory=tmp_path)
    assert "half-done" in outcome.lines


CLUSTERS = "etc/postgresql-common/createcluster.conf"


@pytest.mark.parametrize("before", [None, "create_main_cluster = true\n"])
@pytest.mark.parametrize("end", ["release_services", "exit 1", "kill -INT $$", "kill -KILL $$"])
def test_while_packages_are_installed_no_cluster_is_made(
    before: str | None, end: str, system: Path
) -> None:
    settings = system / CLUSTERS
    if before is not None:
        settings.parent.mkdir(parents=True)
        settings.write_text(before)
    outcome = run_in_root(f"protect_services a\ncat $root/{CLUSTERS}\n{end}\n", system)
    assert outcome.lines[-1] == "create_main_cluster = false"
    if "KILL" in end:
        run_in_root("protect_services a\nrelease_services\n", system)
    assert settings.parent.exists() == bool(before)
    assert [path.read_text() for path in settings.parent.glob("*")] == ([before] if before else [])


def test_settings_that_the_package_brings_stay(system: Path) -> None:
    """Debian's ucf puts them beside ours."""
    brought = f"echo shipped >$root/{CLUSTERS}.ucf-dist\n"
    outcome = run_in_root(f"protect_services a\n{brought}release_services\n", system)
    assert outcome.code == 0, outcome
    (settings,) = (system / CLUSTERS).parent.iterdir()
    assert (settings.name, settings.read_text()) == ("createcluster.conf", "shipped\n")


def test_what_only_tests_need_is_for_tests_only(tmp_path: Path) -> None:
    found = ("has_postgresql", "has_nginx", "has_postfix", "command")
    nothing = "".join(f"{name}() {{ return 1; }}\n" for name in found)
    assert run(f"{nothing}missing_tools\n", directory=tmp_path).lines == []
    outcome = run(f"{nothing}for_tests=--tests\nmissing_tools\n", directory=tmp_path)
    gateways = ["nginx-light", "libnginx-mod-http-echo", "postfix"]
    assert outcome.lines == ["prometheus", "postgresql", *gateways]


def test_nothing_on_the_system_has_to_go_for_a_package(tmp_path: Path) -> None:
    shown = 'as_root() { echo "$@"; }\napt_install a\n'
    assert "--no-remove" in run(shown, directory=tmp_path).lines[0].split()


def test_given_servers_are_not_installed(tmp_path: Path) -> None:
    nothing = "has_rabbitmq() { return 1; }\nhas_redis() { return 1; }\n"
    given = "NOTIFY_BROKER_URLS=amqp://a NOTIFY_REDIS_URL=redis://b\n"
    none = "unset NOTIFY_BROKER_URLS\n"
    outcome = run(f"{nothing}{none}missing_servers\n", directory=tmp_path)
    assert outcome.lines == ["rabbitmq-server", "redis-server"]
    assert run(f"{nothing}{given}missing_servers\n", directory=tmp_path).lines == []


@pytest.mark.parametrize(
    ("commands", "problem"),
    [
        ("PATH=/nowhere\ncheck_apt a b", "no apt-get here: install a b"),
        ("PATH=/nowhere\ncheck_python", "no python3 here: install Python 3.11 or later"),
        (
            'python3() { [[ $1 == -V ]] && echo "Python 3.9.2"; }\ncheck_python',
            "Python 3.11 or later is needed; python3 is Python 3.9.2",
        ),
        ("df() { printf 'h\\nd 9 9 2048 9%% /\\n'; }\ncheck_free_space", "only 2 MB free on"),
    ],
)
def test_one_line_says_what_is_wrong(commands: str, problem: str, tmp_path: Path) -> None:
    outcome = run(commands, directory=tmp_path)
    assert outcome.code == 1
    (line,) = outcome.lines
    assert line.startswith(f"ops/setup: {problem}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_without_root_and_sudo_one_line_says_what_to_do() -> None:
    commands = "apt-get() { :; }\nPATH=/nowhere\ncheck_apt a b\n"
    outcome = run(commands, directory=Path("/"), user=65534)
    assert outcome.code == 1
    assert outcome.lines == [
        "ops/setup: installing packages needs root: "
        "run 'apt-get install a b' as root and start again"
    ]


def test_the_log_of_a_step_that_fails_is_shown(tmp_path: Path) -> None:
    (tmp_path / "var/log").mkdir(parents=True)
    outcome = run("step 'a step' bash -c 'echo why; exit 3'\n", directory=tmp_path)
    assert outcome.code == 1
    assert outcome.lines[0] == "a step"
    assert "    why" in outcome.lines
    assert outcome.lines[-1].startswith("ops/setup: failed: a step (all of its output: ")
