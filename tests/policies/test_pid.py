"""The fixed policy, and the PID on its own."""

from __future__ import annotations

import math

import pytest

from policies.fixed import Fixed
from policies.pid import PERIODS_PER_HORIZON, STEP_LIMIT, Pid, PidState
from policies.types import Situation
from tests.factory import A, situation


def test_fixed_wants_its_value_whatever_happens() -> None:
    """Fixed asks for one M, and for nothing once it is in force."""
    law = Fixed(700)
    _, far = law.propose(None, situation(age=1.05 * A))
    _, there = law.propose(None, situation(io_capacity_max=700))

    assert (far.io_capacity_max, far.act) == (700.0, True)
    assert (there.io_capacity_max, there.act) == (700.0, False)


def after_a_period(state: PidState, shown: Situation) -> tuple[PidState, float, bool]:
    """Ask the PID one period later; return its state, its M over the M in force, and whether it acts."""
    state, proposal = Pid().propose(state, shown)
    return state, proposal.io_capacity_max / shown.io_capacity_max, proposal.act


def period(number: int, **changes: float | None) -> Situation:
    """Return the situation ``number`` periods after the first."""
    return situation(now=1000.0 + number * 30.0 / PERIODS_PER_HORIZON, **changes)


def test_pid_starts_without_a_bump() -> None:
    """The first look changes nothing, however large the error: the PID starts from what is in force."""
    state, change, acts = after_a_period(Pid().start(), period(0, age=0.2 * A))

    assert (change, acts) == (1.0, False)
    assert state.error == pytest.approx(-0.6)


def test_pid_waits_out_its_period() -> None:
    """Between two periods it neither moves M nor forgets where the last one ended."""
    first, *_ = after_a_period(Pid().start(), period(0, age=0.9 * A))
    second, change, acts = after_a_period(first, situation(now=1001.0, age=0.95 * A))

    assert (second, change, acts) == (first, 1.0, False)


def test_pid_takes_over_from_whatever_is_in_force() -> None:
    """Velocity form: when somebody moves M in between, the next answer moves on from there."""
    state, *_ = after_a_period(Pid().start(), period(0, age=0.9 * A, io_capacity_max=450))
    _, near, _ = after_a_period(state, period(1, age=0.9 * A, io_capacity_max=450))
    _, far, _ = after_a_period(state, period(1, age=0.9 * A, io_capacity_max=9000))

    assert near == pytest.approx(far)
    assert near > 1.0


def test_pid_pushes_against_the_error() -> None:
    """An age too high raises M, one too low lowers it, and never by more than its step limit."""
    for ratio, sign in ((1.05, 1.0), (0.3, -1.0)):
        state, *_ = after_a_period(Pid().start(), period(0))
        _, change, acts = after_a_period(state, period(1, age=ratio * A, age_ahead=ratio * A))

        assert acts
        assert sign * math.log(change) > 0.0
        assert abs(math.log(change)) <= STEP_LIMIT + 1e-9


def test_pid_is_content_inside_its_band() -> None:
    """At the set-point, and heading nowhere, it leaves M alone."""
    state, *_ = after_a_period(Pid().start(), period(0, age=0.805 * A, age_ahead=0.805 * A))
    _, _, acts = after_a_period(state, period(1, age=0.805 * A, age_ahead=0.805 * A))

    assert not acts


def test_pid_does_not_wind_up_without_authority() -> None:
    """While the device is the limit an age too high does not push M up period after period."""
    state, *_ = after_a_period(Pid().start(), period(0, age=0.95 * A, authority=0.5))
    changes = []
    for number in range(1, 20):
        state, change, _ = after_a_period(state, period(number, age=0.95 * A, authority=0.5))
        changes.append(change)

    assert max(changes) == pytest.approx(1.0)
    _, change, _ = after_a_period(state, period(20, age=0.95 * A, authority=1.0))
    assert change > 1.0
