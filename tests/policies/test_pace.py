"""The law for servers whose age rests at the flush limit whatever M: an even pace, few writes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.pace import AIM, FIRST_SECONDS, LEAST, MOST, PATIENCE_SECONDS, Pace, PaceState
from policies.registry import LAWS, make_policy
from tests.factory import A, situation

LAW = Pace()
WITHOUT = sorted(name for name, law in LAWS.items() if not law.authority)


def live(
    demands: list[float],
    *,
    io_capacity_max: int,
    begin: float = 1000.0,
    learns: bool = True,
    step: float = 0.0,
) -> tuple[PaceState, list[tuple[float, int]]]:
    """Live a second with each demand, carrying out what is asked for; return the writes by time and M.

    No write leaves less than ``step`` times the M before.
    """
    state, writes = LAW.start(), []
    for second, demand in enumerate(demands):
        now = begin + second
        shown = situation(now=now, demand=demand, io_capacity_max=io_capacity_max, learns=learns)
        state, proposal = LAW.propose(state, shown)
        if proposal.act:
            io_capacity_max = round(max(proposal.io_capacity_max, step * io_capacity_max))
            state = LAW.wrote(state, io_capacity_max)
            writes.append((now - begin, io_capacity_max))
    return state, writes


def test_an_m_below_the_demand_is_raised_at_once() -> None:
    """The first look at an M that the age outgrows raises it."""
    _, writes = live([400.0], io_capacity_max=400)

    assert writes == [(0.0, round(AIM * 400.0))]


def test_a_demand_that_grows_is_followed_within_seconds() -> None:
    """A load that doubles has a higher M before half a minute is over, and one that is high enough."""
    _, writes = live([400.0] * 60 + [800.0] * 120, io_capacity_max=540)

    assert 60.0 < writes[0][0] < 70.0
    assert writes[-1][0] < 120.0
    assert writes[-1][1] >= LEAST * 800.0


def test_the_default_is_lowered_after_a_minute() -> None:
    """MariaDB's default of 2000 against a demand of 340 is one write, a minute later, to just above it."""
    _, writes = live([340.0] * 900, io_capacity_max=2000)

    assert writes == [(FIRST_SECONDS, round(AIM * 340.0))]


def test_an_m_that_was_lowered_once_is_lowered_again_after_a_long_time() -> None:
    """A load that goes away for good costs one write more, minutes later."""
    _, writes = live([1000.0] * 100 + [340.0] * 900, io_capacity_max=6000)

    at = [second for second, _ in writes]
    assert writes[0] == (FIRST_SECONDS, round(AIM * 1000.0))
    assert writes[-1][1] == pytest.approx(AIM * 340.0, rel=0.01)
    assert len(writes) <= 3
    assert all(later - earlier >= PATIENCE_SECONDS for earlier, later in itertools.pairwise(at))


def test_ages_at_which_the_server_sleeps_say_nothing_about_the_demand() -> None:
    """Below the age that wakes the server, pages that many commits will share raise no M, and lower none."""
    law, state = Pace(asleep_below=0.9), LAW.start()
    for second in range(900):
        demand = 5000.0 if second % 2 else 10.0
        shown = situation(now=1000.0 + second, age=0.89 * A, demand=demand, io_capacity_max=2000)
        state, proposal = law.propose(state, shown)
        assert not proposal.act
    _, proposal = law.propose(state, situation(now=1900.0, age=0.95 * A, demand=1e6, io_capacity_max=2000))
    assert proposal.act


def test_a_way_down_in_steps_is_waited_for_once() -> None:
    """Where a step may only halve M, the next one follows: the time was for the demand."""
    _, writes = live([340.0] * 90, io_capacity_max=6000, step=0.5)

    assert [m for _, m in writes] == [3000, 1500, 750, round(AIM * 340.0)]
    assert writes[0][0] == FIRST_SECONDS
    assert writes[-1][0] <= FIRST_SECONDS + 5.0


def test_one_high_demand_within_the_time_begins_it_anew() -> None:
    """A load that needs the M in force now and then keeps it."""
    calm, storm = [340.0] * 45, [2400.0] * 10
    _, writes = live((calm + storm) * 4, io_capacity_max=2000)

    assert writes == []


def test_it_is_lowered_to_what_the_highest_demand_needs() -> None:
    """What the load needed at most within the time decides, not what it needs just then."""
    _, writes = live([340.0] * 5 + [600.0] * 40 + [340.0] * 20, io_capacity_max=2000)

    assert writes == [(FIRST_SECONDS, pytest.approx(AIM * 600.0, rel=0.03))]


def test_a_quiet_server_is_left_alone() -> None:
    """Without demand there is nothing to pace, however long it lasts."""
    _, writes = live([0.0] * 2000, io_capacity_max=2000)

    assert writes == []


def test_what_is_not_the_load_lowers_nothing() -> None:
    """A time in which something else goes on is no proof that M is too high."""
    _, writes = live([340.0] * 900, io_capacity_max=2000, learns=False)

    assert writes == []


@given(st.lists(st.floats(0.9 * 400.0, 1.1 * 400.0), min_size=1, max_size=700))
def test_a_load_that_wanders_causes_no_writes(demands: list[float]) -> None:
    """Around its demand the M that was aimed at stays, however the demand wavers by a tenth."""
    _, writes = live(demands, io_capacity_max=round(AIM * 400.0))

    assert writes == []


@given(st.lists(st.floats(0.0, 5_000.0), min_size=1, max_size=400), st.integers(200, 20_000))
def test_no_write_lowers_m_below_the_mean_demand(demands: list[float], io_capacity_max: int) -> None:
    """Whatever the load does, each write leaves M above what is needed at that time."""
    state = LAW.start()
    for second, demand in enumerate(demands):
        shown = situation(now=1000.0 + second, demand=demand, io_capacity_max=io_capacity_max)
        state, proposal = LAW.propose(state, shown)
        assert not proposal.act or proposal.io_capacity_max >= LEAST * state.demand
        assert proposal.act or proposal.io_capacity_max == io_capacity_max


@pytest.mark.parametrize("flush_law", WITHOUT)
@pytest.mark.parametrize("name", ["cascade", "pid", "probe"])
def test_it_stands_in_for_laws_that_steer_the_age(flush_law: str, name: str) -> None:
    """Where nothing steers the age, the pacing law decides, whichever other was asked for."""
    assert make_policy(name, flush_law=flush_law, fixed_io_capacity_max=700).name == "pace"


@pytest.mark.parametrize("flush_law", sorted(LAWS))
def test_fixed_stays_fixed(flush_law: str) -> None:
    """A person who wants one value has it on every server."""
    assert make_policy("fixed", flush_law=flush_law, fixed_io_capacity_max=700).name == "fixed"


def test_its_band_leaves_room() -> None:
    """What it aims at is neither raised nor lowered at once."""
    assert LEAST < AIM < MOST
