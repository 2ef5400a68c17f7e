"""The default law on its way: what it wants far from the set-point, and when it does not lower M yet."""

from __future__ import annotations

from typing import Any

import pytest

from policies.cascade import Cascade
from policies.flushlaw import LEGACY, LEGACY_56
from policies.travel import CLIMB_SHARE
from policies.types import Proposal
from tests.factory import A, estimate, situation

LAW = Cascade(LEGACY)


def ask(**changes: Any) -> Proposal:  # noqa: ANN401 - any field
    """Return what the law wants, asked for the first time."""
    return LAW.propose(LAW.start(), situation(**changes))[1]


def test_travelling_up_flushes_less_than_the_demand() -> None:
    """Far below the set-point it asks for less than holds the age, but never so little that nothing flows."""
    wanted = ask(age=0.1 * A, age_ahead=0.1 * A, pages_due=0.0, io_capacity_max=20_000)

    assert wanted.act
    assert 0.3 * 400 < wanted.io_capacity_max < 400


def test_travelling_down_flushes_what_is_due() -> None:
    """Far above, M is the rate that gets the due pages out within the horizon, through the inverse law."""
    wanted = ask(age=1.0 * A, age_ahead=1.1 * A, pages_due=24_000.0)

    assert wanted.act
    assert wanted.io_capacity_max == pytest.approx(LEGACY.gain_over_demand(0.8) * 24_000.0 / 30.0)


@pytest.mark.parametrize("down", [True, False])
def test_a_load_that_answers_flushing_is_travelled_with_gently(*, down: bool) -> None:
    """Clients that take what the device leaves move the age as well: M goes a part of the way it would go."""
    age = 1.0 * A if down else 0.1 * A
    way = {"age": age, "age_ahead": age, "pages_due": 24_000.0 if down else 0.0, "flush_rate": 400.0}
    coupling = estimate(flush_response=10_000.0).coupling
    open_load, closed = ask(**way), ask(**way, coupling=coupling)

    assert coupling > 2.0
    here = LEGACY.gain_over_demand(0.8) * 400.0
    moved, gently = open_load.io_capacity_max - here, closed.io_capacity_max - here
    assert 0.0 < gently / moved < 1.0 / 3.0


def test_travelling_does_not_lower_an_m_that_leads_too_high_already() -> None:
    """A device that gives less than M asks for makes M no smaller while the age stays above the set-point."""
    slow = {"age": 1.0 * A, "pages_due": 12_000.0, "io_capacity_max": 2000}
    smaller = LEGACY.gain_over_demand(0.8) * 12_000.0 / 30.0

    assert ask(age_ahead=0.95 * A, **slow).io_capacity_max == 2000 > smaller
    assert ask(age_ahead=0.6 * A, **slow).io_capacity_max == pytest.approx(smaller)


def test_where_batches_end_early_the_way_up_stays_near_the_m_to_rest_with() -> None:
    """MySQL 5.6 is led up by the M that it will rest with, not by much less and back again."""
    up = {"age": 0.3 * A, "age_ahead": 0.3 * A, "pages_due": 0.0, "io_capacity_max": 20_000}

    def share(law: Cascade) -> float:
        state, wanted = law.propose(law.start(), situation(**up))
        return wanted.io_capacity_max / state.equilibrium.io_capacity_max(law.law, situation(**up))

    assert share(Cascade(LEGACY_56)) == pytest.approx(CLIMB_SHARE)
    assert share(LAW) < 0.7 < CLIMB_SHARE
    up |= {"age": 1.0 * A, "age_ahead": 0.6 * A}
    assert share(Cascade(LEGACY_56)) < 0.7


SINKS = {"age": 0.76 * A, "age_slope": 0.0, "age_ahead": 0.7 * A}
SYNC = {"set_point": 0.9, "sync_point": 1.0 * A, "age_ahead": 0.7 * A}
FAR_SYNC = SYNC | {"sync_point": 1.05 * A}


@pytest.mark.parametrize(
    ("seen", "lowered"),
    [
        (SINKS, True),
        (SINKS | {"age_ahead": 1.1 * A}, False),
        (SINKS | {"age_slope": 0.0008 * A, "age_ahead": 0.73 * A}, False),
        (SINKS | {"age_slope": 0.0008 * A, "age_ahead": 0.71 * A}, True),
        (SINKS | {"age_ahead": 0.74 * A}, True),
        (SINKS | {"age_ahead": 0.76 * A}, False),
        (SINKS | {"age": 0.72 * A, "age_ahead": 0.6 * A, "age_slope": 0.01 * A}, False),
        (SINKS | {"age": 0.72 * A, "age_ahead": 0.6 * A, "age_slope": 0.002 * A}, True),
        (SYNC | {"age": 0.98 * A}, False),
        (SYNC | {"age": 0.92 * A}, True),
        (FAR_SYNC | {"age": 0.98 * A}, True),
        (SYNC | {"age": 0.91 * A, "age_ahead": 0.8 * A, "age_slope": 0.01 * A}, False),
        (FAR_SYNC | {"age": 0.91 * A, "age_ahead": 0.8 * A, "age_slope": 0.01 * A}, True),
    ],
    ids=[
        "it leads below",
        "it leads far beyond",
        "rising, it leads near",
        "rising, it leads short",
        "stopped, it leads near",
        "stopped, it leads nearly there",
        "there in 8 s",
        "there in 40 s",
        "still above, near the sync point",
        "back, near the sync point",
        "above, far from the sync point",
        "rising past, near the sync point",
        "rising past, far from it",
    ],
)
def test_a_landing_lowers_m_only_once_the_age_no_longer_needs_it(
    seen: dict[str, float], *, lowered: bool
) -> None:
    """What is flushed less is what the age grows by: pages dirtied at a lower age lie closer.

    So M stays while it leads above the set-point, while an age that rises is about to be there, and while an
    age that an emergency brought down from the sync point is not back.
    """
    state, _ = LAW.propose(LAW.start(), situation(age=0.5 * A, age_ahead=0.5 * A, io_capacity_max=2000))
    wanted = LAW.propose(state, situation(now=1100.0, io_capacity_max=2000, **seen))[1]

    assert (wanted.act and wanted.io_capacity_max < 1900) == lowered


def test_travelling_leaves_a_shrinking_error_alone() -> None:
    """Nothing is written while the present M already halves the error within the horizon."""
    assert not ask(age=1.0 * A, age_ahead=0.85 * A, pages_due=24_000.0).act
    assert not ask(age=0.3 * A, age_ahead=0.7 * A, pages_due=0.0).act
