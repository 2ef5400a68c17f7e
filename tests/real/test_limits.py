"""The limits that every age is measured against, beside the server's own."""

from __future__ import annotations

import contextlib

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE
from tests.real.families import SPEC, named
from tests.real.support import Work, until
from tuner.records import Sample
from tuner.servers.adapter import MARGIN
from tuner.servers.families.redo_capacity import redo_limits
from tuner.servers.server import RealServer
from tuner.system.clock import SystemClock

pytestmark = pytest.mark.real


@pytest.mark.parametrize("mebibytes", [8, 512, 100])
def test_computed_limits_are_the_servers_own(server: LabServer, work: Work, mebibytes: int) -> None:
    """Whatever the redo capacity, the limits that the daemon computes are those that the server exports."""
    work.at(None)
    capacity = mebibytes * MEBIBYTE
    server.query(f"SET GLOBAL innodb_redo_log_capacity = {capacity}")
    until(lambda: _resized(server) == capacity, 60.0, f"a redo log of {mebibytes} MiB")
    exported = {
        str(name): int(count)
        for name, count in server.query(
            "SELECT name, count FROM information_schema.innodb_metrics WHERE name IN"
            " ('log_max_modified_age_async', 'log_max_modified_age_sync', 'log_concurrency_margin')"
        )
    }
    ours = redo_limits(capacity)
    assert exported == {
        "log_max_modified_age_async": ours.raw_async,
        "log_max_modified_age_sync": ours.raw_sync,
        "log_concurrency_margin": ours.concurrency_margin,
    }


@pytest.mark.parametrize("name", ["mysql-8.0.15", pytest.param("mysql-8.0.31", marks=pytest.mark.prove)])
def test_a_reset_of_the_counters_moves_no_limit(name: str) -> None:
    """A margin that the server sets again after innodb_monitor_reset is no larger one, and blocks nothing."""
    with (
        named(name, SPEC) as server,
        contextlib.closing(RealServer(server.admin_endpoint(), SystemClock())) as real,
    ):
        _set_threads(server)
        assert real.facts().blockers == ()
        before = real.read()
        server.query("SET GLOBAL innodb_monitor_reset = 'all'")
        _set_threads(server)
        until(lambda: _added_up(server), 60.0, "a margin that is set again")
        facts, after = real.facts(), real.read()

    assert facts.blockers == facts.own_limits == ()
    assert isinstance(before, Sample)
    assert isinstance(after, Sample)
    assert (after.flush_limit, after.stall_point) == (before.flush_limit, before.stall_point)


def _set_threads(server: LabServer) -> None:
    """Have the server work its margin out, twice."""
    for threads in (0, 20):
        server.query(f"SET GLOBAL innodb_thread_concurrency = {threads}")


def _added_up(server: LabServer) -> bool:
    """Tell whether the margin's count is what it was set to before a reset and since."""
    ((count, since),) = server.query(
        f"SELECT count, count_reset FROM information_schema.innodb_metrics WHERE name = '{MARGIN}'"
    )
    return 0 < int(since) < int(count)


def _resized(server: LabServer) -> int:
    """Return the redo capacity in force, 0 while it is being changed."""
    status = dict(server.query("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_%'"))
    if status["Innodb_redo_log_resize_status"] != "OK":
        return 0
    return int(status["Innodb_redo_log_capacity_resized"])
