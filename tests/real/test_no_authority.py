"""The loop on a MariaDB as it ships, where no M moves the age: it says so, and M is never short."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.servers.base import LabServer
from lab.servers.reader import age_ratio
from lab.servers.spec import MEBIBYTE
from policies.pace import FULL
from tests.faults.verdict import judge
from tests.faults.witness import Witness
from tests.real.families import FAMILIES, FAMILY_LOAD, SPEC, filled
from tests.real.installation import Innobrim
from tests.real.support import Work, under_load, until
from tuner.records import Capacity, Sample

pytestmark = pytest.mark.real

REMEDY = "innodb_max_dirty_pages_pct_lwm = 0.001"
TIGHT = Capacity(100, 200)
"""Less than the demand at the flush limit of a redo log as small as this test's."""

RAISED_WITHIN = 90.0
PACED = 25.0
"""Seconds for which M is judged."""

ANSWERED = 20.0
"""Seconds after a raise until the demand's mean, of ten seconds, is that of a load that has answered it."""


@pytest.fixture
def unsteered() -> Iterator[tuple[LabServer, Work]]:
    """Yield a MariaDB 11.8 on which no M moves the age, as it ships, with very small redo, and its load."""
    with filled(FAMILIES["mariadb-11.8"], replace(SPEC, redo_capacity=16 * MEBIBYTE)) as server:
        server.query("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0")
        work = Work(server, FAMILY_LOAD)
        yield server, work
        work.at(None)


def test_without_authority_it_says_so_and_raises_an_m_that_is_short(
    unsteered: tuple[LabServer, Work], tmp_path: Path, figures: list[str]
) -> None:
    """As MariaDB ships, the loop says that no M moves the age, and what would let it; a short M is raised."""
    server, work = unsteered
    under_load(server, work, TIGHT)
    until(lambda: age_ratio(server) > 1.02, 60.0, "an age beyond the flush limit: M below the demand")
    Witness(server).watch()
    with Innobrim(server, tmp_path) as daemon:
        daemon.start("--active")
        until(lambda: ample(daemon), RAISED_WITHIN, lambda: f"an M above the demand:\n{daemon.log()}")
        first = time.time()
        said = [daemon.command("advise", "--seconds", "15").stdout, daemon.command("status").stdout]
        until(lambda: time.time() - first >= PACED, PACED + 10.0, "the end of the window")
        last = time.time()
        assert daemon.terminate().code == 0, daemon.log()
    verdict = judge(server, daemon)
    window = [one for one in verdict.records if first < one.tick.wall <= last]
    readings = [one.tick.reading for one in window if isinstance(one.tick.reading, Sample)]
    flushed = (pages_of(readings[-1]) - pages_of(readings[0])) / (readings[-1].wall - readings[0].wall)
    lowest = min(one.io_capacity_max for one in readings)
    ages = [one.age_ratio for one in readings]
    figures.append(
        f"without authority: from M = {TIGHT.io_capacity_max} to {lowest} or more at {flushed:.0f} pages/s,"
        f" age ratio {min(ages):.2f} to {max(ages):.2f}, writes "
        + ", ".join(
            f"{one.decision.target.io_capacity_max} by {one.decision.source}"
            for one in verdict.writes()
            if one.decision.target
        )
    )
    assert lowest > TIGHT.io_capacity_max
    assert all(REMEDY in one for one in said), said
    assert "no_authority" in {one.decision.reason for one in window}
    assert all(REMEDY in one.decision.detail for one in window if one.decision.reason == "no_authority")
    assert verdict.records[-1].decision.reason == "park"


def ample(daemon: Innobrim) -> bool:
    """Return whether M was raised, the load has answered, and M is no longer flushed in full in vain."""
    daemon.running()
    raises = daemon.records("set", "emergency")
    if not raises:
        return False
    newest = daemon.records()[-1]
    answered = newest.tick.now - raises[-1].tick.now >= ANSWERED
    found, reading = newest.estimate, newest.tick.reading
    if not answered or found is None or not isinstance(reading, Sample):
        return False
    return found.flush_rate < FULL * reading.io_capacity_max or found.age_slope <= 0.0


def pages_of(one: Sample) -> int:
    """Return the pages flushed from the flush lists so far."""
    return one.pages_adaptive + one.pages_sync + one.pages_background
