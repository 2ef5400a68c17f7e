"""Where the age comes to rest: the same M from any age and any M that the load was seen with."""

from __future__ import annotations

import math

import pytest

from policies.cascade import Cascade
from policies.equilibrium import Equilibrium
from policies.flushlaw import LEGACY
from policies.types import Situation, horizon
from tests.factory import A, situation

SET_POINT = 0.9
DENSITY = 300e-6
COMBINING = 0.5
RESPONSE = 2_500.0
UNLOADED = 2.7e6


def seen(ratio: float, flush_rate: float) -> Situation:
    """Return what a closed load shows at an age while so many pages are flushed."""
    return situation(
        set_point=SET_POINT,
        age=ratio * A,
        redo_rate=UNLOADED - RESPONSE * flush_rate,
        flush_rate=flush_rate,
        new_density=DENSITY * math.pow(SET_POINT / ratio, COMBINING),
        combining_exponent=COMBINING,
        flush_response=RESPONSE,
    )


@pytest.mark.parametrize(("ratio", "flush_rate"), [(0.5, 700.0), (0.9, 463.0), (1.0, 300.0)])
def test_any_place_shows_the_same_rest(ratio: float, flush_rate: float) -> None:
    """What flows in flows out: F = rho(f) * (R0 - c * F), wherever the load was looked at."""
    shown = seen(ratio, flush_rate)

    found = Equilibrium().updated(shown, 1.0).io_capacity_max(LEGACY, shown)

    assert found == pytest.approx(DENSITY * (UNLOADED - RESPONSE * found), rel=1e-6)


def test_averages_last_across_a_change_of_m() -> None:
    """A write changes R and F but not the answer, so averages need not start anew."""
    state = Equilibrium().updated(seen(0.9, 700.0), 1.0)
    before = state.io_capacity_max(LEGACY, seen(0.9, 700.0))
    for _ in range(10):
        state = state.updated(seen(0.9, 300.0), 0.1)

    assert state.io_capacity_max(LEGACY, seen(0.9, 300.0)) == pytest.approx(before, rel=1e-6)


def test_an_open_load_flushes_what_it_dirties() -> None:
    """Where R does not answer, M is the pages that the redo brings."""
    shown = situation(set_point=0.9, age=0.9 * A, redo_rate=1e6, new_density=4e-4, flush_response=0.0)

    assert Equilibrium().updated(shown, 1.0).io_capacity_max(LEGACY, shown) == pytest.approx(400.0)


@pytest.mark.parametrize(("rate", "seconds"), [(1e6, 40.0), (0.0, 600.0), (1e9, 10.0), (1.0, 600.0)])
def test_a_correction_takes_half_a_residence_time_within_bounds(rate: float, seconds: float) -> None:
    """Half the time that a page stays dirty at the set-point, from ten seconds to ten minutes."""
    assert horizon(set_point=0.8, flush_limit=1e8, redo_rate=rate) == pytest.approx(seconds)


# The default law beside a server that is busy with something else than its load.


LAW = Cascade(LEGACY)


def test_a_disturbed_load_moves_no_average_and_causes_no_landing() -> None:
    """While something else goes on averages stand still; it lands when they are those of the load again."""
    calm = {"age": 0.78 * A, "age_ahead": 0.78 * A}
    state = LAW.start()
    for second in range(300):
        state, _ = LAW.propose(state, situation(now=1000.0 + second, **calm))
    known = state
    for second in range(300, 400):
        busy = {"redo_rate": 5e6, "new_density": 0.002, "learns": False}
        state, _ = LAW.propose(state, situation(now=1000.0 + second, **calm | busy))

    assert state.equilibrium == known.equilibrium
    assert state.disturbance == known.disturbance

    state, _ = LAW.propose(state, situation(now=1400.0, age=0.3 * A, age_ahead=0.3 * A, learns=False))
    near = {"age": 0.76 * A, "age_ahead": 0.76 * A, "io_capacity_max": 250}
    for second in range(401, 500):
        state, wanted = LAW.propose(state, situation(now=1000.0 + second, learns=False, **near))
        assert wanted.io_capacity_max == pytest.approx(250, rel=0.1), "a landing on averages that stand still"
    landings = []
    for second in range(500, 540):
        state, wanted = LAW.propose(state, situation(now=1000.0 + second, **near))
        landings.append(wanted.act and wanted.io_capacity_max > 400)

    assert not any(landings[:30])
    assert any(landings[30:])
