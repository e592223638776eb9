"""A private PostgreSQL server, started by the first test that asks for it.

It is as it is shipped (fsync and full-page writes on), speaks TCP and TLS on a loopback port,
wants a password, and sorts by the rules of English, not by bytes: whatever relies on another
order is found. A database is a copy of one whose tables were made once.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg

from notify.local import ports
from notify.local.process import GuardedProcess
from notify.store import Store
from tests.waiting import eventually

USER, PASSWORD = "notify", "hunter2 /@:%ß"
QUOTED = "hunter2%20%2F%40%3A%25%C3%9F"
TEMPLATE = "template_notify"
# Who runs the server where the tests are run by root, whom it refuses.
ACCOUNT = "postgres"


def programs() -> Path:
    """The newest PostgreSQL of Debian, or the one in PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_number)
    on_path = shutil.which("postgres")
    if not found and on_path is None:
        raise AssertionError("PostgreSQL is not installed; run ops/setup")
    return (found[-1] if found else Path(str(on_path))).parent


def _number(program: Path) -> int:
    name = program.parent.parent.name
    return int(name) if name.isdecimal() else 0


def _as_account() -> list[str]:
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--init-groups", "--"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr


class PostgresServer:
    """One server with a directory of its own under the system's one for temporary files."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="notify-postgres-"))
        self.port = ports.choose(["postgres"])["postgres"]
        self._made = False
        self._initialise()
        self.start()

    def _initialise(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.directory, ACCOUNT, ACCOUNT)
        secret = self.directory / "password"
        secret.write_text(f"{PASSWORD}\n", encoding="utf-8")
        secret.chmod(0o644)
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}"]
        options += ["--encoding=UTF8", "--locale=C.UTF-8"]
        options += ["--locale-provider=icu", "--icu-locale=en"]
        command = [*_as_account(), str(programs() / "initdb"), *options, "-D", str(self.data)]
        _run(command)
        subject = ["-subj", "/CN=localhost", "-addext", f"subjectAltName=IP:{ports.LOOPBACK}"]
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
        _run([*_as_account(), *made, "-keyout", str(self.key), "-out", str(self.certificate)])

    @property
    def key(self) -> Path:
        return self.directory / "server.key"

    @property
    def certificate(self) -> Path:
        return self.directory / "server.crt"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def start(self, *options: str) -> None:
        settings = {"port": self.port, "listen_addresses": ports.LOOPBACK, "max_connections": 60}
        settings |= {"unix_socket_directories": self.directory, "ssl": "on"}
        settings |= {"ssl_cert_file": self.certificate, "ssl_key_file": self.key}
        given = [f"--{name}={value}" for name, value in settings.items()]
        command = [*_as_account(), str(programs() / "postgres"), "-D", str(self.data)]
        self._process = GuardedProcess(
            [*command, *given, *options],
            log=Path(f"{self.directory}.log"),
            cwd=Path("/"),
            env=dict(os.environ),
        )
        eventually(self._answers, "PostgreSQL answers", 60)

    def _answers(self) -> bool:
        try:
            self.execute("postgres", "SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """At once, whoever is connected."""
        os.kill(self._process.pid, signal.SIGINT)
        self._process.stop()

    def kill(self) -> None:
        """As a crash would: the server's other processes end when they notice."""
        self._process.kill()

    def url(self, database: str, *, password: str = QUOTED) -> str:
        return f"postgresql://{USER}:{password}@{ports.LOOPBACK}:{self.port}/{database}"

    def execute(self, database: str, statement: str) -> list[tuple[object, ...]]:
        """Outside of a transaction."""
        options = {"host": ports.LOOPBACK, "port": self.port, "user": USER, "password": PASSWORD}
        with psycopg.connect(dbname=database, autocommit=True, **options) as connection:  # type: ignore[arg-type]
            cursor = connection.execute(statement)
            return list(cursor) if cursor.description else []

    @contextmanager
    def database(self, *, empty: bool = False) -> Iterator[str]:
        """The URL of a new database, with the tables of an archive unless it is to be empty."""
        self._make_template()
        name = f"t{uuid4().hex[:12]}"
        template = "template0" if empty else TEMPLATE
        self.execute("postgres", f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
        finally:
            self.execute("postgres", f"DROP DATABASE {name} WITH (FORCE)")

    def _make_template(self) -> None:
        if self._made:
            return
        self.execute("postgres", f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
        with closing(Store(self.url(TEMPLATE))) as store:
            store.create()
        self._made = True

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.directory)
        Path(f"{self.directory}.log").unlink()
