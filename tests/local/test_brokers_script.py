"""ops/brokers: one line says what is wrong, an interrupted build is done again; and the wrapper
becomes the program in the root directory, which leaves no mount and no process behind."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from notify.local.process import GuardedProcess

from .watching import runs, wait_for

OPS = Path(__file__).parents[2] / "ops"
BUILDING = """
step() { echo "step: $1"; shift; "$@"; }
own_server() { return 1; }
version_of() { echo 4.3.9; }
find_mirror() { echo http://mirror; }
install_programs() { :; }
debootstrap=/bin/true
check_free_space() { :; }
"""
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root directory")


def run(commands: str, cache: Path, *, user: int | None = None) -> list[str]:
    """The last line is the exit code; the lines before, what these commands printed.

    They have the functions of ops/brokers at hand.
    """
    done = subprocess.run(
        ["bash", "-c", f"source <(cat)\nset -u\n{commands}"],
        input=script(),
        capture_output=True,
        text=True,
        cwd="/" if user else cache,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        timeout=30,
        user=user,
    )
    return [*(done.stdout + done.stderr).splitlines(), str(done.returncode)]


def script() -> str:
    """ops/brokers with ops/setup in it, for a user who may not read either."""
    code = (OPS / "brokers").read_text()
    (source,) = re.findall(r"^source .*$", code, re.MULTILINE)
    return code.replace(source, (OPS / "setup").read_text())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("", "name one or more of 3.10 4.0 4.3, or all"),
        ("4.3 3.9", "no supported RabbitMQ: '3.9'; there are 3.10 4.0 4.3"),
        ("''", "no supported RabbitMQ: ''; there are 3.10 4.0 4.3"),
    ],
)
def test_only_supported_versions(arguments: str, problem: str, tmp_path: Path) -> None:
    assert run(f"check_known {arguments}", tmp_path) == [f"ops/brokers: {problem}", "1"]


def test_one_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    problem = "ops/brokers: RabbitMQ 4.3 is not there: run 'ops/brokers 4.3' as root"
    assert run("own_server() { return 1; }\nserver_of 4.3", tmp_path) == [problem, "1"]


@AS_ROOT
def test_who_is_not_root_is_told_so_in_one_line(tmp_path: Path) -> None:
    told = run("check_root 4.3", tmp_path, user=65534)
    assert told == [
        "ops/brokers: RabbitMQ 4.3 is not this system's own and gets a root directory of its own: "
        "run this as root",
        "1",
    ]


@pytest.mark.parametrize("version", ["3.10", "4.0"])
def test_the_systems_own_serves_where_it_is_of_the_version(version: str, tmp_path: Path) -> None:
    own = fake_program(tmp_path / "own" / "rabbitmqctl", f"echo {version}.7")
    own.with_name("rabbitmq-server").symlink_to(own)
    found = run(
        f"NOTIFY_RABBITMQ_SERVER={tmp_path}/own/rabbitmq-server\nserver_of {version}", tmp_path
    )
    assert found == [f"{tmp_path}/own/rabbitmq-server", "0"]


@pytest.mark.parametrize(
    ("sources", "mirror"),
    [
        ("noble http://other/ubuntu\nNAME http://first/debian\nNAME http://second", "http://first/debian"),
        ("NAME-security http://security\nstable https://third/debian/", "https://third/debian/"),
        ("NAME mirror+file:LIST/", "https://listed/debian"),
    ],
)  # fmt: skip
def test_the_mirror_is_the_one_that_apt_uses(sources: str, mirror: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# comment\nhttps://listed/debian\tpriority:1\n")
    sources = sources.replace("LIST", str(tmp_path / "list"))
    name = "name=$(. /etc/os-release; echo $VERSION_CODENAME)\n"
    code = f"apt_sources() {{ sed s/NAME/$name/ <<<'{sources}'; }}\n"
    assert run(f"{name}{code}find_mirror", tmp_path) == [mirror, "0"]


def test_no_mirror_is_one_line(tmp_path: Path) -> None:
    problem = "ops/brokers: found no Debian mirror in apt's sources"
    assert run("apt_sources() { :; }\nmirror=$(find_mirror)", tmp_path) == [problem, "1"]


@AS_ROOT
def test_an_interrupted_build_is_done_again_and_a_complete_one_kept(tmp_path: Path) -> None:
    place = tmp_path / "notify/brokers/4.3"
    half = "install_broker() { touch $1/root/half; kill -KILL $BASHPID; }\n"
    run(f"{BUILDING}{half}provide 4.3", tmp_path)
    assert (place / "root/half").exists()
    assert not (place / "stamp").exists()
    whole = "install_broker() { ls -A $1/root; }\n"
    again = run(f"{BUILDING}{whole}provide 4.3", tmp_path)
    server = f"RabbitMQ 4.3: 4.3.9 ({place}/bin/rabbitmq-server)"
    assert [line[:10] for line in again[:2]] == ["step: [1/2", "step: [2/2"]
    assert again[2:] == [server, "0"]
    assert run(f"{BUILDING}provide 4.3", tmp_path) == [server, "0"]
    assert run(f"{BUILDING}{whole}recipe=new\nprovide 4.3", tmp_path) == again


@AS_ROOT
def test_a_failed_build_is_told_and_not_taken_for_a_broker(tmp_path: Path) -> None:
    (tmp_path / "var/log").mkdir(parents=True)
    steps = BUILDING.replace("step() {", "unused() {")
    failed = run(f"{steps}install_broker() {{ echo why; return 3; }}\nprovide 4.3", tmp_path)
    assert "    why" in failed
    assert failed[-2].startswith("ops/brokers: failed: [2/2] RabbitMQ 4.3: rabbitmq-server")
    assert failed[-1] == "1"
    assert run(f"{BUILDING}built_server 4.3", tmp_path) == ["1"]


# --- the wrapper ---------------------------------------------------------------------------------


def fake_program(path: Path, code: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def copy_with_libraries(name: str, root: Path) -> None:
    """A program of this system, with what it is linked to, into the root directory."""
    program = shutil.which(name)
    assert program
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for file in (program, *re.findall(r"(/\S+) \(0x", linked)):
        target = root / file.removeprefix("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


@pytest.fixture
def bin_directory(tmp_path: Path) -> Path:
    """What ops/brokers builds, with a shell and three commands instead of Debian."""
    broker = tmp_path / "cache" / "with space"
    for name in ("proc", "sys", "dev", "tmp", "bin"):
        (broker / "root" / name).mkdir(parents=True)
    for program in ("sh", "env", "sleep", "cat"):
        copy_with_libraries(program, broker / "root")
    shutil.copy(shutil.which("sh") or "", broker / "root/bin/sh")
    run(f"cd {OPS.parent}\nmkdir '{broker}/bin'\ninstall_programs '{broker}/bin'", tmp_path)
    return broker / "bin"


def server(bin_directory: Path, code: str) -> str:
    """The wrapper's path; this is what it finds as RabbitMQ."""
    fake_program(bin_directory.parent / "root/usr/lib/rabbitmq/bin/rabbitmq-server", code)
    return str(bin_directory / "rabbitmq-server")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node's directory."""
    directory = tmp_path / "узел with space"
    directory.mkdir()
    (directory / "rabbitmq.conf").write_text("its configuration\n")
    return directory


def environment(config: str) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "RABBITMQ_CONFIG_FILE": config, "KEPT": "a  b"}


@AS_ROOT
@pytest.mark.parametrize("name", ["{node}/rabbitmq.conf", "/proc/self/cwd/rabbitmq.conf"])
def test_the_program_in_the_root_gets_all_that_was_given(
    name: str, bin_directory: Path, node: Path
) -> None:
    code = 'echo $$; cat "$RABBITMQ_CONFIG_FILE"; echo "$KEPT" "$@"; echo written >file'
    with subprocess.Popen(
        [server(bin_directory, code), "x  y", "--mounted"],
        stdout=subprocess.PIPE,
        env=environment(name.format(node=node)),
        cwd=node,
        text=True,
    ) as process:
        assert process.stdout
        lines = process.stdout.read().splitlines()
    assert lines == [str(process.pid), "its configuration", "a  b x  y --mounted"]
    assert (node / "file").read_text() == "written\n"


@AS_ROOT
def test_nothing_stays_mounted(bin_directory: Path, node: Path) -> None:
    with guarded(bin_directory, node) as process:
        mounts = Path(f"/proc/{process.pid}/mountinfo").read_text()
        assert node.name.replace(" ", r"\040") in mounts
        assert str(bin_directory.parent.parent) not in Path("/proc/self/mountinfo").read_text()
    assert list((bin_directory.parent / "root/tmp").iterdir()) == []


@contextmanager
def guarded(bin_directory: Path, node: Path) -> Iterator[GuardedProcess]:
    """A server that says that it runs and goes on, as the private servers start it."""
    process = GuardedProcess(
        [server(bin_directory, "echo runs >file; exec sleep 60")],
        log=node / "output.log",
        cwd=node,
        env=environment(f"{node}/rabbitmq.conf"),
    )
    try:
        wait_for(lambda: (node / "file").exists(), "a running server")
        yield process
    finally:
        process.kill()


@AS_ROOT
def test_it_does_not_outlive_a_killed_guard(bin_directory: Path, node: Path) -> None:
    with guarded(bin_directory, node) as process:
        os.kill(process.guard_pid, 9)
        wait_for(lambda: not runs(process.pid), "its end", 5)


@AS_ROOT
def test_a_signal_reaches_the_program_itself(bin_directory: Path, node: Path) -> None:
    with guarded(bin_directory, node) as process:
        process.ask_to_stop()
        wait_for(lambda: not runs(process.pid), "its end", 3)


@AS_ROOT
def test_the_wrapper_says_that_it_needs_root() -> None:
    done = subprocess.run(
        ["bash", "-c", "source <(cat)"],
        input=(OPS / "broker-in-root").read_text(),
        capture_output=True,
        text=True,
        cwd="/",
        user=65534,
        timeout=30,
    )
    (line,) = done.stderr.splitlines()
    assert line == "bash: a RabbitMQ in a root directory of its own needs root to run"
    assert done.returncode == 1
