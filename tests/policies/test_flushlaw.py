"""The server's flush law, forwards as the server computes it and backwards as the loop uses it."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policies.flushlaw import HIGH_CHECKPOINT, LEGACY, LEGACY_56, LEGACY_WHOLE, MARIADB, FlushLaw
from policies.registry import LAWS, with_need

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
    """M over demand at rest, as worked out by hand for each law."""
    assert law.gain_over_demand(ratio) == pytest.approx(gain, rel=0.004)


@pytest.mark.parametrize(
    ("law", "ratio"), [(HIGH_CHECKPOINT, 0.8673), (LEGACY_56, 0.8255), (MARIADB, 1.25 ** (2.0 / 3.0))]
)
def test_full_rate_ratios(law: FlushLaw, ratio: float) -> None:
    """Where M itself becomes the cap: on MariaDB nowhere below the flush limit."""
    assert law.full_rate_ratio == pytest.approx(ratio, abs=5e-5)
    assert law.gain_over_demand(law.full_rate_ratio) == pytest.approx(1.0)


@pytest.mark.parametrize(("most", "settles"), [(2800, 0.674), (4000, 0.461)])
def test_where_mariadb_settles(most: int, settles: float) -> None:
    """For a demand of 1500 pages/s: by the closed form, and in the simulation."""
    assert 1500.0 * MARIADB.gain_over_demand(settles) == pytest.approx(most, rel=0.002)
    assert rest("mariadb", demand=1500, most=most, begin=0.5) == pytest.approx(settles, abs=0.015)


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


@given(ratio=st.floats(0.05, 1.5))
def test_legacy_is_what_it_was(ratio: float) -> None:
    """The law of MySQL 8.0.30 and later gives bit for bit what its two formulas give."""
    inverse = 100.0 * 7.5 / math.pow(100.0, 1.5)

    assert LEGACY.gain_over_demand(ratio) == max(1.0, inverse / math.pow(ratio, 1.5))
    assert LEGACY.full_rate_ratio == math.pow(inverse, 1.0 / 1.5)


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
