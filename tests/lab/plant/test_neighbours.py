"""A flush list whose pages are flushed with those beside them."""

from __future__ import annotations

import math

import pytest

from lab.plant.flavour import FlavourName
from lab.plant.flush_list import FlushList
from lab.plant.load import Stream
from lab.plant.neighbours import Areas, flush_list_for
from tests.lab.plant.pagewise import PageList
from tests.lab.plant.support import plant, watched

STREAM = Stream(10_000.0, 1.0)


def grown(commits: float, *, seconds: int = 100, counts_written: bool = True) -> Areas:
    """Return a list after so many commits of 500 bytes without a flush, by default one of MariaDB's."""
    flush_list = Areas(STREAM, lsn=0.0, counts_written_neighbours=counts_written)
    for second in range(seconds):
        flush_list.update(commits=commits / seconds, lsn=500.0 * commits * (second + 1) / seconds)
    return flush_list


def test_changes_of_dirty_pages_are_combined() -> None:
    """Touched as often as there are pages, all but 1/e of them are dirty."""
    flush_list = grown(10_000.0)
    assert flush_list.dirty == pytest.approx(10_000.0 * (1.0 - 1.0 / math.e))


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


def test_the_age_falls_only_when_all_areas_of_one_moment_are_flushed() -> None:
    """Areas that became dirty together hold the oldest modification back to the last of them."""
    flush_list = grown(30_000.0)
    lsn = 15_000_000.0
    before = flush_list.oldest(lsn)
    assert flush_list.take(0.9 * flush_list.dirty) > 8_000.0
    assert flush_list.oldest(lsn) == before
    flush_list.take(flush_list.dirty)
    assert flush_list.dirty == pytest.approx(0.0, abs=1e-6)
    assert flush_list.oldest(lsn) == lsn


def test_all_but_a_crumb_of_a_page_is_all() -> None:
    """What rounding leaves of a flushed list is not the oldest modification of what is changed later."""
    flush_list = grown(30_000.0)
    flushed_at = 15_000_000.0
    flush_list.take(flush_list.dirty - 1e-10)
    flush_list.update(commits=10.0, lsn=flushed_at + 5_000.0)
    assert flush_list.oldest(flushed_at + 5_000.0) >= flushed_at


def test_a_batch_that_goes_to_an_lsn_takes_neighbours_that_are_younger() -> None:
    """More pages are written to bring the oldest modification to an LSN than have theirs before it."""
    flush_list = grown(30_000.0)
    assert flush_list.count_to(500_000.0, math.inf) == pytest.approx(10_000.0 * -math.expm1(-0.1), rel=0.01)
    assert flush_list.reach(500_000.0, math.inf) == pytest.approx(flush_list.dirty)
    assert flush_list.reach(500_000.0, 100.0) == 100.0


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


def test_a_list_that_is_flushed_to_its_end_is_empty() -> None:
    """Where nothing is dirty no written page has kept its place."""
    flush_list = grown(30_000.0)
    flush_list.take(0.5 * flush_list.dirty)
    assert flush_list.listed > 1.9 * flush_list.dirty
    flush_list.take(flush_list.dirty)

    assert flush_list.listed == pytest.approx(0.0, abs=1e-6)


def test_a_server_long_at_work_has_areas_of_every_age() -> None:
    """Its oldest page moves on with every area that is flushed, and few pages are clean."""
    commits, lsn = 30_000.0, 15_000_000.0
    flush_list = Areas(STREAM, lsn=0.0, counts_written_neighbours=False)
    flush_list.spread(commits, lsn)
    assert flush_list.oldest(lsn) < 0.01 * lsn
    assert flush_list.dirty == pytest.approx(10_000.0 * (1.0 - (1.0 - math.exp(-3.0)) / 3.0), rel=0.01)

    flush_list.take(0.5 * flush_list.dirty)
    assert flush_list.oldest(lsn) == pytest.approx(0.36 * lsn, rel=0.1)


def test_pages_that_waited_very_long_can_be_flushed() -> None:
    """An age of thousands of changes of each page is no number too large."""
    flush_list = grown(1e8)
    flush_list.take(5_000.0)
    flush_list.update(commits=1_000.0, lsn=6e10)
    flush_list.take(5_000.0)

    assert 0.0 <= flush_list.listed - flush_list.dirty <= STREAM.pages


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


@pytest.mark.parametrize("flavour", ["mariadb-11.8", "mariadb-10.5", "mysql-5.7", "percona-5.7"])
def test_neighbours_are_flushed_where_that_is_the_default(flavour: FlavourName) -> None:
    """The load of the measured machine has areas in MariaDB and in MySQL before 8.0."""
    server, _ = watched(plant(flavour=flavour), 1)
    assert isinstance(server.engine.flush_list, Areas)


@pytest.mark.parametrize("flavour", ["mysql-8.0.28", "mysql-9.7", "percona-8.4"])
def test_pages_are_flushed_alone_from_8_0_on(flavour: FlavourName) -> None:
    """``innodb_flush_neighbors`` is 0 by default there: each page is flushed in its own turn."""
    server, _ = watched(plant(flavour=flavour), 1)
    assert type(server.engine.flush_list) is FlushList


def test_innodb_flush_neighbors_can_be_off() -> None:
    """A MySQL 5.6 on flash is simulated with the setting that its administrator gave it."""
    server, _ = watched(plant(flavour="mysql-5.6", flush_neighbors=False), 1)
    assert type(server.engine.flush_list) is FlushList


def test_a_written_page_leaves_the_list_of_mysql() -> None:
    """What MySQL counts as dirty is dirty, also right after half of it was written."""
    flush_list = grown(30_000.0, counts_written=False)
    flush_list.take(0.5 * flush_list.dirty)
    assert flush_list.listed == flush_list.dirty
    assert flush_list.count_to(math.inf, math.inf) == pytest.approx(flush_list.dirty)


def test_neighbours_are_counted_as_the_server_counts_them() -> None:
    """Nearly all pages that MariaDB flushes under an even load are neighbours, and none of MySQL's."""
    settings = {"io_capacity": 500, "io_capacity_max": 1_000}
    _, mariadb = watched(plant(flavour="mariadb-11.8", max_dirty_pages_pct_lwm=0.001, **settings), 60)
    _, mysql = watched(plant(**settings), 60)

    assert mariadb[-1].pages_neighbour > 0.9 * mariadb[-1].pages_adaptive > 0.0
    assert mysql[-1].pages_neighbour == 0
