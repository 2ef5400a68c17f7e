"""The default law: what it wants in single situations, and where it leads a small plant by itself."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.calm import TRIM_SETTLINGS
from policies.cascade import Cascade
from policies.flushlaw import LEGACY
from policies.pid import Pid
from policies.travel import BAND
from policies.types import Policy, Proposal, Situation
from tests.factory import A, situation

LAW = Cascade(LEGACY)


def held(**changes: Any) -> Proposal:  # noqa: ANN401 - any field
    """Return what the law wants after five minutes at one place."""
    state = LAW.start()
    for second in range(300):
        state, wanted = LAW.propose(state, situation(now=1000.0 + second, **changes))
    return wanted


def test_it_lands_once_where_the_age_rests() -> None:
    """Coming near the set-point it writes the M that keeps it there, and then leaves it alone."""
    state, far = LAW.propose(LAW.start(), situation(age=0.5 * A, age_ahead=0.5 * A, io_capacity_max=250))
    near = {"age": 0.76 * A, "age_ahead": 0.95 * A, "io_capacity_max": 250}
    state, landing = LAW.propose(state, situation(now=1100.0, **near))
    landed = round(landing.io_capacity_max)
    state = LAW.wrote(state, landed)
    _, after = LAW.propose(state, situation(now=1101.0, **near | {"io_capacity_max": landed}))

    assert far.act
    assert landing.act
    assert landed == pytest.approx(LEGACY.gain_over_demand(0.8) * 400.0, rel=0.05)
    assert not after.act


def test_a_start_at_the_set_point_writes_nothing() -> None:
    """A daemon that starts where the age is right has nothing to land: its first readings are no reason."""
    seen = situation(age=0.8 * A, age_ahead=0.8 * A, new_density=0.0006)

    assert not LAW.propose(LAW.start(), seen)[1].act


def test_holding_inside_the_band_writes_nothing() -> None:
    """At the set-point it is content."""
    inside = 0.8 + 0.9 * BAND

    assert not held(age=inside * A, age_ahead=inside * A).act


@pytest.mark.parametrize(("off", "sign"), [(0.025, 1.0), (-0.025, -1.0)])
def test_a_small_error_that_stays_for_long_is_taken_out_in_one_write(off: float, sign: float) -> None:
    """Inside the band M is left alone for minutes; the mean of many minutes is worth one write against it."""
    state, wrote = LAW.start(), []
    ratio, m = 0.8 + off, 450
    for second in range(1800):
        seen = situation(now=1000.0 + second, age=ratio * A, age_ahead=ratio * A, io_capacity_max=m)
        state, wanted = LAW.propose(state, seen)
        if wanted.act:
            m, ratio = round(wanted.io_capacity_max), 0.8
            state = LAW.wrote(state, m)
            wrote.append((second, m))

    assert [sign * (one - 450) > 0 for _, one in wrote] == [True]
    assert wrote[0][0] >= (1.0 + TRIM_SETTLINGS) * 0.9 * wanted.terms["settling"]


@pytest.mark.parametrize(("ratio", "sign"), [(0.86, 1.0), (0.74, -1.0)])
def test_holding_shifts_the_equilibrium_against_the_error(ratio: float, sign: float) -> None:
    """A lasting error moves M: up where the age is too high, down where it is too low."""
    wanted = held(age=ratio * A, age_ahead=ratio * A)

    assert wanted.act
    assert sign * math.log(wanted.io_capacity_max / 450) > 0.0


def test_holding_gives_a_write_its_time() -> None:
    """After a write the same error leads to no second one before the plant can have answered."""
    off = {"age": 0.86 * A, "age_ahead": 0.86 * A}
    state, wrote = LAW.start(), []
    for second in range(600):
        state, wanted = LAW.propose(state, situation(now=1000.0 + second, **off))
        if wanted.act:
            state = LAW.wrote(state, round(wanted.io_capacity_max))
            wrote.append(second)
    settling = wanted.terms["settling"]

    assert len(wrote) > 1
    assert wrote[0] >= settling
    assert all(later - earlier >= settling for earlier, later in itertools.pairwise(wrote))


@pytest.mark.parametrize(("ratio", "restless_too"), [(0.835, False), (0.845, True)])
def test_a_restless_load_is_left_alone(ratio: float, *, restless_too: bool) -> None:
    """What is corrected under a calm load is left under one that wanders as far, but no mean beyond 0.04."""
    calm = restless = LAW.start()
    off = {"age": ratio * A, "age_ahead": ratio * A}
    acted = [False, False]
    for second in range(900):
        swing = 1e6 * (1.0 + 0.1 * math.sin(second / 30.0))
        calm, wanted_calm = LAW.propose(calm, situation(now=1000.0 + second, **off))
        seen = situation(now=1000.0 + second, redo_rate=swing, **off)
        restless, wanted_restless = LAW.propose(restless, seen)
        acted = [acted[0] or wanted_calm.act, wanted_restless.act]

    assert acted == [True, restless_too]


def test_another_load_is_landed_for_again() -> None:
    """R that has left its mean for good moves M to the new balance in one write, before the age is off."""
    state, wrote = LAW.start(), []
    m = 450
    for second in range(900):
        busier = 1.5 if second >= 600 else 1.0
        seen = situation(now=1000.0 + second, redo_rate=busier * 1e6, flush_rate=400.0, io_capacity_max=m)
        state, wanted = LAW.propose(state, seen)
        if wanted.act:
            m = round(wanted.io_capacity_max)
            state = LAW.wrote(state, m)
            wrote.append((second, m))

    assert len(wrote) == 1
    assert 600 < wrote[0][0] < 700
    assert wrote[0][1] == pytest.approx(1.5 * 400.0 * LEGACY.gain_over_demand(0.8), rel=0.1)


def test_a_landing_cut_short_goes_on() -> None:
    """A landing that a guard let through only in part is written on, until M is what it was to be."""
    state, _ = LAW.propose(LAW.start(), situation(age=0.5 * A, age_ahead=0.5 * A, io_capacity_max=2000))
    m, wrote = 2000, []
    for second in range(60):
        seen = situation(now=1100.0 + second, age=0.76 * A, age_ahead=0.7 * A, io_capacity_max=m)
        state, wanted = LAW.propose(state, seen)
        if wanted.act and second % 10 == 0:
            m = max(round(m / 1.5), round(wanted.io_capacity_max))
            state = LAW.wrote(state, m)
            wrote.append(m)

    assert len(wrote) > 2
    assert m == pytest.approx(LEGACY.gain_over_demand(0.8) * 400.0, rel=0.05)


def test_a_server_that_falls_asleep_ends_nothing() -> None:
    """However long nothing is written while a landing is due, the law answers."""
    state, _ = LAW.propose(LAW.start(), situation(age=0.5 * A, age_ahead=0.5 * A))
    for hour in range(2_000):
        idle = situation(
            now=2000.0 + 3_600.0 * hour,
            age=0.8 * A,
            age_ahead=0.8 * A,
            redo_rate=0.0,
            flush_rate=0.0,
            new_density=0.0,
        )
        state, wanted = LAW.propose(state, idle)
        assert math.isfinite(wanted.io_capacity_max)


def test_a_passing_rush_is_waited_out() -> None:
    """Redo that runs high for a moment ends the hold only where it would reach the sync point by itself."""
    state = LAW.start()
    for second in range(200):
        state, _ = LAW.propose(state, situation(now=1000.0 + second))
    rush = {"now": 1200.0, "redo_rate": 1.3e6}
    _, passing = LAW.propose(state, situation(age_ahead=1.10 * A, **rush))
    _, flood = LAW.propose(state, situation(age_ahead=1.30 * A, **rush))

    assert not passing.act
    assert flood.act
    assert "flush_rate_wanted" in flood.terms


def test_above_full_rate_only_write_combining_is_reckoned_with() -> None:
    """Where the cap decides, the same error asks for a smaller move than where the law decides."""
    by_law = held(set_point=0.7, age=0.76 * A, age_ahead=0.76 * A)
    by_cap = held(set_point=0.9, age=0.96 * A, age_ahead=0.96 * A)

    assert by_law.terms["move"] > by_cap.terms["move"] > 0.0


BYTES = st.floats(0.0, 1e13)
RATES = st.floats(0.0, 1e11)
SITUATIONS = st.builds(
    situation,
    now=st.floats(0.0, 1e9),
    age=BYTES,
    flush_limit=st.floats(1e6, 1e12),
    set_point=st.floats(0.21, 1.0),
    redo_rate=RATES,
    age_slope=st.floats(-1e11, 1e11),
    demand=RATES,
    horizon=st.floats(10.0, 600.0),
    age_ahead=BYTES,
    pages_due=BYTES,
    combining_exponent=st.floats(0.0, 1.0),
    new_density=st.floats(0.0, 1e6),
    flush_response=st.floats(0.0, 1e9),
    flush_rate=RATES,
    authority=st.floats(0.0, 1.5),
    io_capacity_max=st.integers(100, 2**32),
)


@given(
    situations=st.lists(SITUATIONS, min_size=1, max_size=6),
    wrote=st.booleans(),
    law=st.sampled_from([LAW, Pid()]),
)
def test_every_answer_is_a_rate(situations: list[Situation], *, wrote: bool, law: Policy[Any]) -> None:
    """Whatever the readings, in whatever order, M is finite and above zero: it can be bounded and written."""
    state = law.start()
    for shown in sorted(situations, key=lambda one: one.now):
        state, proposal = law.propose(state, shown)

        assert math.isfinite(proposal.io_capacity_max)
        assert proposal.io_capacity_max >= 0.0
        assert all(math.isfinite(term) for term in proposal.terms.values())
        if wrote:
            state = law.wrote(state, min(2**32, max(100, round(proposal.io_capacity_max))))


def test_an_error_larger_than_the_set_point_still_gives_a_move() -> None:
    """A mean of minutes below a set-point that has fallen since asks for a lower M, and ends no tick."""
    move = LAW._move(situation(set_point=0.3), 1.0, -0.4)

    assert -100.0 < move < 0.0
