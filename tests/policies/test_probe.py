"""Extremum seeking: where the wave leads it by itself, and what goes before the wave."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.scenarios import load_scenario
from lab.simulate import resized
from lab.simulate_loop import run_policy
from policies.probe import (
    LARGEST_STEP,
    LARGEST_SWING,
    LONGEST_HALF,
    MARGIN,
    RAISE_SECONDS,
    SHORTEST_HALF,
    Probe,
    half_seconds,
)
from policies.types import Proposal, Situation
from tests.factory import A, situation
from tuner.records import Sample, TickRecord
from tuner.settings import Mode, Settings

LAW = Probe()
START = 2000
BEST_STATIC = 2875.0
"""Commits/s at M = 454: ``innobrim simulate --scenario steady-1200iops --oracle``."""


def live(
    seconds: int, shown: Callable[[int, int], Situation], *, granted: bool = True
) -> Iterator[tuple[int, int, Proposal]]:
    """Yield second, M in force and what the law wants; its wishes come true where they are granted.

    Args:
        seconds: how long.
        shown: the situation at a second with an M in force.
        granted: what it asks for is written.
    """
    state, in_force = LAW.start(), START
    for second in range(seconds):
        state, wanted = LAW.propose(state, shown(second, in_force))
        yield second, in_force, wanted
        if wanted.act and granted:
            in_force = max(100, round(wanted.io_capacity_max))
            state = LAW.wrote(state, in_force)


def hill(best: float, *, rows: float = 1000.0, open_load: bool = False) -> Callable[[int, int], Situation]:
    """Return a load far below its set-point that does most at one M, in rows or in pages for a row."""

    def shown(second: int, in_force: int) -> Situation:
        away = math.log(in_force / best) ** 2
        done = rows if open_load else rows * math.exp(-0.3 * away)
        flushed = rows * 0.2 * math.exp(0.3 * away) if open_load else 200.0
        return situation(
            now=1000.0 + second, age=0.4 * A, io_capacity_max=in_force, row_rate=done, flush_rate=flushed
        )

    return shown


@pytest.mark.parametrize("best", [800.0, 5000.0])
@pytest.mark.parametrize("open_load", [False, True])
def test_it_climbs_from_both_sides(best: float, *, open_load: bool) -> None:
    """Whether the best M is below or above, it gets near it: by rows, or by pages a row where rows stay."""
    *_, (_, in_force, _) = live(3 * 3600, hill(best, open_load=open_load))

    assert abs(math.log(in_force / best)) < 3.0 * LARGEST_SWING


def test_it_starts_from_the_m_in_force() -> None:
    """The first half is that of the M it finds; the first write is one swing away from it."""
    writes = [(second, wanted) for second, _, wanted in live(300, hill(800.0)) if wanted.act]
    second, wanted = writes[0]

    assert second >= SHORTEST_HALF
    assert abs(math.log(wanted.io_capacity_max / START)) <= 2.0 * LARGEST_SWING + 1e-9


def test_every_step_is_bounded() -> None:
    """However steep the hill seems, no write moves M by more than a step and a swing."""
    for _, in_force, wanted in live(4 * 3600, hill(100.0, rows=1e6)):
        assert abs(math.log(wanted.io_capacity_max / in_force)) <= LARGEST_STEP + 1e-9


def test_where_nothing_answers_it_goes_down() -> None:
    """Of two M that give the same rows for the same pages the lower one is taken."""

    def flat(second: int, in_force: int) -> Situation:
        return situation(now=1000.0 + second, age=0.2 * A, io_capacity_max=in_force, row_rate=900.0)

    *_, (_, in_force, _) = live(3600, flat)

    assert in_force < START / 2


@given(
    ratio=st.floats(0.3, 1.3),
    set_point=st.floats(0.3, 1.0),
    seconds=st.integers(0, 3 * int(SHORTEST_HALF)),
    slope=st.floats(0.0, 1e8),
)
def test_above_the_margin_it_raises_whatever_the_wave_says(
    ratio: float, set_point: float, seconds: int, slope: float
) -> None:
    """An age above the set-point by more than the margin that does not fall raises M, whenever it is seen."""
    if ratio <= set_point + MARGIN + 1e-6:
        return
    state = LAW.start()
    for second in range(seconds):
        calm = situation(now=1000.0 + second, age=0.25 * A, set_point=set_point, row_rate=900.0)
        state, wanted = LAW.propose(state, calm)
    high = situation(now=1000.0 + seconds, age=ratio * A, set_point=set_point, age_slope=slope)
    state, wanted = LAW.propose(state, high)

    assert wanted.act
    assert wanted.io_capacity_max > 450


def test_it_raises_again_until_the_age_falls() -> None:
    """Raises follow each other at the pace in which one shows, and end once the age falls."""

    def shown(second: int, in_force: int) -> Situation:
        slope = -1e5 if second >= 100 else 1e5
        return situation(
            now=1000.0 + second, age=0.9 * A, age_slope=slope, io_capacity_max=in_force, row_rate=900.0
        )

    writes = [second for second, _, wanted in live(200, shown) if wanted.act]

    assert writes[:3] == [0, int(RAISE_SECONDS), 2 * int(RAISE_SECONDS)]
    assert max(writes) < 100


def test_between_set_point_and_margin_it_does_not_lower() -> None:
    """Above the set-point no step goes down, however much better the throughput of a lower M was."""

    def shown(second: int, in_force: int) -> Situation:
        rows = 1000.0 * (START / in_force) ** 2
        return situation(
            now=1000.0 + second, age=0.82 * A, io_capacity_max=in_force, row_rate=rows, flush_rate=200.0
        )

    *_, (_, in_force, _) = live(4 * 3600, shown)

    assert in_force > 0.9 * START


def test_what_is_refused_does_not_stop_the_wave() -> None:
    """A write that a guard refuses for half a wave is given up, and the wave goes on with the M in force."""
    turns = [wanted.act for _, _, wanted in live(1800, hill(800.0), granted=False)]

    assert sum(turns) > 0
    assert any(later and not earlier for earlier, later in itertools.pairwise(turns[400:]))


def test_somebody_elses_m_begins_it_anew() -> None:
    """An M that it did not write is measured for a whole half before it is moved."""
    state = LAW.start()
    half = math.ceil(half_seconds(situation(age=0.4 * A)))
    for second in range(half + 1):
        state, wanted = LAW.propose(state, hill(800.0)(second, START))
    assert wanted.act
    for second in range(half + 1, 2 * half):
        state, wanted = LAW.propose(state, hill(800.0)(second, 9000))
        assert not wanted.act


def test_a_disturbed_load_is_not_measured() -> None:
    """While the server is busy with something else no half counts, and M stays."""

    def busy(second: int, in_force: int) -> Situation:
        return situation(
            now=1000.0 + second, age=0.4 * A, io_capacity_max=in_force, row_rate=900.0, learns=False
        )

    assert not any(wanted.act for _, _, wanted in live(1200, busy))


@given(age=st.floats(0.0, 1e12), redo_rate=st.floats(0.0, 1e10))
def test_half_a_wave_is_never_short_nor_endless(age: float, redo_rate: float) -> None:
    """A half lasts some residence times, inside its bounds, whatever age and redo rate are."""
    assert SHORTEST_HALF <= half_seconds(situation(age=age, redo_rate=redo_rate)) <= LONGEST_HALF


def test_it_climbs_near_the_best_static_setting() -> None:
    """From 10000/20000 it comes within 7 % of the best static M in an hour, without sync flush or stall.

    Measured here, in the half hour after it: 2815, 2800 and 2808 commits/s with seeds 1 to 3, 97 or 98 % of
    best static.
    """
    asked = resized(load_scenario("steady-1200iops"), seed=None, seconds=5400)
    readings: list[Sample] = []

    def seen(record: TickRecord) -> None:
        if isinstance(record.tick.reading, Sample):
            readings.append(record.tick.reading)

    run = run_policy(asked, Settings(mode=Mode.ACTIVE, policy="probe"), publish=seen)
    commits = readings[-1].commits - readings[3600].commits

    assert commits / (readings[-1].monotonic - readings[3600].monotonic) > 0.93 * BEST_STATIC
    assert (run.outcome.sync_flush_seconds, run.outcome.stall_seconds) == (0, 0.0)
    assert max(one.age_ratio for one in readings) < 1.0
    assert run.knob_changes <= 1.5 * Settings().max_changes_per_hour
