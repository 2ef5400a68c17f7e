"""The loop on the other families' servers: it verifies their law, finds its set-point and stays there."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import pytest

from lab.bench.figures import Reading
from lab.bench.rig import Sampler
from lab.servers.base import LabServer
from tests.faults.verdict import Verdict, judge
from tests.faults.witness import Witness
from tests.real.families import OF_EACH_LAW, RELEASES, SHIPPED, Family
from tests.real.installation import Innobrim
from tests.real.recording import error_of, reached
from tests.real.support import Work, under_load, until
from tuner.core.writes.plan import MOST_RATIO
from tuner.journal.reader import runs
from tuner.records import Sample, TickRecord
from tuner.settings import Settings

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(1500),
    pytest.mark.parametrize(
        "family",
        [pytest.param(name, marks=() if name in OF_EACH_LAW else pytest.mark.prove) for name in RELEASES],
        indirect=True,
        scope="session",
    ),
]

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
    inside = sum(1 for one in short.readings if abs(one.sample.age_ratio - set_point) <= BAND)
    assert len(short.readings) >= 0.9 * WINDOW
    assert inside >= SHARE * len(short.readings)
    assert short.readings[-1].sample.pages_sync == short.readings[0].sample.pages_sync
    assert short.readings[-1].sample.redo_space_waits == short.readings[0].sample.redo_space_waits


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
