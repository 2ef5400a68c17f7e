"""Flush lists of several buffer-pool instances, whose pages are flushed with those beside them."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
from msgspec.structs import replace

from lab.plant.load import Stream
from lab.plant.neighbours import Areas, Instances
from lab.scenarios import load_scenario
from tests.lab.plant.support import plant, watched

STREAM = Stream(23_040.0, 1.0)
RATE = 1_900.0
REDO = 486.0


def at_work(*, seconds: int = 60) -> tuple[Instances, float]:
    """Return the lists of a server long at work with so many seconds of redo, and its LSN."""
    flush_list, lsn = Instances(STREAM, lsn=0.0, instances=8), seconds * RATE * REDO
    flush_list.spread(seconds * RATE, lsn)
    return flush_list, lsn


def test_pages_are_conserved() -> None:
    """What became dirty is dirty still or was flushed, and never more than there is."""
    flush_list, lsn = at_work()
    for second in range(600):
        flush_list.take(
            flush_list.share_out(float(second % 9 * 70), flush_list.oldest(lsn) + RATE * REDO * (second % 4))
        )
        lsn += RATE * REDO
        flush_list.update(commits=RATE, lsn=lsn, flushing=True)
        assert flush_list.dirtied - flush_list.flushed == pytest.approx(flush_list.dirty, abs=1e-6)
        assert flush_list.reach(math.inf, math.inf) == pytest.approx(flush_list.dirty, rel=1e-9)
        assert 0.0 <= flush_list.dirty <= STREAM.pages
    assert flush_list.flushed > STREAM.pages


def test_no_instance_gives_more_than_its_share() -> None:
    """A batch of 800 pages takes 100 of each instance, however many more are old enough."""
    flush_list, lsn = at_work()
    assert flush_list.share_out(800.0, lsn) == pytest.approx(800.0)
    assert flush_list.reach(lsn, math.inf) > 10_000.0


def test_few_areas_are_as_old_as_a_second_of_redo() -> None:
    """Of what a second's redo needs a batch gets a part, as some instances have none and others twice."""
    got, needed = [], []
    flush_list, lsn = at_work()
    for _ in range(400):
        limit = flush_list.oldest(lsn) + RATE * REDO
        needed.append(flush_list.reach(limit, math.inf))
        got.append(flush_list.share_out(380.0, limit))
        flush_list.take(380.0)
        lsn += RATE * REDO
        flush_list.update(commits=RATE, lsn=lsn, flushing=True)
    assert statistics.mean(got) < 0.9 * statistics.mean(needed)


def test_the_oldest_modification_is_that_of_the_instance_that_lags_behind() -> None:
    """It moves on with the oldest area of all, and only when that is flushed as a whole."""
    flush_list, lsn = at_work()
    before = flush_list.oldest(lsn)
    flush_list.take(30.0)
    assert flush_list.oldest(lsn) == before
    flush_list.take(34.0)
    assert flush_list.oldest(lsn) > before


def test_all_can_be_flushed() -> None:
    """A list that is flushed to its end has no oldest modification but the current LSN."""
    flush_list, lsn = at_work()
    flush_list.take(flush_list.dirty)
    assert flush_list.dirty == pytest.approx(0.0, abs=1e-6)
    assert flush_list.oldest(lsn) == lsn
    assert flush_list.neighbours == pytest.approx(flush_list.flushed, rel=0.05)


@pytest.mark.parametrize(
    ("pages", "kind"), [(131_072, Instances), (65_535, Areas)], ids=["2GiB", "below1GiB"]
)
def test_mysql_5_6_has_eight_instances_from_1_gib_on(pages: int, kind: type) -> None:
    """As ``innodb_buffer_pool_instances`` has it there by default."""
    server, _ = watched(plant(flavour="mysql-5.6", buffer_pool_pages=pages), 1)
    assert type(server.engine.flush_list) is kind


def test_a_batch_of_5_6_is_flushed_whole_and_then_hardly() -> None:
    """The real 5.6.24 flushes some 490 pages in one second and about an eighth in another, with M = 624."""
    real = load_scenario("mysql56").plant
    _, samples = watched(
        replace(real, server=replace(real.server, io_capacity=312, io_capacity_max=624)), 600
    )
    tail = [later.pages_adaptive - one.pages_adaptive for one, later in itertools.pairwise(samples[400:])]

    assert statistics.median_high(tail) == pytest.approx(490, abs=15)
    assert sorted(tail)[len(tail) // 10] < 624 / 8 + 10
