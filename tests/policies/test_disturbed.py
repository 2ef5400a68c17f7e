"""The default law beside a server that is busy with something else than its load."""

from __future__ import annotations

import pytest

from policies.cascade import Cascade
from policies.flushlaw import LEGACY
from tests.factory import A, situation

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
