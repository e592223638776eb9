"""What ops/install does with /etc/notify, and what it refuses before it begins."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# ops/install's own functions, below another root; the versions are not built here.
_CONFIGURE = """
source ops/install
root=$1 rabbitmq=$2 yes=yes
source=$PWD
configure
"""


@pytest.fixture
def configure(tmp_path: Path) -> Callable[..., str]:
    def run(rabbitmq: str = "elsewhere") -> str:
        ended = subprocess.run(
            ["bash", "-c", _CONFIGURE, "configure", str(tmp_path), rabbitmq],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


def last_shipped(tmp_path: Path, text: str, name: str = "sms.toml") -> None:
    """As if the version before had shipped that file with that text."""
    path = tmp_path / "opt/notify/.shipped/channels" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_second_time_nothing_is_done(configure: Callable[..., str]) -> None:
    assert "put channels/sms.toml into /etc/notify" in configure()
    assert configure() == ""


def test_what_was_edited_stays_and_news_are_put_beside(
    configure: Callable[..., str], tmp_path: Path
) -> None:
    configure()
    sms = tmp_path / "etc/notify/channels/sms.toml"
    sms.write_text("# mine\n")
    assert configure() == "", "the shipped one is the same as before"
    last_shipped(tmp_path, "# of the version before\n")
    assert "put channels/sms.toml.new beside /etc/notify/channels/sms.toml" in configure()
    assert sms.read_text() == "# mine\n"
    shipped = (ROOT / "config/channels/sms.toml").read_text()
    assert sms.with_name("sms.toml.new").read_text() == shipped
    assert configure() == "", "it is said once"


def test_what_was_not_edited_is_renewed(configure: Callable[..., str], tmp_path: Path) -> None:
    configure()
    sms = tmp_path / "etc/notify/channels/sms.toml"
    sms.write_text("# of the version before\n")
    last_shipped(tmp_path, "# of the version before\n")
    assert "renew /etc/notify/channels/sms.toml, which was not edited" in configure()
    assert sms.read_text() == (ROOT / "config/channels/sms.toml").read_text()


def test_what_was_removed_stays_away(configure: Callable[..., str], tmp_path: Path) -> None:
    configure()
    sms = tmp_path / "etc/notify/channels/sms.toml"
    sms.unlink()
    assert configure() == ""
    assert not sms.exists()


def test_what_this_version_does_not_have_goes_unless_it_was_edited(
    configure: Callable[..., str], tmp_path: Path
) -> None:
    configure()
    for name in ("once.toml", "mine.toml"):
        last_shipped(tmp_path, "# of another version\n", name)
        (tmp_path / "etc/notify/channels" / name).write_text("# of another version\n")
    mine = tmp_path / "etc/notify/channels/mine.toml"
    mine.write_text("# mine\n")
    said = configure()
    assert said == "remove /etc/notify/channels/once.toml, which this version does not have\n"
    assert not mine.with_name("once.toml").exists()
    assert mine.read_text() == "# mine\n"


def test_nobody_else_may_read_it(configure: Callable[..., str], tmp_path: Path) -> None:
    configure()
    for path in (tmp_path / "etc/notify").rglob("*"):
        assert path.stat().st_mode & 0o007 == 0, path


def test_with_a_rabbitmq_of_its_own_its_users_are_used(
    configure: Callable[..., str], tmp_path: Path
) -> None:
    configure("local")
    lines = (tmp_path / "etc/notify/notify.toml").read_text().splitlines()
    assert 'urls = ["amqp://notify-worker@127.0.0.1:5672/notify"]' in lines
    assert 'management_url = "http://notify-monitor@127.0.0.1:15672"' in lines
    assert 'password_file = "broker-password"' in lines
    assert 'management_password_file = "management-password"' in lines
    assert 'url = "sqlite:////var/lib/notify/archive.sqlite3"' in lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fast"], "unknown: --fast"),
        (["--without", "worker"], "--without: some of exporter,archiver,beat, not worker"),
        (["--rabbitmq", "nearby"], "--rabbitmq: local or elsewhere, not nearby"),
        (["--python", "/bin/false"], "/bin/false is not Python 3.11 or later"),
    ],
)
def test_what_cannot_be_is_said_at_once(arguments: list[str], said: str) -> None:
    ended = subprocess.run(
        ["ops/install", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert said in ended.stderr
    assert ended.stdout == ""


def test_help_is_the_text_at_the_top() -> None:
    for program in ("ops/install", "ops/rollback", "ops/rabbitmq/setup"):
        ended = subprocess.run(
            [program, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert "--yes" in ended.stdout
        assert "set -euo" not in ended.stdout


def test_a_dry_run_below_another_root_touches_nothing(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["ops/install", "--root", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "would: build /opt/notify/" in ended.stdout
    assert ended.stdout.endswith("nothing was changed; with --yes it is\n")
    assert list(tmp_path.iterdir()) == []
