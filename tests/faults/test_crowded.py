"""There is no room for one more connection on the server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pymysql
import pytest
from pymysql.constants import ER

from lab.servers.base import LabServer
from lab.servers.spec import Account
from tests.faults.catalogue import Group, fault
from tests.faults.harness import Rig
from tests.real.support import new_account
from tuner.records import DecisionKind, Sample, TickRecord
from tuner.settings import Settings

pytestmark = pytest.mark.real

LOWEST = 200
NEAR = Settings().emergency_seconds
IN_TIME = 2.0
"""Seconds from the reading that shows the need to the raise that the server has accepted."""


@fault(
    Group.ACCOUNT,
    what="`max_connections` exhausted while the redo log is nearly full",
    left="a raised `innodb_io_capacity_max` within 2 s, over the open connection",
    back="not interrupted",
    invariants=(1, 9),
)
def test_max_connections_exhausted_in_an_emergency(rig: Rig) -> None:
    """With no connection to be had, an emergency raise still lands within two seconds of the need."""
    crowd = new_account(rig.server, "innobrim_crowd")
    daemon = rig.daemon()
    daemon.active()
    with _crowded(rig.server, crowd):
        daemon.configure(fixed_io_capacity_max=LOWEST)
        daemon.hang_up()
        daemon.await_event("emergency", 90.0)
        with pytest.raises(pymysql.MySQLError, match=r"Too many connections|1040"):
            rig.server.connect(crowd)
    verdict = rig.finish()
    at = next(
        number for number, one in enumerate(verdict.records) if one.decision.kind is DecisionKind.EMERGENCY
    )
    need = next(one for one in verdict.records[: at + 1] if _in_need(one))
    assert isinstance(need.tick.reading, Sample)
    receipt = verdict.records[at + 1].tick.receipt
    assert receipt is not None
    assert not receipt.error
    assert receipt.monotonic - need.tick.reading.monotonic <= IN_TIME


def _in_need(record: TickRecord) -> bool:
    """Tell whether a reading shows an age beyond the set-point that reaches a limit in no time."""
    found, set_point = record.estimate, record.decision.set_point
    if found is None or set_point is None or found.age_ratio <= set_point or found.age_slope <= 0:
        return False
    near = (found.seconds_to_sync, found.seconds_to_stall)
    return any(seconds is not None and seconds < NEAR for seconds in near)


@contextlib.contextmanager
def _crowded(server: LabServer, crowd: Account) -> Iterator[None]:
    """Have not one connection left for an ordinary account while inside."""
    before = int(server.query("SELECT @@GLOBAL.max_connections")[0][0])
    connected = int(server.query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")[0][1])
    server.query(f"SET GLOBAL max_connections = {connected + 10}")
    with contextlib.ExitStack() as stack:
        stack.callback(server.query, f"SET GLOBAL max_connections = {before}")
        for _ in range(100):
            try:
                stack.enter_context(contextlib.closing(server.connect(crowd)))
            except pymysql.MySQLError as error:
                if error.args[0] != ER.CON_COUNT_ERROR:
                    raise
                break
        yield
