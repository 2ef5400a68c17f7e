"""The law for servers whose age rests at the flush limit whatever M: it only raises an M that is too low."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.pace import AIM, FULL, FULL_SECONDS, Pace
from tests.factory import A, situation

LAW = Pace()
BEYOND = 1.02
"""Age ratio a little beyond the flush limit."""

GROWING = 1e5
"""Bytes/s by which the age grows."""


def live(
    flushed: list[float], *, io_capacity_max: int, ratio: float = BEYOND, slope: float = GROWING
) -> list[tuple[float, int]]:
    """Live a second with each rate of flushing, carrying out what is asked for; return the writes."""
    state, writes = LAW.start(), []
    for second, rate in enumerate(flushed):
        shown = situation(
            now=1000.0 + second,
            age=ratio * A,
            age_slope=slope,
            flush_rate=min(rate, io_capacity_max),
            io_capacity_max=io_capacity_max,
        )
        state, proposal = LAW.propose(state, shown)
        if proposal.act:
            io_capacity_max = round(proposal.io_capacity_max)
            state = LAW.wrote(state, io_capacity_max)
            writes.append((float(second), io_capacity_max))
    return writes


def test_an_m_of_which_all_is_flushed_while_the_age_grows_is_raised() -> None:
    """Before writers wait the server gets a higher M, once it has shown that the one in force is too low."""
    writes = live([1e6] * (round(FULL_SECONDS) + 2), io_capacity_max=400)

    assert writes == [(FULL_SECONDS, round(AIM * 400))]


@pytest.mark.parametrize("in_force", [100, 1999, 2000, 4000])
def test_an_m_below_what_the_server_was_found_with_goes_back_to_it(in_force: int) -> None:
    """What an override or a park left there is no M to stay at: a page cleaner without pauses writes more."""
    _, proposal = LAW.propose(LAW.start(), situation(io_capacity_max=in_force, baseline_m=2000, age=0.5 * A))

    assert (proposal.act, proposal.io_capacity_max) == (in_force < 2000, max(2000, in_force))


def test_a_demand_far_above_m_is_met_step_by_step() -> None:
    """As long as all of M is flushed and the age grows it is raised again, each time after the same time."""
    writes = live([1e6] * 120, io_capacity_max=400)

    assert [m for _, m in writes[:3]] == [540, 729, 984]
    assert all(later - earlier > FULL_SECONDS for (earlier, _), (later, _) in itertools.pairwise(writes))


@pytest.mark.parametrize(
    ("flushed", "ratio", "slope"),
    [(0.9 * FULL * 400, BEYOND, GROWING), (1e6, 0.99, GROWING), (1e6, BEYOND, 0.0), (0.0, 0.5, GROWING)],
    ids=["M to spare", "below the flush limit", "the age rests", "asleep"],
)
def test_any_other_m_is_left_alone(flushed: float, ratio: float, slope: float) -> None:
    """While M is not the limit, or the age is not beyond its own, nothing is written."""
    assert live([flushed] * 900, io_capacity_max=400, ratio=ratio, slope=slope) == []


def test_a_moment_of_respite_begins_the_time_anew() -> None:
    """A spurt of flushing at all of M that ends by itself is no proof that M is too low."""
    spurt = [1e6] * round(FULL_SECONDS - 1)

    assert live([*spurt, 100.0] * 20, io_capacity_max=400) == []


@given(
    st.lists(
        st.tuples(st.floats(0.0, 3e4), st.floats(0.0, 1.2), st.floats(-1e6, 1e6)), min_size=1, max_size=200
    ),
    st.integers(200, 20_000),
)
def test_no_m_is_ever_lowered(course: list[tuple[float, float, float]], io_capacity_max: int) -> None:
    """Whatever load and age do, M stays or rises: a page cleaner that is done soon sleeps."""
    state = LAW.start()
    for second, (rate, ratio, slope) in enumerate(course):
        shown = situation(
            now=1000.0 + second,
            age=ratio * A,
            age_slope=slope,
            flush_rate=rate,
            io_capacity_max=io_capacity_max,
        )
        state, proposal = LAW.propose(state, shown)
        assert proposal.io_capacity_max >= io_capacity_max
        assert proposal.act == (proposal.io_capacity_max > io_capacity_max)
