"""The flush list: of pages one by one, and of pages that are flushed with those beside them."""

from __future__ import annotations

import itertools
import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.plant.flush_list import FlushList
from lab.plant.load import Stream
from lab.plant.neighbours import Areas, Instances, flush_list_for
from lab.scenarios import load_scenario
from tests.lab.plant.pagewise import PageList
from tests.lab.plant.support import plant, readings, watched

MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("update"), st.floats(0.0, 5e4)),
        st.tuples(st.just("take"), st.floats(0.0, 5e4)),
    ),
    max_size=60,
)


@given(moves=MOVES, hot=st.floats(1.0, 1e5))
def test_no_page_is_lost_and_the_oldest_never_goes_back(moves: list[tuple[str, float]], hot: float) -> None:
    """What was dirtied is dirty still or was flushed once; the oldest modification never passes the LSN."""
    flush_list, lsn, oldest = FlushList([Stream(hot, 1.0)], lsn=1000.0), 1000.0, 0.0
    for kind, amount in moves:
        if kind == "update":
            lsn += amount * 500.0
            flush_list.update(commits=amount, lsn=lsn)
        else:
            assert flush_list.take(amount) <= amount + 1e-6
        assert flush_list.dirtied == pytest.approx(flush_list.flushed + flush_list.dirty, rel=1e-9, abs=1e-6)
        assert -1e-6 <= flush_list.dirty <= hot * (1 + 1e-9)
        assert flush_list.count_to(math.inf, math.inf) == pytest.approx(flush_list.dirty, rel=1e-9, abs=1e-6)
        assert oldest <= flush_list.oldest(lsn) <= lsn
        oldest = flush_list.oldest(lsn)


@pytest.mark.parametrize("residence", [5.0, 20.0, 60.0])
def test_demand_falls_with_age_by_write_combining(residence: float) -> None:
    """Held at an age of T seconds, U updates/s over N hot pages cost U / (1 + U * T / N) pages/s."""
    updates, hot, step = 2000.0, 20_000.0, 0.05
    flush_list = FlushList([Stream(hot, 1.0)], lsn=0.0)
    lsn, flushed = 0.0, 0.0
    total, counted = round(20 * residence / step), round(5 * residence / step)
    for number in range(total):
        taken = flush_list.take(flush_list.count_to(lsn - residence * updates * 500.0, math.inf))
        if number >= total - counted:
            flushed += taken
        lsn += updates * step * 500.0
        flush_list.update(commits=updates * step, lsn=lsn, flushing=taken > 0.0)
    rate = flushed / (counted * step)
    assert rate == pytest.approx(updates / (1.0 + updates * residence / hot), rel=0.02)


STREAM = Stream(10_000.0, 1.0)


def grown(commits: float, *, seconds: int = 100, counts_written: bool = True) -> Areas:
    """Return a list after so many commits of 500 bytes without a flush, by default one of MariaDB's."""
    flush_list = Areas(STREAM, lsn=0.0, counts_written_neighbours=counts_written)
    for second in range(seconds):
        flush_list.update(commits=commits / seconds, lsn=500.0 * commits * (second + 1) / seconds)
    return flush_list


def test_pages_are_conserved() -> None:
    """What became dirty is dirty still or was flushed, and never more than there is."""
    flush_list, lsn = Areas(STREAM, lsn=0.0, counts_written_neighbours=True), 0.0
    for second in range(500):
        flushed = flush_list.take(float(second % 7 * 40))
        lsn += 50_000.0
        flush_list.update(commits=100.0, lsn=lsn, flushing=flushed > 0.0)
        assert flush_list.dirtied - flush_list.flushed == pytest.approx(flush_list.dirty, abs=1e-6)
        assert 0.0 <= flush_list.dirty <= STREAM.pages
    assert flush_list.flushed > STREAM.pages


def test_what_a_batch_reaches_is_enough() -> None:
    """After a batch that goes to an LSN nothing older than that is dirty."""
    flush_list, lsn = grown(20_000.0), 10_000_000.0
    for _ in range(400):
        flushed = flush_list.take(150.0)
        lsn += 100_000.0
        flush_list.update(commits=200.0, lsn=lsn, flushing=flushed > 0.0)
    target = lsn - 2_000_000.0
    assert flush_list.oldest(lsn) < target
    flush_list.take(flush_list.reach(target, math.inf))
    assert flush_list.oldest(lsn) >= target - 1.0


@pytest.mark.parametrize("asked", [90, 120, 160])
@pytest.mark.parametrize(("counts_written", "near"), [(True, 0.15), (False, 0.35)], ids=["mariadb", "mysql"])
def test_the_list_is_the_mean_of_one_kept_page_by_page(
    asked: int, *, counts_written: bool, near: float
) -> None:
    """Pages dirty, in the list, near its end, and flushed for one beside them are as page by page."""
    pages, rate, ahead = 100 * 64, 600, 1_800
    areas = Areas(Stream(float(pages), 1.0), lsn=0.0, counts_written_neighbours=counts_written)
    single = PageList(pages, counts_written=counts_written)
    found, wanted = [0.0] * 5, [0.0] * 5
    for second in range(500):
        beside = areas.neighbours, single.beside
        if second > 20:
            areas.take(float(asked))
            single.flush(asked)
        lsn = float(rate * (second + 1))
        areas.update(commits=float(rate), lsn=lsn)
        single.change(rate)
        if second < 200:
            continue
        oldest = areas.oldest(lsn)
        here = (areas.dirty, areas.listed, areas.count_to(oldest + ahead, math.inf), lsn - oldest)
        there = (single.dirty, single.listed, single.ahead(ahead), single.age)
        found = [a + b for a, b in zip(found, (*here, areas.neighbours - beside[0]), strict=True)]
        wanted = [a + b for a, b in zip(wanted, (*there, single.beside - beside[1]), strict=True)]

    assert found[0] == pytest.approx(wanted[0], rel=0.01)
    assert found[1] == pytest.approx(wanted[1], rel=0.02)
    assert found[2] == pytest.approx(wanted[2], rel=near)
    assert found[3] == pytest.approx(wanted[3], rel=0.05)
    assert found[4] == pytest.approx(wanted[4], rel=0.05)


@pytest.mark.parametrize(
    "touched",
    [
        (STREAM, Stream(5.0, 1.0)),
        (Stream(math.inf, 1.0),),
        (Stream(1e9, 1.0),),
    ],
    ids=["uneven", "appended", "sparse"],
)
def test_pages_with_little_in_common_are_flushed_alone(touched: tuple[Stream, ...]) -> None:
    """Neighbours are not flushed where an area's pages are not dirty together."""
    flush_list = flush_list_for(
        touched, neighbours=True, counts_written_neighbours=True, instances=1, until_limit=150_000.0, lsn=0.0
    )
    assert type(flush_list) is FlushList


@pytest.mark.parametrize(
    ("server", "kind"),
    [
        ({"flavour": "mariadb-11.8"}, Areas),
        ({"flavour": "mariadb-10.5"}, Areas),
        ({"flavour": "mysql-5.7"}, Areas),
        ({"flavour": "percona-5.7"}, Areas),
        ({"flavour": "mysql-5.6"}, Instances),
        ({"flavour": "mysql-5.6", "buffer_pool_pages": 65_535}, Areas),
        ({"flavour": "mysql-5.6", "flush_neighbors": False}, FlushList),
        ({"flavour": "mysql-8.0.28"}, FlushList),
        ({"flavour": "mysql-9.7"}, FlushList),
        ({"flavour": "percona-8.4"}, FlushList),
    ],
)
def test_neighbours_are_flushed_where_the_server_does_so(server: dict[str, Any], kind: type) -> None:
    """In MariaDB and before 8.0 by default; 5.6 has eight instances from 1 GiB on."""
    found, _ = watched(plant(**server), 1)
    assert type(found.engine.flush_list) is kind


def test_neighbours_are_counted_as_the_server_counts_them() -> None:
    """Nearly all pages that MariaDB flushes under an even load are neighbours, and none of MySQL's."""
    settings = {"io_capacity": 500, "io_capacity_max": 1_000}
    mariadb = readings(60, flavour="mariadb-11.8", max_dirty_pages_pct_lwm=0.001, **settings)
    mysql = readings(60, **settings)

    assert mariadb[-1].pages_neighbour > 0.9 * mariadb[-1].pages_adaptive > 0.0
    assert mysql[-1].pages_neighbour == 0


def test_a_batch_of_5_6_is_flushed_whole_and_then_hardly() -> None:
    """The real 5.6.24 flushes some 490 pages in one second and about an eighth in another, with M = 624."""
    real = load_scenario("mysql56").plant
    _, samples = watched(
        replace(real, server=replace(real.server, io_capacity=312, io_capacity_max=624)), 600
    )
    tail = [later.pages_adaptive - one.pages_adaptive for one, later in itertools.pairwise(samples[400:])]

    assert statistics.median_high(tail) == pytest.approx(490, abs=15)
    assert sorted(tail)[len(tail) // 10] < 624 / 8 + 10
