"""What MySQL 5.6 and 5.7 do on their own: writers that wait for flushing, and 5.6's loop."""

from __future__ import annotations

import itertools

import pytest

from lab.plant.cleaner import Averages, Batch
from lab.plant.flavour import FlavourName
from lab.plant.flush_list import FlushList
from lab.plant.load import Stream
from lab.plant.mysql5 import MySQL56Cleaner, MySQL57Cleaner
from lab.plant.parameters import DiskChange, DiskParameters, LoadChange, LoadParameters, ServerParameters
from lab.plant.redo import Redo
from tests.lab.plant.support import mean_ratio, plant, rate, watched

MEBIBYTE = 1024 * 1024


def empty(server: ServerParameters) -> tuple[Redo, FlushList]:
    """Return an empty log and flush list."""
    redo = Redo(capacity=server.redo_capacity, lsn=1e9, now=0.0, flavour=server.kind)
    return redo, FlushList([Stream(1e9, 1.0)], lsn=1e9)


def fill(redo: Redo, flush_list: FlushList, size: float) -> None:
    """Write redo, bytes, with a page every 1000."""
    redo.lsn += size
    flush_list.update(commits=size / 1000.0, lsn=redo.lsn)


def forced(*, flush_sync: bool = True) -> tuple[MySQL57Cleaner, Redo, FlushList]:
    """Return 5.7's page cleaner half a MiB beyond the sync point, at 100 kB/s of redo."""
    server = ServerParameters(
        flavour="mysql-5.7", io_capacity=200, io_capacity_max=400, flush_sync=flush_sync
    )
    redo, flush_list = empty(server)
    cleaner = MySQL57Cleaner(server, redo, now=0.0)
    fill(redo, flush_list, redo.sync_trigger + MEBIBYTE / 2)
    cleaner.averages.lsn_rate = 100_000
    return cleaner, redo, flush_list


def write(cleaner: MySQL57Cleaner, flush_list: FlushList) -> float:
    """Write what the running batch has left, and return how many pages."""
    pages = flush_list.take(cleaner.left)
    cleaner.wrote(pages)
    return pages


def test_5_7_lets_writers_go_on_when_the_age_is_back_and_flushes_on_beside_them() -> None:
    """Writers wait for the pages that are too old, not for the three seconds' redo more of the batch."""
    cleaner, redo, flush_list = forced()
    cleaner.hold_writers(redo, flush_list)
    assert cleaner.holds_writers
    assert write(cleaner, flush_list) == pytest.approx(MEBIBYTE / 2 / 1000.0, abs=2.0)
    cleaner.finish(0.1, redo, flush_list)
    assert not cleaner.holds_writers
    assert redo.lsn - flush_list.oldest(redo.lsn) <= redo.sync_trigger
    assert cleaner.batch is Batch.SYNC
    assert write(cleaner, flush_list) == pytest.approx(300.0, abs=2.0)
    cleaner.finish(0.2, redo, flush_list)
    assert cleaner.left == 0.0
    assert cleaner.wake_at == 1.0


def test_5_7_without_flush_sync_lets_writers_wait_for_the_next_loop() -> None:
    """With innodb_flush_sync off nothing is flushed for those who wait until the page cleaner's next loop."""
    cleaner, redo, flush_list = forced(flush_sync=False)
    cleaner.hold_writers(redo, flush_list)
    assert cleaner.holds_writers
    assert cleaner.left == 0.0
    cleaner.wake(1.0, redo, flush_list, 1.0)
    assert cleaner.batch is Batch.ADAPTIVE
    assert 100.0 < cleaner.left <= 401.0
    assert cleaner.totals[Batch.SYNC] == 0.0


@pytest.mark.parametrize(("taken", "next_batch"), [(0.5, Batch.SYNC), (1.5, Batch.ADAPTIVE)])
def test_5_7_forces_no_batch_while_another_runs(taken: float, next_batch: Batch) -> None:
    """A batch on request follows the running one, and where that took over a second another loop as well."""
    cleaner, redo, flush_list = forced()
    cleaner.wake(1.0, redo, flush_list, 1.0)
    running = cleaner.left
    assert running > 0.0
    cleaner.hold_writers(redo, flush_list)
    assert cleaner.batch is Batch.ADAPTIVE
    assert cleaner.left <= running
    write(cleaner, flush_list)
    cleaner.finish(1.0 + taken, redo, flush_list)
    if cleaner.wake_at <= 1.0 + taken:
        cleaner.wake(1.0 + taken, redo, flush_list, 2.0)
    assert cleaner.batch is next_batch
    assert cleaner.left > 0.0


def test_5_7_with_m_far_too_low_commits_in_every_second() -> None:
    """With M at half the demand 5.7 sync-flushes in waves; writers wait for moments, not for the batch."""
    alone = plant(flavour="mysql-5.7", io_capacity=100, io_capacity_max=200, flush_neighbors=False)
    server, samples = watched(alone, 600)
    window = samples[300:]
    assert 0.0 < server.engine.stalled < 0.02 * 600
    assert rate(window, "pages_sync") > 100.0
    assert min(later.commits - earlier.commits for earlier, later in itertools.pairwise(window)) > 0
    assert mean_ratio(window) == pytest.approx(1.04, abs=0.03)


@pytest.mark.parametrize("flavour", ["mysql-5.7", "percona-5.7"])
def test_5_7_without_flush_sync_flushes_m_pages_a_second_while_writers_wait(flavour: FlavourName) -> None:
    """With innodb_flush_sync off M is a limit: no sync flushing, the age at the sync point, few commits."""
    own = {"flavour": flavour, "io_capacity": 100, "io_capacity_max": 200, "flush_neighbors": False}
    free, _ = watched(plant(**own), 400)
    server, samples = watched(plant(**own, flush_sync=False), 400)
    window = samples[200:]
    assert samples[-1].pages_sync == 0
    assert rate(window, "pages_adaptive") == pytest.approx(200.0, abs=2.0)
    assert mean_ratio(window) == pytest.approx(15 / 14, abs=0.01)
    assert server.engine.stalled > 100.0
    assert free.engine.stalled < 10.0
    assert server.engine.commits < 0.7 * free.engine.commits


def test_5_6_lets_one_writer_flush_twice_what_is_too_much() -> None:
    """In 5.6 the writers wait until twice the bytes that are too many are flushed."""
    server = ServerParameters(flavour="mysql-5.6")
    redo, flush_list = empty(server)
    cleaner = MySQL56Cleaner(server, redo, now=0.0)
    fill(redo, flush_list, redo.sync_trigger + MEBIBYTE / 2)
    cleaner.hold_writers(redo, flush_list)
    pages = flush_list.take(cleaner.left)
    cleaner.wrote(pages)
    assert pages == pytest.approx(MEBIBYTE / 1000.0, abs=2.0)
    assert cleaner.holds_writers
    cleaner.finish(0.5, redo, flush_list)
    assert not cleaner.holds_writers


def test_5_6_takes_its_rates_for_a_loop_and_not_for_a_second() -> None:
    """Thirty loops of two seconds with 100 pages and 5000 bytes each give 5.6 twice the rates of 5.7."""
    by_loop = Averages(30, now=0.0, lsn=0.0, clock=False)
    by_second = Averages(30, now=0.0, lsn=0.0)
    for loop in range(1, 31):
        by_loop.loop(2.0 * loop, 5000.0 * loop, 100)
        if loop <= 15:
            by_second.loop(2.0 * loop, 5000.0 * loop, 100)
    assert (by_loop.page_rate, by_loop.lsn_rate) == (50, 2500)
    assert (by_second.page_rate, by_second.lsn_rate) == (25, 1250)


def test_5_6_hurries_only_after_a_second_with_much_redo() -> None:
    """A batch of 5.6 reaches beyond a second of redo only where the last loop wrote half the mean rate."""
    server = ServerParameters(flavour="mysql-5.6", io_capacity=200, io_capacity_max=2000)
    redo, flush_list = empty(server)
    cleaner = MySQL56Cleaner(server, redo, now=0.0)
    fill(redo, flush_list, redo.sync_trigger - 8e6)
    cleaner.averages.lsn_rate = 10_000
    found = []
    for loop, written in enumerate((6_000.0, 6_000.0, 4_000.0), start=1):
        fill(redo, flush_list, written)
        cleaner.wake(float(loop), redo, flush_list, float(loop))
        found.append(cleaner.left)
        cleaner.wrote(flush_list.take(cleaner.left))
        cleaner.finish(loop + 0.1, redo, flush_list)
    first, hurried, last = found
    assert first == pytest.approx(10.0, abs=1.0)
    assert hurried > 100.0
    assert last == pytest.approx(10.0, abs=1.0)


@pytest.mark.parametrize(("dirty", "percent"), [(108.0, 0), (109.5, 0), (110.5, 14)])
def test_5_6_counts_dirty_pages_in_whole_percent(dirty: float, percent: int) -> None:
    """With a low-water mark of 10 % the dirty pages of 5.6 ask for something from 11 % on: 11 * 100 / 76."""
    server = ServerParameters(
        flavour="mysql-5.6", buffer_pool_pages=1000, max_dirty_pages_pct_lwm=10.0, io_capacity=1000
    )
    redo, flush_list = empty(server)
    cleaner = MySQL56Cleaner(server, redo, now=0.0)
    fill(redo, flush_list, 1000.0 * dirty)
    cleaner.wake(1.0, redo, flush_list, 1.0)
    assert cleaner.requested == 1000 * percent // 100 // 2


def test_an_idle_5_6_flushes_c_pages_again_and_again() -> None:
    """Without commits 5.6 makes no pause between batches of C pages, where 5.7 flushes C pages a second."""
    rates = {}
    for flavour in ("mysql-5.6", "mysql-5.7"):
        parameters = plant(
            flavour=flavour,
            io_capacity=100,
            io_capacity_max=2000,
            load=LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(60.0, 0)), noise=0.0),
            disk=DiskParameters(timeline=(DiskChange(0.0, 2000.0),)),
        )
        _, samples = watched(parameters, 80)
        rates[flavour] = rate(samples[62:65], "pages_background")
    assert rates["mysql-5.6"] > 1000.0
    assert rates["mysql-5.7"] == pytest.approx(100.0, abs=1.0)


@pytest.mark.parametrize(("hot_pages", "io_capacity"), [(300.0, 100), (5000.0, 1000), (5000.0, 5000)])
def test_an_idle_5_6_rests_when_nothing_is_left_to_flush(hot_pages: float, io_capacity: int) -> None:
    """A 5.6 whose clients are gone flushes what is dirty, then looks once a second until they are back."""
    parameters = plant(
        flavour="mysql-5.6",
        io_capacity=io_capacity,
        io_capacity_max=2 * io_capacity,
        load=LoadParameters(
            timeline=(LoadChange(0.0, 16), LoadChange(100.0, 0), LoadChange(400.0, 16)), hot_pages=hot_pages
        ),
    )
    _, samples = watched(parameters, 450)
    assert samples[390].pages_dirty <= 0.001 * hot_pages
    assert samples[390].modified_age == 0
    assert samples[390].pages_background == samples[300].pages_background
    assert rate(samples[420:], "commits") > 1000.0
