"""What a row says of a server is what its readings and its load's seconds say."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from lab.bench.figures import figures, predicted, series
from lab.bench.plan import DiskPlan
from lab.bench.rig import moved, quiet, settled
from lab.workloads.reports import Histogram
from tests.lab.bench.fakes import beat, look
from tuner.core.estimate.recovery import Recovery

SECONDS, READINGS = [beat(at) for at in range(1, 11)], [look(at) for at in range(11)]


def test_operations_are_per_commit_and_the_source_is_named() -> None:
    """250 device writes and 100 pages a second at 1000 commits a second are 0.25 and 0.1 per commit."""
    found = figures(SECONDS, READINGS)

    assert found["device_writes_per_commit"] == 0.25
    assert found["device_reads_per_commit"] == 0.01
    assert found["pages_per_commit"] == 0.1
    assert found["device_source"] == "test"
    assert found["redo_bytes_per_second"] == 1_000_000
    assert found["machine_idle"] == 0.5


def test_bad_seconds_are_counted_not_averaged_away() -> None:
    """Seconds below half the median, sync-flushed pages and seconds with a stalled writer are each there."""
    seconds = [beat(at, commits) for at, commits in enumerate([1000.0] * 8 + [400.0, 300.0], 1)]
    readings = [look(at, pages_sync=max(0, at - 8) * 7, redo_space_waits=max(0, at - 9)) for at in range(11)]
    found = figures(seconds, readings)

    assert found["seconds_below_half_median"] == 2
    assert found["sync_pages"] == 14
    assert found["stall_seconds"] == 1
    assert found["commits_min"] == 300.0


def test_what_was_not_measured_is_unknown_and_never_zero() -> None:
    """Latencies are of every transaction, or of every read; what nobody counted has no figure."""
    found = figures(SECONDS, READINGS, Histogram({0.001: 800, 0.5: 200}), Histogram({0.001: 800}))
    blind = figures(SECONDS, [dataclasses.replace(one, device=None) for one in READINGS])

    assert found["latency_p50"] == found["read_latency_p99"] == pytest.approx(0.001)
    assert found["latency_p99"] == pytest.approx(0.5)
    unknown = ("latency_p99", "read_latency_p99", "device_writes_per_commit", "device_source")
    assert [blind[name] for name in unknown] == [None] * 4


def seen(readings: list[float], load: list[float], **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return the series of readings and seconds of the load at these moments."""
    looks, beats = [look(at, **changes) for at in readings], [beat(at) for at in load]
    return series(beats, looks, began=0.0, counted_from=2.0, capacity=2**27)


def test_a_second_without_a_reading_is_a_gap_in_every_series() -> None:
    """Nothing is drawn where nothing was seen, and no counter jumps over a gap."""
    found = seen([0.3, 1.3, 2.3, 4.3, 5.3], [0.5, 1.5, 3.5, 4.5, 5.5])

    assert found["at"] == [0, 1, 2, 3, 4, 5]
    assert found["commits"] == [1000.0, 1000.0, None, 1000.0, 1000.0, 1000.0]
    assert found["modified_age"][3] is None
    assert found["pages_flushed"] == [None, 100, 100, None, None, 100]
    assert found["device_writes"][2] == 250
    assert found["counted_from"] == 2.0
    assert found["flush_limit"] < found["max_checkpoint_age"] < found["redo_capacity"]


def test_a_reading_some_milliseconds_early_or_late_keeps_its_second() -> None:
    """On the stroke of a second no reading covers another, and no gap is drawn that was not there."""
    moments = [0.999, 2.001, 2.999, 4.0]
    found = seen(moments, moments)

    assert found["commits"] == [1000.0] * 4
    assert None not in found["modified_age"]


def test_a_counter_that_went_back_is_a_gap() -> None:
    """A server that was restarted has no negative pages."""
    readings = [look(0.1, pages_adaptive=100), look(1.1, pages_adaptive=7)]
    found = series([], readings, began=0.0, counted_from=0.0, capacity=2**27)

    assert found["pages_flushed"] == [None, None]


@pytest.mark.parametrize(("drift", "rest"), [(0.0, True), (0.0002, True), (0.002, False)])
def test_an_age_that_drifts_is_not_at_rest(drift: float, rest: object) -> None:
    """Two thousandths a second are a climb; two ten-thousandths are rest."""
    assert settled([look(at, age_ratio=0.5 + drift * at) for at in range(45)]) is rest


def test_a_policy_that_still_changes_m_is_not_at_rest() -> None:
    """M that went from 20000 to 500 within the window moves; one percent is holding."""
    high, near, low = (look(0.0, io_capacity_max=m) for m in (20_000, 505, 500))

    assert (quiet([high, low]), quiet([near, low])) == (False, True)
    assert (moved([low, low]), moved([near, low])) == (False, True)


def test_the_daemon_would_predict_the_same() -> None:
    """Its model comes to the same seconds at the row's worst moment."""
    worst, better = look(2.0, pages_dirty=90_000), look(1.0, age_ratio=0.1, pages_dirty=10)
    daemon = Recovery()
    expected = [daemon.recovery_seconds(worst.sample), daemon.shutdown_seconds(worst.sample)]

    found = predicted([better, worst, better], DiskPlan(), flushed=300.0)
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
