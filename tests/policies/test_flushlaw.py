"""The server's flush law, forwards as the server computes it and backwards as the loop uses it."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policies.flushlaw import LEGACY, LEGACY_56, LEGACY_WHOLE
from policies.registry import with_need

FULL_RATE = 0.8255
"""Age ratio above which the law asks for all that M allows."""


def forward(demand: float, io_capacity: int, io_capacity_max: int) -> float:
    """Return the age ratio where the server settles: the one whose percentage of C equals the demand."""
    gain = io_capacity * (io_capacity_max // io_capacity)
    low, high = 0.0, 2.0
    for _ in range(80):
        middle = (low + high) / 2.0
        if gain * (100.0 * middle) ** 1.5 / 750.0 < demand:
            low = middle
        else:
            high = middle
    return low


@pytest.mark.parametrize(
    ("ratio", "gain", "said"),
    [
        (0.10, 2, 8),
        (0.25, 2, 33),
        (0.50, 2, 94),
        (0.70, 2, 156),
        (0.85, 1, 104),
        (1.00, 1, 133),
        (1.0, 10, 1333),
    ],
)
def test_percentage_is_the_servers(ratio: float, gain: int, said: int) -> None:
    """The percentage is floor(k * X**1.5 / 7.5) with X in percent, as the server logs it."""
    found = LEGACY.percentage(age=ratio * 1e9, flush_limit=1e9, io_capacity=500, io_capacity_max=500 * gain)

    assert found == said


def test_percentage_sees_only_the_whole_ratio() -> None:
    """M = 1999 over C = 1000 works with a gain of 1, as the server's integer division does."""
    odd = LEGACY.percentage(age=0.7, flush_limit=1.0, io_capacity=1000, io_capacity_max=1999)
    whole = LEGACY.percentage(age=0.7, flush_limit=1.0, io_capacity=1000, io_capacity_max=2000)

    assert (odd, whole) == (78, 156)


@pytest.mark.parametrize(
    ("ratio", "gain"),
    [
        (0.20, 8.39),
        (0.30, 4.56),
        (0.40, 2.96),
        (0.50, 2.12),
        (0.60, 1.61),
        (0.70, 1.28),
        (0.75, 1.15),
        (0.80, 1.05),
        (0.8255, 1.00),
        (0.93, 1.00),
    ],
)
def test_gain_that_holds_a_ratio(ratio: float, gain: float) -> None:
    """M over page demand follows K*/P = 0.75 / f**1.5, and never falls below 1, where the cap decides."""
    assert LEGACY.gain_over_demand(ratio) == pytest.approx(gain, abs=0.005)


def test_full_rate_ratio() -> None:
    """Above an age ratio of 0.8255 the law asks for more than M."""
    assert LEGACY.full_rate_ratio == pytest.approx(FULL_RATE, abs=5e-5)


@pytest.mark.parametrize(
    ("io_capacity", "io_capacity_max", "settles"),
    [
        (1000, 2000, 0.681),
        (200, 2000, 0.681),
        (2000, 2000, 0.681),
        (1500, 3000, 0.520),
        (10_000, 20_000, 0.147),
    ],
)
def test_inverse_agrees_with_the_forward_law(io_capacity: int, io_capacity_max: int, settles: float) -> None:
    """For known settings and a demand of 1500 pages/s, forward law, inverse and reference agree."""
    settled = forward(1500.0, io_capacity, io_capacity_max)

    assert settled == pytest.approx(settles, abs=0.001)
    assert 1500.0 * LEGACY.gain_over_demand(settled) == pytest.approx(io_capacity_max, rel=1e-6)


@given(ratio=st.floats(0.15, 0.82), demand=st.floats(50.0, 50_000.0))
def test_inverse_undoes_the_forward_law(ratio: float, demand: float) -> None:
    """Setting what the inverse asks for, the forward law settles at the very ratio that was wanted."""
    wanted = LEGACY.gain_over_demand(ratio) * demand
    assume(wanted > demand)

    k = 2
    capacity = math.ceil(wanted / k)
    assert forward(demand, capacity, k * capacity) == pytest.approx(ratio, rel=2.0 / capacity + 1e-6)


@pytest.mark.parametrize(("share", "ratio"), [(1.0, 0.5), (0.5, 0.5), (0.2, 0.8), (0.0, 0.3)])
def test_what_goes_beyond_the_need_has_to_be_asked_for_by_the_age(share: float, ratio: float) -> None:
    """Where most pages go as neighbours, n = (PCT + F' + p) / 3 needs a PCT of nearly twice the demand."""
    demand = 500.0
    law = with_need(LEGACY_WHOLE, share)
    capacity = law.gain_over_demand(ratio) * demand
    by_age = capacity * (100.0 * ratio) ** 1.5 / 750.0

    assert (by_age + demand + share * demand) / 3.0 == pytest.approx(demand)


def test_neighbours_leave_the_law_of_whom_the_need_is_no_term() -> None:
    """MySQL 5.6 asks for the mean of two terms, neither of which counts pages."""
    assert with_need(LEGACY_56, 0.2).gain_over_demand(0.5) == LEGACY_56.gain_over_demand(0.5)


@given(
    age=st.floats(0.0, 2.0), more=st.floats(0.0, 0.5), capacity=st.integers(100, 20_000), k=st.integers(1, 20)
)
def test_percentage_never_falls_with_age(age: float, more: float, capacity: int, k: int) -> None:
    """An older tail is never asked to be flushed more slowly."""
    at = [
        LEGACY.percentage(age=a, flush_limit=1.0, io_capacity=capacity, io_capacity_max=k * capacity)
        for a in (age, age + more)
    ]

    assert 0 <= at[0] <= at[1]
