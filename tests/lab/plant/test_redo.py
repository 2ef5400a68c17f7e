"""The redo log: writers that find no room in it, and a smaller size while the server runs."""

from __future__ import annotations

import itertools

import pytest

from lab.plant.clock import SimClock
from lab.plant.parameters import DiskParameters, LoadChange, LoadParameters, RedoChange
from lab.plant.server import SimulatedServer
from lab.plant.space import SHORTEST_SECONDS
from tests.lab.plant.support import plant, readings, stopping, watched, with_iops
from tuner.servers.families.redo_capacity import redo_limits

THREADS = 200
STUCK = plant(
    flavour="mysql-8.0.28",
    m=2000,
    disk=with_iops(3000.0, latency=0.001, redo_apart=True),
    load=LoadParameters(timeline=(LoadChange(0.0, THREADS),), distribution="zipf"),
)
"""A load that fills the log faster than its pages can be written, and so is at the stall point for good."""


def test_a_writer_waits_once_for_each_checkpoint_at_most() -> None:
    """At the stall point no counter runs away: each writer waits as often as a checkpoint can be written."""
    _, samples = watched(STUCK, 300)
    for before, after in itertools.pairwise(samples[100:]):
        waits = after.redo_space_waits - before.redo_space_waits
        assert waits % THREADS == 0
        assert waits <= THREADS * (1.0 / SHORTEST_SECONDS + 1.0)
    assert samples[-1].redo_space_waits > samples[100].redo_space_waits


@pytest.mark.parametrize("apart", [False, True])
def test_a_checkpoint_takes_its_time(*, apart: bool) -> None:
    """No two checkpoints are closer to each other than one takes."""
    disk = DiskParameters(redo_apart=apart)
    parameters = plant(io_capacity=100, io_capacity_max=2000, flush_sync=False, disk=disk)
    clock = SimClock()
    server = SimulatedServer(parameters, clock)
    clock.advance_to(300.0)
    moments, last = [], server.read().lsn_checkpoint
    for step in range(1, 3001):
        clock.advance_to(300.0 + step / 100)
        found = server.read().lsn_checkpoint
        if found != last:
            moments.append(step / 100)
        last = found
    shortest = min(later - earlier for earlier, later in itertools.pairwise(moments))
    assert shortest >= SHORTEST_SECONDS - 0.02


LARGE = 209_715_200
SMALL = 67_108_864


def test_a_shrinking_log_has_its_old_size_until_all_old_files_are_free() -> None:
    """Innodb_redo_log_capacity_resized is the old size until the redo of the old files is checkpointed."""
    samples = readings(600, redo_capacity=LARGE, m=600, resizes=(RedoChange(300.0, SMALL),))
    shrinking = [sample for sample in samples if sample.resizing]
    assert {sample.redo_capacity for sample in shrinking} == {LARGE}
    assert {sample.stall_point for sample in shrinking} == {redo_limits(LARGE).stall_point}
    after = samples[samples.index(shrinking[-1]) + 1 :]
    assert {sample.redo_capacity for sample in after} == {SMALL}
    assert after[0].lsn_checkpoint >= shrinking[0].lsn_current - LARGE // 32
    assert after[0].checkpoint_age <= redo_limits(SMALL).soft
    for before, later in itertools.pairwise(shrinking):
        assert later.commits > before.commits


def test_a_log_that_shrinks_below_its_age_fits_in_the_end() -> None:
    """Half the redo that is in use: the age never leaves the log, and ends below the new stall point."""
    samples = readings(600, m=600, resizes=(RedoChange(300.0, 33_554_432),))
    assert samples[-1].redo_capacity == 33_554_432
    assert not samples[-1].resizing
    assert all(sample.checkpoint_age <= sample.redo_capacity for sample in samples)
    assert samples[-1].checkpoint_age <= samples[-1].stall_point


def test_without_flush_sync_a_shrinking_log_is_flushed_at_m() -> None:
    """With innodb_flush_sync off writers wait for M pages a second, and the log still gets there."""
    parameters = plant(
        redo_capacity=LARGE,
        m=600,
        flush_sync=False,
        resizes=(RedoChange(300.0, SMALL),),
    )
    server, samples = watched(parameters, 500)
    assert samples[-1].pages_sync == 0
    assert server.engine.stalled > 1.0
    assert samples[-1].redo_capacity == SMALL


def test_an_idle_server_shrinks_its_log() -> None:
    """A log that nobody writes to is made smaller as well, once its pages are flushed."""
    samples = readings(
        120,
        m=2000,
        load=stopping(60.0),
        resizes=(RedoChange(70.0, 33_554_432),),
    )
    assert samples[71].resizing
    assert samples[-1].redo_capacity == 33_554_432
