"""Recovery and shutdown of a row are predicted as the daemon predicts them."""

from __future__ import annotations

import pytest

from lab.bench.budgets import predicted
from lab.bench.plan import DiskPlan
from tests.factory import sample as sample_of
from tests.lab.bench.test_figures import look
from tuner.core.estimate.recovery import Recovery

NAMES = ("recovery_seconds_predicted", "shutdown_seconds_predicted")


def test_the_daemon_would_predict_the_same() -> None:
    """Its model comes to the same seconds from the same ages and dirty pages, at the row's worst moment."""
    sample = sample_of(pages_dirty=90_000)
    worst = look(
        2.0,
        modified_age=sample.modified_age,
        checkpoint_age=sample.checkpoint_age,
        pages_dirty=sample.pages_dirty,
    )
    better = look(1.0, modified_age=1, checkpoint_age=1, pages_dirty=10)
    found = predicted([better, worst, better], DiskPlan(), flushed=300.0)
    daemon = Recovery()
    expected = (daemon.recovery_seconds(sample), daemon.shutdown_seconds(sample))
    assert [found[name] for name in NAMES] == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("disk", "flushed", "seconds"),
    [
        (DiskPlan(write_iops=600), 0.0, 200.0),
        (DiskPlan(write_iops=2400, alternate_iops=800), 0.0, 150.0),
        (DiskPlan(write_iops=2400, write_mib=10), 0.0, 187.5),
        (DiskPlan(write_iops=600), 1000.0, 60.0),
        (DiskPlan(), 0.0, 120.0),
    ],
)
def test_a_shutdown_is_as_slow_as_the_disk(disk: DiskPlan, flushed: float, seconds: float) -> None:
    """A limited disk writes each page twice, at its slowest; what was flushed meanwhile it can do again."""
    found = predicted([look(1.0, pages_dirty=60_000)], disk, flushed)
    assert found["shutdown_seconds_predicted"] == seconds


def test_what_is_not_known_is_not_made_up() -> None:
    """A server that does not count its dirty pages has no prediction."""
    assert predicted([look(1.0)], DiskPlan(), 300.0) == dict.fromkeys(NAMES)
