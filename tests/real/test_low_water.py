"""MariaDB's low-water mark on a real server: written with the option, read back, put back as it was found."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pymysql
import pytest

from lab.servers.base import LabServer
from lab.servers.spec import Account
from tests.real.families import SPEC, named
from tests.real.guarded import guard
from tuner.cli.setup_sql import drawn
from tuner.records import LOW_WATER_MARK, LOWEST_ABOVE_ZERO, Bounds, Sample
from tuner.servers.server import RealServer
from tuner.system.clock import SystemClock
from tuner.without_daemon import restore_offline

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

ABOVE = ((LOW_WATER_MARK, LOWEST_ABOVE_ZERO),)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[LabServer]:
    """Yield a MariaDB 11.8 as it ships, with next to nothing in it."""
    spec = replace(SPEC, buffer_pool=SPEC.buffer_pool // 4, extra=())
    with named("mariadb-11.8", spec) as found:
        yield found


@contextlib.contextmanager
def written_by(server: LabServer, account: Account) -> Iterator[RealServer]:
    """Yield the daemon's way to the server with that account, and the option."""
    adapter = RealServer(server.endpoint(account), SystemClock())
    adapter.writes_low_water = adapter.claims_writer = True
    try:
        yield adapter
    finally:
        adapter.close()


def reading(adapter: RealServer) -> Sample:
    """Return a reading, which there is."""
    found = adapter.read()
    assert isinstance(found, Sample), found
    return found


@pytest.mark.parametrize("guarded", [False, True], ids=["by SET", "by the procedure"])
def test_the_mark_is_written_read_back_and_restored(mariadb: LabServer, *, guarded: bool) -> None:
    """0.001 makes the law another one, as the next reading shows; the way back ends at the 0 found."""
    account = mariadb.daemon
    if guarded:
        account = guard(mariadb, Account("marked", drawn()), low_water=True)
    with written_by(mariadb, account) as adapter:
        facts = adapter.facts()
        before = reading(adapter)
        receipt = adapter.apply(ABOVE, before.capacity)
        after = reading(adapter)
        lines: list[str] = []
        restore_offline(adapter, before.capacity, low_water=0, say=lines.append)
        back = reading(adapter)

    assert facts.sets_low_water is guarded
    assert (before.low_water_mark, before.flush_law) == (0, "soft-limit")
    assert (receipt.error, receipt.low_water_mark, receipt.in_force) == (
        "",
        LOWEST_ABOVE_ZERO,
        before.capacity,
    )
    assert (after.low_water_mark, after.flush_law, after.capacity) == (
        LOWEST_ABOVE_ZERO,
        "mariadb",
        before.capacity,
    )
    assert (back.low_water_mark, back.flush_law) == (0, "soft-limit")
    assert lines[0] == f"{LOW_WATER_MARK} = 0 again"


def test_the_procedure_sets_no_other_mark(mariadb: LabServer) -> None:
    """Whoever has the password sets 0 or 0.001 by it, and no other value, nor the variable itself."""
    account = guard(mariadb, Account("stolen", drawn()), Bounds(200, 20_000, 10_000), low_water=True)
    refused = 0
    with contextlib.closing(mariadb.connect(account)) as connection, connection.cursor() as cursor:
        for statement in (
            "CALL innobrim.set_low_water_mark(2)",
            "CALL innobrim.set_low_water_mark(0.5)",
            "CALL innobrim.set_low_water_mark(NULL)",
            "CALL innobrim.set_low_water_mark('1; SET GLOBAL max_connections = 1')",
            f"SET GLOBAL {LOW_WATER_MARK} = 1",
        ):
            try:
                cursor.execute(statement)
            except pymysql.MySQLError:
                refused += 1
    assert refused >= 4
    assert float(mariadb.query(f"SELECT @@GLOBAL.{LOW_WATER_MARK}")[0][0]) in {0.0, 0.001}
    mariadb.query(f"SET GLOBAL {LOW_WATER_MARK} = 0")


def test_an_account_without_that_procedure_is_known(mariadb: LabServer) -> None:
    """Made without --low-water-mark the account cannot set it, which the daemon finds out by itself."""
    account = guard(mariadb, Account("unmarked", drawn()))
    with written_by(mariadb, account) as adapter:
        facts = adapter.facts()
        pair = reading(adapter).capacity
        receipt = adapter.apply(ABOVE, pair)

    assert facts.procedure is not None
    assert not facts.sets_low_water
    assert receipt.error
    assert receipt.low_water_mark == 0
