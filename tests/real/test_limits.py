"""The limits that every age is measured against, beside the server's own."""

from __future__ import annotations

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE
from tests.real.support import Work, until
from tuner.servers.families.redo_capacity import redo_limits

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


def _resized(server: LabServer) -> int:
    """Return the redo capacity in force, 0 while it is being changed."""
    status = dict(server.query("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_%'"))
    if status["Innodb_redo_log_resize_status"] != "OK":
        return 0
    return int(status["Innodb_redo_log_capacity_resized"])
