"""The loop on the other families' servers: it verifies their law, finds its set-point and stays there."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

import pytest

from lab.bench.figures import Reading
from lab.bench.rig import Sampler
from lab.servers.base import LabServer
from policies.flushlaw import FlushLaw
from policies.registry import LAWS
from tests.faults.verdict import Verdict, judge
from tests.faults.witness import Witness
from tests.real.families import EACH, SHIPPED, Family
from tests.real.installation import Innobrim
from tests.real.recording import SHARE, error_of, is_held, window
from tests.real.support import Work, in_force, under_load, until
from tuner.core.writes.plan import MOST_RATIO
from tuner.journal.reader import runs
from tuner.records import Capacity, Sample, TickRecord
from tuner.settings import Settings

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(1500),
    pytest.mark.parametrize("family", EACH, indirect=True, scope="session"),
]

SET_POINT = 0.65
WINDOW = 60.0
"""Seconds that the age is held."""

OFTEN = 0.1
"""Seconds between two readings that a percentage is told from the one before by."""

LEAST_CHANGES = 20

SHOWN_BEHIND = {"mysql-5.6.24": 5}
"""Readings by which a release shows a percentage late: 5.6 sets its counter when the batch is done."""

LIMIT = 720.0
"""Seconds from the start until such a minute has been seen."""

WRITES = 20
"""Writes at most from the start to the end of the window."""


@dataclass(frozen=True, slots=True)
class Short:
    """What a short run of the loop left.

    Attributes:
        law: the flush law that the daemon found.
        held_after: seconds from its start until it had held its set-point for a minute.
        window: the daemon's ticks in that minute.
        readings: the whole run as seen over another connection.
        parked: the pair that its end left behind.
        restored: the pair after ``innobrim restore``.
        verdict: the whole run, judged.
    """

    law: str
    held_after: float
    window: list[TickRecord]
    readings: list[Reading]
    parked: Capacity
    restored: Capacity
    verdict: Verdict


@pytest.fixture(scope="module")
def short(member: LabServer, member_work: Work, tmp_path_factory: pytest.TempPathFactory) -> Short:
    """Return one run of the loop from what the server ships with until it has held its set-point."""
    under_load(member, member_work, SHIPPED)
    member.query("SET GLOBAL innodb_monitor_reset = 'all'")  # as somebody may: it is to hold nothing
    Witness(member).watch()
    with Sampler(member, OFTEN) as sampler, Innobrim(member, tmp_path_factory.mktemp("short")) as daemon:
        began = time.monotonic()
        daemon.start("--active", "--set-point", str(SET_POINT))
        until(lambda: held(daemon), LIMIT, lambda: f"a minute at the set-point:\n{daemon.log()}")
        ended, minute = time.monotonic(), window(daemon, WINDOW)
        assert daemon.terminate().code == 0, daemon.log()
        readings = sampler.readings(began, ended)
        verdict = judge(member, daemon)
        assert Witness(member).writes(), "the server's books are empty"
        back = daemon.command("restore")
        assert back.returncode == 0, back.stdout + back.stderr
        member_work.at(None)
        law = runs(daemon.state)[-1].facts.flush_law
        return Short(law, ended - began, minute, readings, verdict.left, in_force(member), verdict)


def held(daemon: Innobrim) -> bool:
    """Return whether the daemon has held its set-point for the last minute."""
    daemon.running()
    ticks = window(daemon, WINDOW)
    return len(ticks) >= SHARE * WINDOW and is_held(ticks)


def test_the_law_is_verified_and_the_set_point_held(family: Family, short: Short, figures: list[str]) -> None:
    """From what the server ships with, its counters reset, the law is verified and the age held a minute."""
    errors = [abs(one) for one in map(error_of, short.window) if one is not None]
    writes = short.verdict.writes()
    at = [one.tick.reading.capacity for one in short.window if isinstance(one.tick.reading, Sample)]
    figures.append(
        f"{family.version} {family.law}: held for a minute after {short.held_after:.0f} s, furthest"
        f" {max(errors):.3f}, {len(writes)} writes, at {at[0]} to {at[-1]}, parked at {short.parked}"
    )
    assert short.law == family.law
    assert "clear_model_mismatch" in short.verdict.events()
    assert is_held(short.window)


def test_the_server_flushes_by_the_law(family: Family, short: Short, figures: list[str]) -> None:
    """Of the percentages that the server comes to anew, 95 % are the law's within 1."""
    law = LAWS[short.law]
    behind = SHOWN_BEHIND.get(family.name, 0)
    samples = [one.sample for one in short.readings]
    apart = [
        min(off_by(law, *two, samples[at + 1].flush_percentage) for two in pairs_before(samples, at, behind))
        for at in range(behind, len(samples) - 1)
        if worked_out_between(samples[at], samples[at + 1])
    ]
    within = sum(one <= 1 for one in apart)
    figures.append(
        f"{short.law}: within 1 of the server's percentage {within} of {len(apart)} times, most {max(apart)}"
    )
    assert len(apart) >= LEAST_CHANGES
    assert within >= SHARE * len(apart)


def worked_out_between(first: Sample, last: Sample) -> bool:
    """Return whether the server showed another percentage between two readings, with the same C and M."""
    return (
        first.flush_percentage != last.flush_percentage
        and first.capacity == last.capacity
        and first.pages_sync == last.pages_sync
    )


def pairs_before(samples: list[Sample], at: int, behind: int) -> list[tuple[Sample, Sample]]:
    """Return the readings between which the percentage can have been worked out that the next one shows."""
    return list(itertools.pairwise(samples[at - behind : at + 2]))


def off_by(law: FlushLaw, first: Sample, last: Sample, said: int) -> int:
    """Return by how much a percentage lies outside those of the ages between two readings.

    Between them the age can have grown by no more than the redo written meanwhile.
    """
    lowest = min(first.modified_age, last.modified_age)
    highest = first.modified_age + last.lsn_current - first.lsn_current
    low, high = (
        law.percentage(
            age=age,
            flush_limit=last.flush_limit,
            io_capacity=last.io_capacity,
            io_capacity_max=last.io_capacity_max,
        )
        for age in (lowest, highest)
    )
    return max(0, low - said, said - high)


def test_nothing_is_flushed_in_a_hurry(short: Short) -> None:
    """Beside the held age another connection sees no page flushed synchronously, and no writer that waits."""
    minute = [one.sample for one in short.readings if one.monotonic >= short.readings[-1].monotonic - WINDOW]
    assert minute[-1].pages_sync == minute[0].pages_sync
    assert minute[-1].redo_space_waits == minute[0].redo_space_waits


def test_a_park_and_a_restore_leave_what_they_promise(short: Short) -> None:
    """Its end leaves room above the pair in force, and a restore the pair that the server came with."""
    last = short.window[-1].tick.reading
    assert isinstance(last, Sample)
    assert short.verdict.records[-1].decision.reason == "park"
    assert short.parked.io_capacity_max > last.io_capacity_max
    assert short.restored == SHIPPED


def test_few_writes_whole_and_within_limits(short: Short) -> None:
    """Every pair written is whole and inside the limits, they are few, and the last one stays in force."""
    settings = Settings()
    writes = short.verdict.writes()
    targets = [one.decision.target for one in writes]
    assert 0 < len(writes) <= WRITES
    for one in targets:
        assert one is not None
        assert one.io_capacity_max % one.io_capacity == 0
        assert one.io_capacity_max <= MOST_RATIO * one.io_capacity
        assert settings.min_io_capacity_max <= one.io_capacity_max <= settings.max_io_capacity_max
    assert short.parked == targets[-1]
