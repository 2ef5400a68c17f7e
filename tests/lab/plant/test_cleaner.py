"""The simulated page cleaner against the server's arithmetic and against the inverse law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plant.cleaner import Batch, Cleaner, pct_io
from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.flush_list import FlushList
from lab.plant.load import Stream
from lab.plant.parameters import (
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
    PlantParameters,
    ServerParameters,
)
from lab.plant.redo import Redo
from policies.flushlaw import LEGACY
from policies.registry import LAWS
from tests.lab.plant.support import watched

if TYPE_CHECKING:
    pass


def _cleaner(
    io_capacity: int, io_capacity_max: int, *, age_ratio: float, pages: float
) -> tuple[Cleaner, Redo, FlushList]:
    """Return a cleaner over a log whose dirty pages lie evenly up to an age."""
    parameters = ServerParameters(io_capacity=io_capacity, io_capacity_max=io_capacity_max)
    redo = Redo(capacity=parameters.redo_capacity, lsn=1e9, now=0.0)
    cleaner = Cleaner(parameters, redo, now=0.0)
    flush_list = FlushList([Stream(1e9, 1.0)], lsn=1e9)
    redo.lsn += age_ratio * redo.flush_limit
    flush_list.update(commits=pages, lsn=redo.lsn)
    return cleaner, redo, flush_list


@given(
    age_ratio=st.floats(0.12, 1.0),
    io_capacity=st.integers(100, 20_000),
    gain=st.floats(1.0, 12.0),
)
def test_percentage_agrees_with_the_policies_law(age_ratio: float, io_capacity: int, gain: float) -> None:
    """The percentage that the simulated server reports is the one that the model gate expects, within one."""
    io_capacity_max = int(io_capacity * gain)
    cleaner, redo, flush_list = _cleaner(io_capacity, io_capacity_max, age_ratio=age_ratio, pages=1000.0)
    cleaner.wake(1.0, redo, flush_list, 1.0)
    expected = LEGACY.percentage(
        age=redo.lsn - flush_list.oldest(redo.lsn),
        flush_limit=redo.flush_limit,
        io_capacity=io_capacity,
        io_capacity_max=io_capacity_max,
    )
    assert abs(cleaner.pct_for_lsn - expected) <= 1


def test_percentage_by_hand() -> None:
    """At half the flush limit and k = 2 the law says floor(2 * 50^1.5 / 7.5) = 94 percent of C."""
    cleaner, redo, flush_list = _cleaner(1000, 2000, age_ratio=0.5, pages=1000.0)
    cleaner.wake(1.0, redo, flush_list, 1.0)
    assert cleaner.pct_for_lsn == 94
    assert cleaner.by_age == 1  # no average redo rate yet: nothing lies in the next three seconds
    assert cleaner.requested == (940 + 0 + 1) // 3


def test_a_percentage_of_c_is_rounded_as_in_the_server() -> None:
    """PCT_IO multiplies with the percentage over 100.0, each step rounded to a double, and cuts off."""
    short = 0
    for io_capacity in (*range(100, 500), 1000, 1999, 2000, 5000, 10_000, 20_000):
        for percent in range(300):
            hundredths = Fraction(float(Fraction(percent, 100)))
            expected = math.floor(float(io_capacity * hundredths))
            assert pct_io(io_capacity, percent) == expected
            short += expected != io_capacity * percent // 100
    assert (pct_io(100, 29), pct_io(100, 57), pct_io(100, 58)) == (28, 56, 57)
    assert short > 100


def test_the_flush_law_asks_for_a_rounded_share() -> None:
    """At 29 % of C = 100 the law's share is 28 pages, so 9 are asked for and not 10."""
    cleaner, redo, flush_list = _cleaner(100, 199, age_ratio=0.3625, pages=1000.0)
    cleaner.wake(1.0, redo, flush_list, 1.0)
    assert cleaner.pct_for_lsn == 29
    assert cleaner.requested == (28 + 0 + 1) // 3


def test_an_integer_ratio_wastes_the_rest_of_m() -> None:
    """With M one page short of 2 C the server's gain is halved, as k = M div C is 1."""
    cleaner, redo, flush_list = _cleaner(1000, 1999, age_ratio=0.5, pages=1000.0)
    cleaner.wake(1.0, redo, flush_list, 1.0)
    assert cleaner.pct_for_lsn == 47


def test_below_the_low_water_mark_age_asks_for_nothing() -> None:
    """Below innodb_adaptive_flushing_lwm the LSN percentage is 0."""
    cleaner, redo, flush_list = _cleaner(1000, 2000, age_ratio=0.10, pages=1000.0)
    cleaner.wake(1.0, redo, flush_list, 1.0)
    assert cleaner.pct_for_lsn == 0


@given(io_capacity=st.integers(100, 3000), gain=st.integers(1, 6), age_ratio=st.floats(0.2, 1.04))
def test_adaptive_flushing_never_asks_for_more_than_m(io_capacity: int, gain: int, age_ratio: float) -> None:
    """Below the sync point M is the most that one loop asks for."""
    cleaner, redo, flush_list = _cleaner(io_capacity, gain * io_capacity, age_ratio=age_ratio, pages=2e5)
    for second in range(1, 70):
        cleaner.wake(float(second), redo, flush_list, float(second))
        assert cleaner.batch is Batch.ADAPTIVE
        assert cleaner.requested <= cleaner.io_capacity_max
        cleaner.finish(second + 0.5, redo, flush_list)
        redo.lsn += 1.0


def test_sync_rounds_follow_each_other_and_are_at_least_c() -> None:
    """Over the sync point the cleaner flushes C to 2 M pages a round and does not sleep in between."""
    cleaner, redo, flush_list = _cleaner(300, 600, age_ratio=1.10, pages=30_000.0)
    cleaner.wake(1.0, redo, flush_list, 1.0)
    rounds = 0
    now = 1.0
    while cleaner.batch is Batch.SYNC and cleaner.left > 0.0:
        assert 300 <= cleaner.requested <= 1200
        taken = flush_list.take(cleaner.left)
        cleaner.wrote(taken)
        now += 0.01
        cleaner.finish(now, redo, flush_list)
        assert cleaner.wake_at == now
        cleaner.wake(now, redo, flush_list, 1.0)
        rounds += 1
    assert rounds >= 2
    assert redo.lsn - flush_list.oldest(redo.lsn) <= redo.sync_trigger
    assert cleaner.wake_at == 2.0


def test_sync_flushing_starts_at_the_sync_point() -> None:
    """Sync flushing starts at the shared sync point, which has the flush-order lag taken off."""
    redo = Redo(capacity=104_857_600, lsn=1e9, now=0.0)
    point = redo.limits.sync_point
    assert redo.sync_flush_lsn(redo.lsn - point) is None
    assert redo.sync_flush_lsn(redo.lsn - point - 1) is not None


def test_an_idle_server_flushes_c_pages_a_second() -> None:
    """With no commits the cleaner flushes C pages/s, counted as background, until nothing is dirty."""
    parameters = PlantParameters(
        server=ServerParameters(io_capacity=200, io_capacity_max=2000),
        load=LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(20.0, 0)), noise=0.0),
        disk=DiskParameters(timeline=(DiskChange(0.0, 5000.0),)),
    )
    _, samples = watched(parameters, seconds=400, seed=3)
    rates = [b.pages_background - a.pages_background for a, b in itertools.pairwise(samples[25:60])]
    assert all(abs(rate - 200) <= 1 for rate in rates)
    assert samples[-1].pages_dirty == 0
    assert samples[-1].modified_age == 0
    assert samples[-1].checkpoint_age == 0


def test_a_smaller_share_of_c_is_flushed_where_idle() -> None:
    """With innodb_idle_flush_pct = 29 and C = 100 an idle server flushes 28 pages/s, as PCT_IO rounds."""
    parameters = PlantParameters(
        server=ServerParameters(io_capacity=100, io_capacity_max=2000, idle_flush_pct=29),
        load=LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(60.0, 0))),
    )
    _, samples = watched(parameters, 100)
    assert samples[90].pages_background - samples[70].pages_background == pytest.approx(28 * 20, abs=28)


@pytest.mark.parametrize("flavour", ["mysql-9.7", "mysql-8.0.28", "mysql-5.7", "mysql-5.6"])
def test_an_idle_mysql_writes_a_checkpoint_every_second(flavour: FlavourName) -> None:
    """At work checkpoints are seven seconds apart, without commits one, as long as pages are flushed."""
    parameters = PlantParameters(
        server=ServerParameters(
            flavour=flavour, io_capacity=100, io_capacity_max=2000, flush_neighbors=False
        ),
        load=LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(120.0, 0))),
        disk=DiskParameters(timeline=(DiskChange(0.0, 1200.0), DiskChange(120.0, 200.0))),
    )
    _, samples = watched(parameters, 140)
    moments = [
        after.monotonic
        for before, after in itertools.pairwise(samples)
        if after.lsn_checkpoint != before.lsn_checkpoint and after.pages_dirty > 0
    ]
    gaps = [(earlier, later - earlier) for earlier, later in itertools.pairwise(moments)]
    assert {gap for earlier, gap in gaps if earlier < 110.0} == {7.0}
    assert {gap for earlier, gap in gaps if earlier > 123.0} == {1.0}


ON_AGE: dict[FlavourName, float | None] = {
    "mysql-9.7": None,
    "mysql-8.0.28": None,
    "mysql-5.7": None,
    "mysql-5.6": None,
    "percona-8.4": None,
    "percona-5.7": None,
    "mariadb-11.8": 0.001,
    "mariadb-10.5": 0.0,
}
"""The servers whose age M decides, with the innodb_max_dirty_pages_pct_lwm that it takes."""


@pytest.mark.parametrize("io_capacity_max", [2000, 3000])
@pytest.mark.parametrize("flavour", list(ON_AGE))
def test_fixed_point_is_the_inverse_laws(flavour: FlavourName, io_capacity_max: int) -> None:
    """Without write combining each server's age settles where the daemon's inverse of its law says."""
    parameters = PlantParameters(
        server=ServerParameters(
            flavour=flavour,
            io_capacity=io_capacity_max // 10,
            io_capacity_max=io_capacity_max,
            max_dirty_pages_pct_lwm=ON_AGE[flavour],
            buffer_pool_pages=10**7,
        ),
        load=LoadParameters(timeline=(LoadChange(0.0, 16, 1000.0),), hot_pages=1e9, noise=0.0),
        disk=DiskParameters(timeline=(DiskChange(0.0, 50_000.0),)),
    )
    _, samples = watched(parameters, seconds=900, seed=3)
    window = samples[600:]
    settled = sum(sample.age_ratio for sample in window) / len(window)
    law = LAWS[FLAVOURS[flavour].law.name]
    expected = law.steady_ratio(demand=1000.0, io_capacity_max=io_capacity_max)
    assert settled == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("io_capacity_max", [600, 1200, 2400])
def test_fixed_point_holds_with_write_combining(io_capacity_max: int) -> None:
    """On the measured load too, the settled age is the inverse law's for the pages/s really flushed."""
    parameters = PlantParameters(
        server=ServerParameters(io_capacity=io_capacity_max // 2, io_capacity_max=io_capacity_max),
        load=LoadParameters(noise=0.0),
    )
    _, samples = watched(parameters, seconds=1200, seed=3)
    window = samples[800:]
    demand = (window[-1].pages_adaptive - window[0].pages_adaptive) / (len(window) - 1)
    settled = sum(sample.age_ratio for sample in window) / len(window)
    expected = LEGACY.steady_ratio(demand=demand, io_capacity_max=io_capacity_max)
    assert settled == pytest.approx(expected, abs=0.02)
