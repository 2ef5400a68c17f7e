"""The loop on a real server while something else goes on there, and while its counters are off."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import pytest

from lab.servers.base import SCHEMA, LabServer
from tests.real.support import Work, in_force, under_load, until
from tuner.clock import SystemClock
from tuner.core.step import start, step
from tuner.records import Capacity, Command, Receipt, Sample, Tick, TickRecord
from tuner.servers.connect import Endpoint
from tuner.servers.detect import ENABLE_COUNTERS
from tuner.servers.mysql import MySQLServer
from tuner.servers.surroundings import SURROUNDINGS_SECONDS
from tuner.settings import Mode, Settings

pytestmark = pytest.mark.real

SETTING = Capacity(225, 450)
NOTICED = SURROUNDINGS_SECONDS + 10.0
VERIFIED = 120.0
HELD_FOR = 25


class Turning:
    """An active loop beside a real server, one tick a second.

    Attributes:
        records: every tick so far.
    """

    def __init__(self, adapter: MySQLServer) -> None:
        self.records: list[TickRecord] = []
        self._adapter, self._clock = adapter, SystemClock()
        self._state = start(Settings(mode=Mode.ACTIVE), adapter.facts())
        self._receipt: Receipt | None = None

    def turn(self) -> TickRecord:
        """Wait for the next second, then tick once and carry out what is decided."""
        time.sleep(1.0)  # a tick is a second; nothing announces it
        saved = () if self._state.originals is None else (Command(name="originals_saved", who="journal"),)
        reading = self._adapter.read()
        now, wall = self._clock.monotonic(), self._clock.wall()
        tick = Tick(len(self.records) + 1, now, wall, reading, saved, self._receipt)
        self._state, record = step(self._state, tick)
        self.records.append(record)
        target = record.decision.target
        steps = record.decision.steps
        self._receipt = self._adapter.apply(steps, target) if steps and target is not None else None
        return record

    def turns(self, count: int) -> list[TickRecord]:
        """Tick so many times; return the records of these."""
        for _ in range(count):
            self.turn()
        return self.records[-count:]

    def heard(self, code: str) -> bool:
        """Tick once; tell whether an event of this code has been said by now."""
        self.turn()
        return any(event.code == code for record in self.records for event in record.events)


@pytest.fixture
def loop(server: LabServer, work: Work) -> Iterator[Turning]:
    """Yield an active loop whose flush law is verified, under load."""
    under_load(server, work, SETTING)
    login = server.daemon
    adapter = MySQLServer(
        Endpoint(user=login.user, password=login.password, host=server.host, port=server.port), SystemClock()
    )
    try:
        made = Turning(adapter)
        until(lambda: not made.turn().holds and len(made.records) > 12, VERIFIED, "a loop without a hold")
        yield made
    finally:
        adapter.close()
        for statement in ENABLE_COUNTERS:
            server.query(statement)


def test_a_read_lock_neither_moves_m_nor_holds(server: LabServer, loop: Turning) -> None:
    """While FLUSH TABLES WITH READ LOCK stops all writers the loop waits, learns nothing, and goes on."""
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        until(lambda: loop.heard("begin_read_lock"), NOTICED, "the lock seen")
        before, known = in_force(server), loop._state.estimator.load
        locked = loop.turns(HELD_FOR)
        cursor.execute("UNLOCK TABLES")

    assert {record.decision.reason for record in locked} == {"idle"}
    assert not any(record.holds for record in locked)
    assert in_force(server) == before
    assert loop._state.estimator.load == known
    until(lambda: loop.heard("end_read_lock"), NOTICED, "the end of the lock seen")
    after = loop.turns(15)
    assert not any(record.holds for record in after)
    assert after[-1].decision.reason != "idle"


def test_a_backups_lock_and_ddl_are_named_while_the_loop_goes_on(server: LabServer, loop: Turning) -> None:
    """Both are in the record with their beginning, and neither is a hold."""
    server.query(f"CREATE TABLE {SCHEMA}.altered (id INT PRIMARY KEY)")
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("LOCK INSTANCE FOR BACKUP")
        until(lambda: loop.heard("begin_backup_lock"), NOTICED, "the backup's lock seen")
        assert "backup_lock" in loop.records[-1].occurrences
    server.query(f"ALTER TABLE {SCHEMA}.altered ADD COLUMN n INT")
    altered = loop.turn()
    server.query(f"DROP TABLE {SCHEMA}.altered")
    dropped = loop.turn()

    assert "ddl" in altered.occurrences
    assert {"ddl", "drop"} <= set(dropped.occurrences)
    assert altered.holds == dropped.holds == ()
    assert dropped.estimate is not None


def test_the_loop_goes_on_without_counters(server: LabServer, loop: Turning) -> None:
    """With the counters turned off under it, it says so, estimates on, and needs no proof it had before."""
    for statement in ENABLE_COUNTERS:
        server.query(statement.replace("_enable", "_disable"))
    until(lambda: loop.heard("degraded"), NOTICED, "the counters' end seen")
    blind = loop.turns(20)
    for statement in ENABLE_COUNTERS:
        server.query(statement)
    until(lambda: loop.heard("counters_back"), NOTICED, "the counters seen again")
    back = loop.turns(15)

    readings = [record.tick.reading for record in blind]
    assert all(isinstance(one, Sample) and one.degraded for one in readings)
    assert not any(record.holds for record in (*blind, *back))
    assert all(record.estimate is not None for record in blind[2:])
    assert any(record.decision.set_point_source == "degraded" for record in blind)
    found, seen = blind[-1].estimate, back[-1].estimate
    assert found is not None
    assert seen is not None
    assert abs(found.age_ratio - seen.age_ratio) < 0.25
