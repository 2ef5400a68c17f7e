"""What a reading of a real server says of what else goes on in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lab.servers.base import SCHEMA, Account, LabServer
from tests.real.support import new_account, until, variables
from tuner.clock import SystemClock
from tuner.records import Facts, Sample
from tuner.servers.mysql import MySQLServer
from tuner.servers.surroundings import PARTS, SURROUNDINGS_SECONDS

pytestmark = pytest.mark.real

TABLE = f"{SCHEMA}.seen"
SOON = SURROUNDINGS_SECONDS + 5.0


@contextlib.contextmanager
def connected(server: LabServer, user: str, password: str) -> Iterator[tuple[MySQLServer, Facts]]:
    """Yield an adapter for an account, and what it found out."""
    made = MySQLServer(server.endpoint(Account(user, password), timeout=5.0), SystemClock())
    try:
        yield made, made.facts()
    finally:
        made.close()


@pytest.fixture
def adapter(server: LabServer) -> Iterator[MySQLServer]:
    """Yield an adapter whose account may see everything."""
    with connected(server, server.daemon.user, server.daemon.password) as (made, facts):
        assert facts.unseen == ()
        yield made


@pytest.fixture
def table(server: LabServer) -> Iterator[str]:
    """Yield a table that nobody else uses."""
    server.query(f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, n INT)")
    yield TABLE
    server.query(f"DROP TABLE IF EXISTS {TABLE}")


def reading(adapter: MySQLServer) -> Sample:
    """Return a reading that must be good."""
    found = adapter.read()
    assert isinstance(found, Sample), found
    return found


def fresh(adapter: MySQLServer) -> Sample:
    """Return a reading with the surroundings as they are now."""
    adapter._surroundings.look(adapter._session)
    return reading(adapter)


def test_an_account_that_may_only_look_at_counters_is_enough(server: LabServer) -> None:
    """With PROCESS alone readings are whole, but for the surroundings, which are named as unseen."""
    account = new_account(server, "narrow")
    server.query("REVOKE SELECT ON performance_schema.* FROM 'narrow'@'%'")
    with connected(server, account.user, account.password) as (made, facts):
        found = reading(made)

    assert facts.unseen == tuple(PARTS)
    assert not found.degraded
    assert (found.write_statements, found.replica_lag) == (None, None)


def test_a_quiet_server_shows_nothing(adapter: MySQLServer) -> None:
    """A server on its own is no replica, in no group, locked by nobody and not cloned."""
    found = reading(adapter)

    assert (found.replica, found.replica_lag, found.group_role) == (False, None, "")
    assert not any((found.cloning, found.backup_locked, found.read_locked, found.undo_truncating))
    assert not any((found.read_only, found.super_read_only, found.pool_loading))


def test_read_only_is_seen_at_once(server: LabServer, adapter: MySQLServer) -> None:
    """Both kinds are in the next reading."""
    with variables(server, super_read_only="1", read_only="1"):
        found = reading(adapter)
        assert found.read_only
        assert found.super_read_only
    assert not reading(adapter).read_only


def test_locks_of_a_backup_are_seen(server: LabServer, adapter: MySQLServer) -> None:
    """A session that locks the instance for a backup, or all tables for reading, is seen while it does."""
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("LOCK INSTANCE FOR BACKUP")
        found = until(lambda: _backup_locked(adapter), SOON, "the backup lock")
        assert not found.read_locked
        cursor.execute("UNLOCK INSTANCE")
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        found = fresh(adapter)
        assert found.read_locked
        assert not found.backup_locked
        cursor.execute("UNLOCK TABLES")
    assert not fresh(adapter).read_locked


def _backup_locked(adapter: MySQLServer) -> Sample | None:
    found = reading(adapter)
    return found if found.backup_locked else None


def test_ddl_and_drops_are_counted(server: LabServer, adapter: MySQLServer, table: str) -> None:
    """An ALTER and a DROP are in the next reading, and neither is taken for the other."""
    before = reading(adapter)
    server.query(f"ALTER TABLE {table} ADD COLUMN m INT")
    server.query(f"CREATE INDEX m ON {table} (m)")
    altered = reading(adapter)
    server.query(f"TRUNCATE {table}")
    server.query(f"DROP TABLE {table}")
    dropped = reading(adapter)

    assert altered.ddl_statements - before.ddl_statements == 2
    assert altered.drop_statements == before.drop_statements
    assert dropped.drop_statements - before.drop_statements == 2
    assert dropped.ddl_statements == altered.ddl_statements


def test_latency_can_be_watched(server: LabServer, adapter: MySQLServer, table: str) -> None:
    """Every writing statement and its time are in the next reading while somebody watches."""
    adapter.watches_latency = True
    before = reading(adapter)
    for number in range(20):
        server.query(f"INSERT INTO {table} VALUES ({number}, 0)")
    after = reading(adapter)

    assert before.write_statements is not None
    assert after.write_statements is not None
    assert before.write_time is not None
    assert after.write_time is not None
    assert after.write_statements - before.write_statements >= 20
    assert 0.0 < after.write_time - before.write_time < 20.0


def test_an_undo_tablespace_set_inactive_is_seen(server: LabServer, adapter: MySQLServer) -> None:
    """While an undo tablespace is taken out of use, to be truncated, readings say so."""
    server.query("CREATE UNDO TABLESPACE seen ADD DATAFILE 'seen.ibu'")
    try:
        assert not reading(adapter).undo_truncating
        server.query("ALTER UNDO TABLESPACE seen SET INACTIVE")
        assert reading(adapter).undo_truncating
    finally:
        server.query("ALTER UNDO TABLESPACE seen SET INACTIVE")
        until(lambda: _dropped(server), 30.0, "the undo tablespace to be empty")
    assert not reading(adapter).undo_truncating


def _dropped(server: LabServer) -> bool:
    with contextlib.suppress(Exception):
        server.query("DROP UNDO TABLESPACE seen")
        return True
    return False


def test_without_counters_the_age_is_the_checkpoints(server: LabServer, adapter: MySQLServer) -> None:
    """With the counters off, readings go on: an age that is never below the real one, and it is said."""
    full = reading(adapter)
    server.query("SET GLOBAL innodb_monitor_disable = 'module_log'")
    try:
        found = reading(adapter)
    finally:
        server.query("SET GLOBAL innodb_monitor_enable = 'module_log'")

    assert not full.degraded
    assert found.degraded
    assert found.lsn_current >= full.lsn_current
    assert found.modified_age == found.checkpoint_age
    assert found.lsn_checkpoint >= full.lsn_checkpoint
    assert found.capacity == full.capacity
    assert found.flush_limit == full.flush_limit
    assert not reading(adapter).degraded
