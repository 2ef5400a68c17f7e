"""A redo log of MySQL that is given a smaller size while the server runs."""

from __future__ import annotations

import itertools

import pytest

from lab.plant.parameters import LoadChange, LoadParameters, RedoChange
from lab.plant.redo import Shrink
from tests.lab.plant.support import plant, watched
from tuner.servers.families.redo_capacity import redo_limits

LARGE = 209_715_200
SMALL = 67_108_864


@pytest.mark.parametrize("io_capacity_max", [400, 600, 2000])
def test_a_shrinking_log_is_sync_flushed_from_the_first_seconds_on(io_capacity_max: int) -> None:
    """From 200 to 64 MiB sync flushing begins at once, whether the age is high or low, and lowers it."""
    parameters = plant(
        redo_capacity=LARGE,
        io_capacity=io_capacity_max // 2,
        io_capacity_max=io_capacity_max,
        resizes=(RedoChange(400.0, SMALL),),
    )
    _, samples = watched(parameters, 415)
    assert samples[399].pages_sync == 0
    assert samples[404].resizing
    assert samples[404].pages_sync > 500
    assert samples[414].modified_age < 0.9 * samples[399].modified_age


def test_a_shrinking_log_has_its_old_size_until_all_old_files_are_free() -> None:
    """Innodb_redo_log_capacity_resized is the old size until the redo of the old files is checkpointed."""
    parameters = plant(
        redo_capacity=LARGE, io_capacity=300, io_capacity_max=600, resizes=(RedoChange(300.0, SMALL),)
    )
    _, samples = watched(parameters, 600)
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
    parameters = plant(io_capacity=300, io_capacity_max=600, resizes=(RedoChange(300.0, 33_554_432),))
    _, samples = watched(parameters, 600)
    assert samples[-1].redo_capacity == 33_554_432
    assert not samples[-1].resizing
    assert all(sample.checkpoint_age <= sample.redo_capacity for sample in samples)
    assert samples[-1].checkpoint_age <= samples[-1].stall_point


def test_without_flush_sync_a_shrinking_log_is_flushed_at_m() -> None:
    """With innodb_flush_sync off writers wait for M pages a second, and the log still gets there."""
    parameters = plant(
        redo_capacity=LARGE,
        io_capacity=300,
        io_capacity_max=600,
        flush_sync=False,
        resizes=(RedoChange(300.0, SMALL),),
    )
    server, samples = watched(parameters, 500)
    assert samples[-1].pages_sync == 0
    assert server.engine.stalled > 1.0
    assert samples[-1].redo_capacity == SMALL


def test_an_idle_server_shrinks_its_log() -> None:
    """A log that nobody writes to is made smaller as well, once its pages are flushed."""
    parameters = plant(
        io_capacity=1000,
        io_capacity_max=2000,
        load=LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(60.0, 0))),
        resizes=(RedoChange(70.0, 33_554_432),),
    )
    _, samples = watched(parameters, 120)
    assert samples[71].resizing
    assert samples[-1].redo_capacity == 33_554_432


def test_a_server_that_writes_next_to_nothing_shrinks_its_log() -> None:
    """With a commit a second the last old file never fills, and is cut off instead, within a minute."""
    parameters = plant(
        io_capacity=1000,
        io_capacity_max=2000,
        load=LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(60.0, 1, rate=1.0))),
        resizes=(RedoChange(70.0, 33_554_432),),
    )
    _, samples = watched(parameters, 130)
    assert samples[71].resizing
    assert samples[-1].redo_capacity == 33_554_432


def test_a_size_taken_back_is_in_force_at_once() -> None:
    """A log that shrinks and is given its old size again has its old limits again."""
    parameters = plant(
        redo_capacity=LARGE,
        io_capacity=300,
        io_capacity_max=600,
        resizes=(RedoChange(300.0, SMALL), RedoChange(304.0, LARGE)),
    )
    server, samples = watched(parameters, 306)
    assert [sample.resizing for sample in samples[301:306]] == [True, True, True, True, False]
    assert server.engine.redo.flush_limit == redo_limits(LARGE).flush_limit


@pytest.mark.parametrize("age", [60e6, 100e6, 150e6])
def test_the_sync_point_of_a_shrinking_log_is_a_margin_below_the_checkpoint_age(age: float) -> None:
    """The raw limit is the checkpoint age, and the margin comes off; a higher age moves it no more."""
    shrink = Shrink(capacity=LARGE, wanted=SMALL, lsn=1e9, checkpoint=1e9 - age)
    limits = shrink.limits
    assert limits.raw_sync == pytest.approx(age, abs=2048)
    assert limits.sync_point < 0.96 * age
    shrink.checkpoint_written(1e9, 1e9 + 1.1 * age)
    assert shrink.limits == limits
    shrink.checkpoint_written(1e9, 1e9)
    assert shrink.limits == redo_limits(SMALL)
