"""What a row says of a server is what its readings and its load's seconds say."""

from __future__ import annotations

import dataclasses

import pytest

from lab.bench.figures import figures, predicted, series
from lab.bench.plan import DiskPlan
from lab.bench.rig import moved, quiet, settled
from lab.workloads.reports import Histogram
from tests.lab.bench.factory import beat, look
from tuner.core.estimate.recovery import Recovery


def test_operations_are_per_commit_and_the_source_is_named() -> None:
    """250 device writes and 100 pages a second at 1000 commits a second are 0.25 and 0.1 per commit."""
    found = figures([beat(at) for at in range(1, 11)], [look(at) for at in range(11)])
    assert found["device_writes_per_commit"] == 0.25
    assert found["device_reads_per_commit"] == 0.01
    assert found["pages_per_commit"] == 0.1
    assert found["device_source"] == "test"
    assert found["redo_bytes_per_second"] == 1_000_000
    assert found["machine_idle"] == 0.5


def test_bad_seconds_are_counted_not_averaged_away() -> None:
    """Seconds below half the median, sync-flushed pages and seconds with a stalled writer are each there."""
    commits = [1000.0] * 8 + [400.0, 300.0]
    seconds = [beat(at, value) for at, value in enumerate(commits, 1)]
    readings = [look(at, pages_sync=max(0, at - 8) * 7, redo_space_waits=max(0, at - 9)) for at in range(11)]
    found = figures(seconds, readings)
    assert found["seconds_below_half_median"] == 2
    assert found["sync_pages"] == 14
    assert found["stall_seconds"] == 1
    assert found["commits_min"] == 300.0


def test_latencies_are_those_of_every_transaction_or_none() -> None:
    """The percentiles come from the whole histogram; without one they are unknown, not zero."""
    seconds, readings = [beat(at) for at in range(1, 4)], [look(at) for at in range(4)]
    found = figures(seconds, readings, Histogram({0.001: 990, 0.5: 10}))
    assert found["latency_p50"] == pytest.approx(0.001)
    assert found["latency_p999"] == pytest.approx(0.5)
    assert figures(seconds, readings)["latency_p99"] is None


def test_the_tail_of_the_reads_is_theirs_alone() -> None:
    """Slow writes do not show in the latency of the reads; a load that has no reads apart has none."""
    seconds, readings = [beat(at) for at in range(1, 4)], [look(at) for at in range(4)]
    found = figures(seconds, readings, Histogram({0.001: 80, 0.5: 20}), Histogram({0.001: 80}))
    assert found["read_latency_p99"] == pytest.approx(0.001)
    assert found["latency_p99"] == pytest.approx(0.5)
    assert figures(seconds, readings)["read_latency_p99"] is None


def test_a_device_that_cannot_be_watched_has_no_figures() -> None:
    """Unknown is null, never zero writes."""
    found = figures([beat(1.0)], [dataclasses.replace(look(at), device=None) for at in range(3)])
    assert found["device_writes_per_commit"] is None
    assert found["device_source"] is None


def test_a_second_without_a_reading_is_a_gap_in_every_series() -> None:
    """Nothing is drawn where nothing was seen, and no counter jumps over a gap."""
    readings = [look(at + 0.3) for at in (0, 1, 2, 4, 5)]
    seconds = [beat(at + 0.5) for at in (0, 1, 3, 4, 5)]
    found = series(seconds, readings, began=0.0, counted_from=2.0, capacity=2**27)
    assert found["at"] == [0, 1, 2, 3, 4, 5]
    assert found["commits"] == [1000.0, 1000.0, None, 1000.0, 1000.0, 1000.0]
    assert found["modified_age"][3] is None
    assert found["pages_flushed"] == [None, 100, 100, None, None, 100]
    assert found["device_writes"][2] == 250
    assert found["counted_from"] == 2.0
    assert found["flush_limit"] < found["max_checkpoint_age"] < found["redo_capacity"]


def test_a_reading_some_milliseconds_early_or_late_keeps_its_second() -> None:
    """On the stroke of a second no reading covers another, and no gap is drawn that was not there."""
    readings = [look(at) for at in (0.999, 2.001, 2.999, 4.0)]
    found = series(
        [beat(at) for at in (0.999, 2.001, 2.999, 4.0)], readings, began=0.0, counted_from=0.0, capacity=2**27
    )
    assert found["commits"] == [1000.0] * 4
    assert None not in found["modified_age"]


def test_a_counter_that_went_back_is_a_gap() -> None:
    """A server that was restarted has no negative pages."""
    readings = [look(0.1, pages_adaptive=100), look(1.1, pages_adaptive=7)]
    assert series([], readings, began=0.0, counted_from=0.0, capacity=2**27)["pages_flushed"] == [None, None]


@pytest.mark.parametrize(("drift", "rest"), [(0.0, True), (0.0002, True), (0.002, False)])
def test_an_age_that_drifts_is_not_at_rest(drift: float, rest: object) -> None:
    """Two thousandths a second are a climb; two ten-thousandths are rest."""
    assert settled([look(at, age_ratio=0.5 + drift * at) for at in range(45)]) is rest


def test_a_policy_that_still_walks_is_not_at_rest() -> None:
    """M that went from 20000 to 500 within the window moves; one percent is holding."""
    assert not quiet([look(0.0, io_capacity_max=20_000), look(1.0, io_capacity_max=500)])
    assert quiet([look(0.0, io_capacity_max=505), look(1.0, io_capacity_max=500)])
    assert not moved([look(0.0), look(1.0)])
    assert moved([look(0.0), look(1.0, io_capacity_max=500)])


def test_the_daemon_would_predict_the_same() -> None:
    """Its model comes to the same seconds at the row's worst moment."""
    worst, better = look(2.0, pages_dirty=90_000), look(1.0, age_ratio=0.1, pages_dirty=10)
    found = predicted([better, worst, better], DiskPlan(), flushed=300.0)
    daemon = Recovery()
    expected = [daemon.recovery_seconds(worst.sample), daemon.shutdown_seconds(worst.sample)]
    assert list(found.values()) == pytest.approx(expected, abs=0.1)


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
