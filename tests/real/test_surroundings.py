"""What a reading of a real server says of what else goes on in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import SCHEMA, Account
from tests.real.support import new_account
from tuner.records import Facts, Sample
from tuner.servers.server import RealServer
from tuner.servers.surroundings import PARTS, SURROUNDINGS_SECONDS
from tuner.system.clock import SystemClock

pytestmark = pytest.mark.real

TABLE = f"{SCHEMA}.seen"
SOON = SURROUNDINGS_SECONDS + 5.0


@contextlib.contextmanager
def connected(server: LabServer, user: str, password: str) -> Iterator[tuple[RealServer, Facts]]:
    """Yield an adapter for an account, and what it found out."""
    made = RealServer(server.endpoint(Account(user, password), timeout=5.0), SystemClock())
    try:
        yield made, made.facts()
    finally:
        made.close()


@pytest.fixture
def adapter(server: LabServer) -> Iterator[RealServer]:
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


def reading(adapter: RealServer) -> Sample:
    """Return a reading that must be good."""
    found = adapter.read()
    assert isinstance(found, Sample), found
    return found


def test_an_account_that_may_only_look_at_counters_is_enough(server: LabServer) -> None:
    """With PROCESS alone readings are whole, but for the surroundings, which are named as unseen."""
    account = new_account(server, "narrow")
    server.query("REVOKE SELECT ON performance_schema.* FROM 'narrow'@'%'")
    with connected(server, account.user, account.password) as (made, facts):
        found = reading(made)

    assert facts.unseen == tuple(PARTS)
    assert not found.degraded
    assert (found.write_statements, found.replica_lag) == (None, None)


def test_a_quiet_server_shows_nothing(adapter: RealServer) -> None:
    """A server on its own is no replica, in no group, locked by nobody and not cloned."""
    found = reading(adapter)

    assert (found.replica, found.replica_lag, found.group_role) == (False, None, "")
    assert not any((found.cloning, found.backup_locked, found.read_locked, found.undo_truncating))
    assert not any((found.read_only, found.super_read_only, found.pool_loading))


def test_latency_can_be_watched(server: LabServer, adapter: RealServer, table: str) -> None:
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


def test_without_counters_the_age_is_the_checkpoints(server: LabServer, adapter: RealServer) -> None:
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
