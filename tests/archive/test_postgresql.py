"""What only a server can do to an archive: be away, restart, refuse, be used by many at once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from notify.deadletter import DeadLetter
from notify.errors import StoreUnavailable
from notify.store import SCHEMA, Filter, Purge, Store
from notify.store.migrating import _LOCK
from tests.archive.conftest import on_postgresql
from tests.archive.letters import NOW, dead, raw
from tests.archive.rabbit import Rabbit
from tests.archive.running import archiving
from tests.archive.test_archiver import letters, until_archived, until_empty
from tests.postgres import QUOTED, PostgresServer
from tests.waiting import eventually

pytestmark = on_postgresql
ALL = Filter(limit=None)


@pytest.fixture
def other(archive_url: str) -> Iterator[Store]:
    """The same archive on another host."""
    with closing(Store(archive_url)) as opened:
        yield opened


@pytest.fixture
def name(archive_url: str) -> str:
    return urlsplit(archive_url).path[1:]


@pytest.fixture
def running(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that a test may stop, and that runs again afterwards."""
    yield postgres
    postgres.stop()
    postgres.start()


def test_both_names_of_the_driver(archive_url: str, store: Store) -> None:
    with closing(Store(archive_url.replace("postgresql:", "postgresql+psycopg:"))) as same:
        same.add([dead()])
    assert store.count(ALL) == 1
    assert store._database._engine.driver == "psycopg"


def test_a_connection_is_found_by_its_name_and_does_not_hang(store: Store, name: str) -> None:
    query = f"SELECT application_name FROM pg_stat_activity WHERE datname = '{name}'"
    with store._database.reading() as connection:
        assert connection.exec_driver_sql(query).scalars().all() == ["notify"]
        driver: Any = connection.connection.driver_connection
        given = driver.info.get_parameters()
    assert given["connect_timeout"] == "10"
    assert given["tcp_user_timeout"] == "50000"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda url: url.replace(QUOTED, "wrong-hunter3"), "password authentication failed"),
        (lambda url: url.replace("notify:", "nobody:"), "password authentication failed"),
        (lambda url: url + "nothing", 'database "t.*nothing" does not exist'),
        (lambda url: url.rpartition(":")[0] + ":1/x", "Connection refused"),
        (lambda url: url + "?sslmode=verify-full", "certificate"),
        (lambda url: url + "?sslmode=odd", "invalid sslmode value"),
        (lambda url: url + "?odd=1", 'invalid connection option "odd"'),
        (lambda url: url + "?sslmode=verify-full&sslrootcert=/no/such", "/no/such"),
        (lambda url: url + "?connect_timeout=3&application_name=me&odd=1", "odd"),
    ],
)
def test_a_url_that_does_not_work(
    archive_url: str, change: Callable[[str], str], problem: str
) -> None:
    with closing(Store(change(archive_url))) as wrong:
        for use in (wrong.create, wrong.version, lambda: wrong.find(ALL)):
            with pytest.raises(StoreUnavailable, match=problem) as caught:
                use()
            assert "hunter" not in str(caught.value)


def test_tls_by_the_url(archive_url: str, postgres: PostgresServer) -> None:
    verified = f"{archive_url}?sslmode=verify-full&sslrootcert={postgres.certificate}"
    with closing(Store(verified)) as store, store._database.reading() as connection:
        query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        assert connection.exec_driver_sql(query).scalar() is True


def test_a_commit_is_durable_whatever_the_default(
    store: Store, name: str, postgres: PostgresServer
) -> None:
    show = "SELECT current_setting('synchronous_commit'), current_setting('lock_timeout')"
    postgres.execute(name, f"ALTER DATABASE {name} SET synchronous_commit = off")
    store.close()
    with store._database.reading() as connection:
        assert connection.exec_driver_sql(show).one() == ("off", "0")
    with store._database.writing() as connection:
        assert connection.exec_driver_sql(show).one() == ("local", "10s")


def test_isolation_whatever_the_default(
    store: Store, other: Store, name: str, postgres: PostgresServer
) -> None:
    """Two that write to the same rows wait for each other; neither is turned away."""
    postgres.execute(
        name, f"ALTER DATABASE {name} SET default_transaction_isolation = serializable"
    )
    store.close()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: (store, other)[n % 2].add([raw()]), range(40)))
    (row,) = store.find(ALL)
    assert row.count == 40


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("default_transaction_read_only = on", "cannot execute .* in a read-only transaction"),
        ("statement_timeout = 1", "canceling statement due to statement timeout"),
    ],
)
def test_a_server_that_refuses(
    store: Store, name: str, postgres: PostgresServer, setting: str, problem: str
) -> None:
    many = [dead(f"n-{n}") for n in range(500)]
    postgres.execute("postgres", f"ALTER DATABASE {name} SET {setting}")
    store.close()
    with pytest.raises(StoreUnavailable, match=problem):
        store.add(many)
    postgres.execute("postgres", f"ALTER DATABASE {name} RESET {setting.partition(' ')[0]}")
    store.close()
    assert store.count(ALL) == 0
    assert store.add(many) == 500


def test_a_migration_takes_its_time(empty_postgresql: str, postgres: PostgresServer) -> None:
    """Longer than a statement or a lock of others may."""
    name = urlsplit(empty_postgresql).path[1:]
    postgres.execute(name, f"ALTER DATABASE {name} SET statement_timeout = '500ms'")
    waited = f"""SELECT 1 FROM pg_stat_activity WHERE datname = '{name}'
        AND wait_event = 'advisory' AND clock_timestamp() - query_start > '1s'"""
    with (
        closing(Store(empty_postgresql)) as store,
        closing(Store(empty_postgresql)) as first,
        ThreadPoolExecutor(1) as pool,
    ):
        with first._database.writing() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            second = pool.submit(store.create)
            eventually(lambda: postgres.execute(name, waited), "it waits for the first one")
        second.result(30)
        assert store.version() == SCHEMA


def test_a_full_disk_says_so_and_loses_nothing(
    store: Store, name: str, postgres: PostgresServer
) -> None:
    """As the server reports it, with a detail that quotes the row."""
    store.add([dead("before")])
    postgres.execute(
        name,
        """CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE 'could not extend file "base/1": No space left on device'
        USING ERRCODE = 'disk_full', DETAIL = NEW.recipient; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON dead_letters
        FOR EACH ROW EXECUTE FUNCTION full_disk()""",
    )
    with pytest.raises(StoreUnavailable, match=r"No space left on device \(SQLSTATE 53100\)") as e:
        store.add([dead("after")])
    assert "4915112345678" not in str(e.value)
    postgres.execute(name, "DROP TRIGGER full_disk ON dead_letters")
    assert store.add([dead("before"), dead("after")]) == 1


def test_a_failure_that_could_quote_a_row_has_a_name_only(store: Store) -> None:
    with (
        pytest.raises(StoreUnavailable, match=r"InvalidTextRepresentation \(SQLSTATE 22P02\)") as e,
        store._database.reading() as connection,
    ):
        connection.exec_driver_sql("SELECT '+4915112345678'::uuid")
    assert "49151" not in str(e.value)


def test_a_lock_that_is_held_for_long(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notify.store.engine._SAFELY", "SET LOCAL lock_timeout = '0.2s'")
    with other._database.writing() as connection:
        connection.exec_driver_sql("LOCK TABLE dead_letters")
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            store.add([dead()])
    assert store.add([dead()]) == 1


def test_connections_of_before_a_restart_are_replaced(
    store: Store, running: PostgresServer
) -> None:
    store.add([dead("before")])
    running.stop()
    with pytest.raises(StoreUnavailable, match="refused"):
        store.find(ALL)
    running.start()
    assert store.add([dead("after")]) == 1
    assert len(store.find(ALL)) == 2


@pytest.mark.broker
def test_the_archiver_waits_for_a_server_that_was_killed(
    rabbit: Rabbit, store: Store, other: Store, running: PostgresServer
) -> None:
    with archiving(rabbit.url, store=store, batch_size=50) as archiver:
        rabbit.kill(letters(100, "before"))
        until_archived(other, 100)
        running.kill()
        rabbit.kill(letters(300, "while-away"))
        archiver.until("waiting for the archive")
        eventually(lambda: rabbit.ready() == 300, "the letters are in RabbitMQ")
        running.start()
        until_archived(other, 400)
        until_empty(rabbit)
    assert len({row.letter.id for row in other.find(ALL)}) == other.count(ALL) == 400


def test_many_archivers_and_purges_at_once(store: Store, other: Store) -> None:
    """They meet at the same letters, in other orders; nobody waits for ever, all is counted."""
    many = [dead(f"n-{n}", dead_at=NOW + timedelta(seconds=n)) for n in range(60)]
    junk = [raw().evolve(dead_at=NOW + timedelta(minutes=5))] * 2
    rounds: list[list[DeadLetter]] = [many[n::-1] + many[n:] + junk for n in range(30)]
    purge = Purge(wanted=Filter(), open_before=None, before=NOW + timedelta(seconds=20))
    with ThreadPoolExecutor(6) as pool:
        adding = pool.map(lambda n: (store, other)[n % 2].add(rounds[n]), range(30))
        purging = pool.map(lambda n: (store, other)[n % 2].purge(purge), range(30))
        added, purged = sum(adding), sum(purging)
    assert added - purged == store.count(ALL)
    assert store.counts_by("label.team", Filter(channel="sms")) == {"ops": store.count(ALL) - 1}
    (row,) = store.find(Filter(id=""))
    assert row.count == 60
