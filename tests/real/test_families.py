"""The loop on the other families' servers: it verifies their law, finds its set-point and stays there."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lab.bench.sampler import Reading, Sampler
from lab.servers.base import MEBIBYTE, LabServer
from lab.servers.warm import age_ratio
from tests.faults.verdict import Verdict, judge
from tests.faults.witness import Witness
from tests.real.families import FAMILIES, FAMILY_LOAD, SHIPPED, SPEC, Family, filled
from tests.real.installation import Innobrim
from tests.real.recording import error_of, reached
from tests.real.support import Work, under_load, until
from tuner.core.plan import MOST_RATIO
from tuner.journal.reader import runs
from tuner.records import Capacity, Sample, TickRecord
from tuner.settings import Settings

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

SET_POINT = 0.65
BAND = 0.12
"""How far the age ratio may be off: what the law leaves to the server's own settling, which takes minutes.

A redo log this small sees a second's redo as 0.03 of it.
"""

REACHED_TICKS = 30
REACH_LIMIT = 180.0
WINDOW = 30.0
SHARE = 0.8
"""Share of the window in which the age ratio must be within the band."""

WRITES = 20
"""Writes at most from the start to the end of the window."""


@dataclass(frozen=True, slots=True)
class Short:
    """What a short run of the loop left.

    Attributes:
        law: the flush law that the daemon found.
        reached_after: seconds from its start until it was at its set-point.
        window: the daemon's ticks from then on.
        readings: the same time as seen over another connection.
        verdict: the whole run, judged.
    """

    law: str
    reached_after: float
    window: list[TickRecord]
    readings: list[Reading]
    verdict: Verdict


@pytest.fixture(scope="module")
def short(member: LabServer, member_work: Work, tmp_path_factory: pytest.TempPathFactory) -> Short:
    """Return one run of the loop from what the server ships with until it has held its set-point."""
    under_load(member, member_work, SHIPPED)
    Witness(member).watch()
    with Sampler(member) as sampler, Innobrim(member, tmp_path_factory.mktemp("short")) as daemon:
        began = time.monotonic()
        daemon.start("--active", "--set-point", str(SET_POINT))
        until(
            lambda: reached(daemon, ticks=REACHED_TICKS, band=BAND),
            REACH_LIMIT,
            lambda: f"the set-point:\n{daemon.log()}",
        )
        opened, first = time.monotonic(), time.time()
        until(lambda: time.monotonic() - opened >= WINDOW, WINDOW + 10.0, "the end of the window")
        closed, last = time.monotonic(), time.time()
        assert daemon.terminate().code == 0, daemon.log()
        verdict = judge(member, daemon)
        assert Witness(member).writes(), "the server's books are empty"
        member_work.at(None)
        return Short(
            runs(daemon.state)[-1].facts.flush_law,
            opened - began,
            [one for one in verdict.records if first < one.tick.wall <= last],
            sampler.readings(opened, closed),
            verdict,
        )


def test_the_law_is_verified_and_the_set_point_held(family: Family, short: Short, figures: list[str]) -> None:
    """From what the server ships with, the loop verifies its law, and holds the age at its set-point."""
    errors = [error_of(one) for one in short.window]
    inside = sum(1 for one in errors if one is not None and abs(one) <= BAND)
    writes = short.verdict.writes()
    at = [one.tick.reading.capacity for one in short.window if isinstance(one.tick.reading, Sample)]
    known = [abs(one) for one in errors if one is not None]
    figures.append(
        f"{family.version} {family.law}: reached after {short.reached_after:.0f} s, {inside} of {len(errors)}"
        f" seconds within {BAND}, furthest {max(known):.3f}, {len(writes)} writes,"
        f" at {at[0]} to {at[-1]}"
    )
    assert short.law == family.law
    assert "clear_model_mismatch" in short.verdict.events()
    assert len(errors) >= 0.9 * WINDOW
    assert inside >= SHARE * len(errors)


def test_another_connection_sees_the_same(short: Short) -> None:
    """The ages that another connection reads are at the set-point as well; no page is flushed in a hurry."""
    set_point = statistics.fmean(one.decision.set_point or 0.0 for one in short.window)
    inside = sum(1 for one in short.readings if abs(one.age_ratio - set_point) <= BAND)
    assert len(short.readings) >= 0.9 * WINDOW
    assert inside >= SHARE * len(short.readings)
    assert short.readings[-1].sync == short.readings[0].sync
    assert short.readings[-1].space_waits == short.readings[0].space_waits


def test_few_writes_whole_and_within_limits(short: Short) -> None:
    """Every pair written is whole and inside the limits, they are few, and the last one is parked."""
    settings = Settings()
    writes = short.verdict.writes()
    targets = [one.decision.target for one in writes]
    assert 0 < len(writes) <= WRITES
    for one in targets:
        assert one is not None
        assert one.io_capacity_max % one.io_capacity == 0
        assert one.io_capacity_max <= MOST_RATIO * one.io_capacity
        assert settings.min_io_capacity_max <= one.io_capacity_max <= settings.max_io_capacity_max
    assert short.verdict.records[-1].decision.reason == "park"
    assert short.verdict.left == targets[-1]


REMEDY = "innodb_max_dirty_pages_pct_lwm = 0.001"
TIGHT = Capacity(100, 200)
"""Less than the demand at the flush limit of a redo log as small as this test's."""

LEAST = 1.2
"""M over the demand, at least."""

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


def test_without_authority_it_says_so_and_keeps_m_above_the_demand(
    unsteered: tuple[LabServer, Work], tmp_path: Path, figures: list[str]
) -> None:
    """As MariaDB ships, the loop says that no M moves the age, and what would let it; M is never short."""
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
    assert lowest >= LEAST * flushed
    assert all(REMEDY in one for one in said), said
    assert "no_authority" in {one.decision.reason for one in window}
    assert all(REMEDY in one.decision.detail for one in window if one.decision.reason == "no_authority")
    assert verdict.records[-1].decision.reason == "park"


def ample(daemon: Innobrim) -> bool:
    """Return whether M was raised, the load has answered, and M is far enough above the demand then."""
    daemon.running()
    raises = daemon.records("set", "emergency")
    if not raises:
        return False
    newest = daemon.records()[-1]
    answered = newest.tick.now - raises[-1].tick.now >= ANSWERED
    return answered and newest.decision.terms.get("over_demand", 0.0) >= LEAST


def pages_of(one: Sample) -> int:
    """Return the pages flushed from the flush lists so far."""
    return one.pages_adaptive + one.pages_sync + one.pages_background
