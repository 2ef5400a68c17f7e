"""Where the age comes to rest: the same M from any age and any M that the load was seen with."""

from __future__ import annotations

import math

import pytest

from policies.equilibrium import Equilibrium
from policies.flushlaw import LEGACY
from policies.types import Situation
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

    found = Equilibrium().follow(shown, 1.0).io_capacity_max(LEGACY, shown)

    assert found == pytest.approx(DENSITY * (UNLOADED - RESPONSE * found), rel=1e-6)


def test_averages_last_across_a_change_of_m() -> None:
    """A write changes R and F but not the answer, so averages need not start anew."""
    state = Equilibrium().follow(seen(0.9, 700.0), 1.0)
    before = state.io_capacity_max(LEGACY, seen(0.9, 700.0))
    for _ in range(10):
        state = state.follow(seen(0.9, 300.0), 0.1)

    assert state.io_capacity_max(LEGACY, seen(0.9, 300.0)) == pytest.approx(before, rel=1e-6)


def test_an_open_load_flushes_what_it_dirties() -> None:
    """Where R does not answer, M is the pages that the redo brings."""
    shown = situation(set_point=0.9, age=0.9 * A, redo_rate=1e6, new_density=4e-4, flush_response=0.0)

    assert Equilibrium().follow(shown, 1.0).io_capacity_max(LEGACY, shown) == pytest.approx(400.0)
