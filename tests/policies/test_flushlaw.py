"""The server's flush law, forwards as the server computes it and backwards as the loop uses it."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.flushlaw import HIGH_CHECKPOINT, LEGACY, LEGACY_56, LEGACY_WHOLE, MARIADB, FlushLaw
from policies.registry import LAWS, with_need


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


# The flush laws of all server families, beside their servers' arithmetic and a plain simulation of them.


LIMIT = 400_000_000
STEERED = sorted(name for name, law in LAWS.items() if law.m_moves_age)
UNSTEERED = sorted(name for name, law in LAWS.items() if not law.m_moves_age)
DOUBLES = {"legacy", "high_checkpoint"}
"""Laws whose servers do not cut the age percentage to a whole number."""


def percentage(name: str, age: int, capacity: int, most: int) -> int:
    """Return what the server of that law computes, in its own order and types."""
    percent = age * 100.0 / LIMIT if name in DOUBLES else age * 100 // LIMIT
    if name.startswith("high_checkpoint"):
        return int(most // capacity * (percent * percent * math.sqrt(percent)) / 700.5)
    return int(most // capacity * (percent * math.sqrt(percent)) / 7.5)


def rest(name: str, *, demand: int, most: int, begin: float) -> float:
    """Return the age ratio where a server rests that flushes by the law of that name, as a mean of minutes.

    A load that dirties ``demand`` pages a second writes the flush limit in 100 s; averages of 30 s, halved
    into one another; whole pages.
    """
    rate, capacity = LIMIT / 100.0, most // 2
    age, average, flushed, ages = begin * LIMIT, demand, 0, []
    for second in range(1, 4001):
        by_age = capacity * percentage(name, int(age), capacity, most) // 100
        if name == "legacy-56":
            pages = (by_age + average) // 2
        elif name.startswith("mariadb"):
            pages = (by_age + average + min(3 * demand, most) // 3) // 3
        elif name == "soft-limit":
            pages = most if age > LIMIT else 0
        elif name == "age-blind":
            pages = most if age > LIMIT else (capacity + average + min(3 * demand, most) // 3) // 3
        else:
            pages = (by_age + average + min(demand, 2 * most)) // 3
        if name in {"legacy-57", "high_checkpoint-57"} and age >= LIMIT:
            pages = by_age
        pages = min(pages, most)
        flushed += pages
        if second % 30 == 0:
            average, flushed = (flushed // 30 + average) // 2, 0
        age = max(0.0, age + rate * (1.0 - pages / demand))
        ages.append(age / LIMIT)
    return statistics.fmean(ages[-600:])


@pytest.mark.parametrize("name", sorted(LAWS))
@given(age=st.integers(0, 2 * LIMIT), capacity=st.integers(100, 20_000), gain=st.floats(1.0, 30.0))
def test_percentage_is_the_servers_arithmetic(name: str, age: int, capacity: int, gain: float) -> None:
    """For every law, age and pair of settings: to the percent what the server's own integers give."""
    most = int(gain * capacity)
    found = LAWS[name].percentage(age=age, flush_limit=LIMIT, io_capacity=capacity, io_capacity_max=most)

    assert found == percentage(name, age, capacity, most)


@pytest.mark.parametrize(
    ("age", "flush_limit", "said"),
    [(50_025_701, 46_941_190, 1455), (49_500_000, 46_941_190, 1434)],
)
def test_percentages_of_a_live_mysql_5_6(age: int, flush_limit: int, said: int) -> None:
    """MySQL 5.6.24 at 200/2000 said 1455 and 1434 percent, and nothing in between."""
    found = LEGACY_56.percentage(age=age, flush_limit=flush_limit, io_capacity=200, io_capacity_max=2000)

    assert found == said


@pytest.mark.parametrize("name", STEERED)
@pytest.mark.parametrize("ratio", [0.35, 0.5, 0.65, 0.8])
def test_gain_undoes_the_server(name: str, ratio: float) -> None:
    """With the M that a law asks for, the simulated server's age comes to rest at the ratio wanted."""
    demand = 1500
    most = round(LAWS[name].gain_over_demand(ratio) * demand / 2.0) * 2

    found = rest(name, demand=demand, most=most, begin=ratio + 0.1)

    assert found == pytest.approx(ratio, abs=0.015)


@pytest.mark.parametrize("name", UNSTEERED)
@pytest.mark.parametrize("gain", [1.2, 1.35, 2.0])
def test_without_authority_the_age_rests_at_the_flush_limit(name: str, gain: float) -> None:
    """On these servers every M somewhat above the demand gives the same age."""
    assert rest(name, demand=1500, most=round(gain * 1500), begin=0.4) == pytest.approx(1.0, abs=0.02)
    assert LAWS[name].gain_over_demand(0.6) == 1.0
    assert LAWS[name].remedy


@pytest.mark.parametrize(
    ("law", "ratio", "gain"),
    [
        (LEGACY, 0.20, 8.39),
        (LEGACY, 0.50, 2.12),
        (LEGACY, 0.70, 1.28),
        (LEGACY, 0.80, 1.05),
        (LEGACY, 0.93, 1.00),
        (HIGH_CHECKPOINT, 0.20, 39.2),
        (HIGH_CHECKPOINT, 0.30, 14.2),
        (HIGH_CHECKPOINT, 0.40, 6.92),
        (HIGH_CHECKPOINT, 0.50, 3.96),
        (HIGH_CHECKPOINT, 0.60, 2.51),
        (HIGH_CHECKPOINT, 0.70, 1.71),
        (HIGH_CHECKPOINT, 0.75, 1.44),
        (HIGH_CHECKPOINT, 0.80, 1.22),
        (HIGH_CHECKPOINT, 0.8255, 1.13),
        (HIGH_CHECKPOINT, 0.90, 1.00),
        (MARIADB, 0.20, 8.39),
        (MARIADB, 0.30, 4.56),
        (MARIADB, 0.50, 2.49),
        (MARIADB, 0.60, 2.10),
        (MARIADB, 0.70, 1.80),
        (LEGACY_56, 0.50, 2.12),
        (LEGACY_56, 0.70, 1.28),
    ],
)
def test_gains_that_hold_a_ratio(law: FlushLaw, ratio: float, gain: float) -> None:
    """M over demand at rest, as worked out by hand for each law; never below 1, where the cap decides."""
    assert law.gain_over_demand(ratio) == pytest.approx(gain, rel=0.004)


@pytest.mark.parametrize(
    ("law", "ratio"),
    [(LEGACY, 0.8255), (HIGH_CHECKPOINT, 0.8673), (LEGACY_56, 0.8255), (MARIADB, 1.25 ** (2.0 / 3.0))],
)
def test_full_rate_ratios(law: FlushLaw, ratio: float) -> None:
    """Where M itself becomes the cap: on MariaDB nowhere below the flush limit."""
    assert law.full_rate_ratio == pytest.approx(ratio, abs=5e-5)
    assert law.gain_over_demand(law.full_rate_ratio) == pytest.approx(1.0)


@pytest.mark.parametrize("name", STEERED)
@given(ratio=st.floats(0.15, 1.1))
def test_stiffness_is_the_slope_of_the_gain(name: str, ratio: float) -> None:
    """How far M has to move for a ratio to move: the gain's own slope, by differences."""
    law, step = LAWS[name], 1e-6
    near = (ratio / law.full_rate_ratio, law.need_cap * law.gain_over_demand(ratio))
    if any(abs(math.log(max(one, 1e-9))) < 1e-3 for one in near):
        return
    before, after = (law.gain_over_demand(ratio * math.exp(sign * step)) for sign in (-1.0, 1.0))

    assert law.stiffness(ratio) == pytest.approx(-math.log(after / before) / (2.0 * step), abs=1e-4)


@pytest.mark.parametrize(
    ("ratio", "demand", "io_capacity_max"),
    [(0.45, 484.0, 2000), (0.89, 328.0, 554), (0.96, 300.0, 500), (0.91, 323.0, 482)],
)
def test_the_m_that_a_real_5_6_rested_with(ratio: float, demand: float, io_capacity_max: int) -> None:
    """Batches that end early need more M than the law says; MySQL 5.6.24's settled rows show how much."""
    assert LEGACY_56.resting_gain(ratio) * demand == pytest.approx(io_capacity_max, rel=0.09)
    assert LEGACY_56.gain_over_demand(ratio) * demand < 0.7 * io_capacity_max


def test_a_real_5_6_answers_to_m_where_it_is_the_cap() -> None:
    """The age of MySQL 5.6.24 moved by half of what M did, which write combining alone does not explain."""
    slope = math.log(624 / 442) / math.log(1.03 / 0.85)
    combining = 0.35

    assert LEGACY_56.resting_stiffness(0.9) + combining == pytest.approx(slope, rel=0.1)


@pytest.mark.parametrize("name", sorted(LAWS.keys() - {LEGACY_56.name}))
def test_others_rest_where_the_law_says(name: str) -> None:
    """Batches of all other servers go on until they have flushed what was asked for."""
    law = LAWS[name]
    assert law.resting_gain(0.9) == law.gain_over_demand(0.9)
    assert law.resting_stiffness(0.9) == law.stiffness(0.9)
