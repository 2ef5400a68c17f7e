"""The report lines of the load, the latencies counted in them, and what is read out of a stretch of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.servers.spec import LabServerError
from lab.workloads.reports import Histogram, Reports, counted, parse_report

LATENCIES = st.dictionaries(
    st.floats(1e-6, 100.0, allow_nan=False), st.integers(1, 50), min_size=1, max_size=30
)


@given(counts=LATENCIES, per_mille=st.integers(1, 1000))
def test_a_percentile_is_the_nearest_rank(counts: dict[float, int], per_mille: int) -> None:
    """A percentile is the latency that so many percent of the transactions did not exceed, none lower."""
    every = sorted(latency for latency, count in counts.items() for _ in range(count))
    rank = max(1, -(-len(every) * per_mille // 1000))
    assert Histogram(counts).percentile(per_mille / 10) == every[rank - 1]


@pytest.mark.parametrize("percent", [0.0, -1.0, 100.1, math.nan])
def test_a_percentile_out_of_range_is_refused(percent: float) -> None:
    """There is no 0th and no 101st percentile."""
    with pytest.raises(ValueError, match="out of range: above 0 and at most 100"):
        Histogram({0.001: 1}).percentile(percent)


def test_nothing_has_no_percentile() -> None:
    """Without transactions there is no latency to report."""
    with pytest.raises(ValueError, match="without transactions"):
        Histogram({}).percentile(50.0)


AXIS = "-6.90775527898;55.5354068734"
LINE = (
    f"@second interval=1.001000 events=2831 errors=2 queue=12 p99=0.009389000 buckets={AXIS};474:2800,511:31"
)
STALLED = f"@second interval=1.000000 events=0 errors=0 queue=500 p99=0.000001 buckets={AXIS};"


def test_a_report_line_becomes_a_second() -> None:
    """A second has its commits and errors per second, its 99th percentile and its queue."""
    second = parse_report(LINE, 12.5)
    assert second is not None
    assert second.monotonic == 12.5
    assert second.commits == pytest.approx(2831 / 1.001)
    assert second.latency == pytest.approx(0.009389)
    assert second.errors == pytest.approx(2 / 1.001)
    assert second.queue == 12


def test_a_stalled_second_has_no_latency() -> None:
    """A second in which nothing was committed shows no latency, rather than the best there is."""
    second = parse_report(STALLED, 0.0)
    assert second is not None
    assert second.commits == 0.0
    assert second.latency is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Threads started!",
        "FATAL: mysql_drv_query() returned error 2013",
        "@second",
        "@second interval=0.0 events=1 errors=0 queue=0 p99=0.1 buckets=1;1;",
        LINE[:60],
    ],
)
def test_any_other_line_is_none(line: str) -> None:
    """A line that is no whole report adds no second."""
    assert parse_report(line, 0.0) is None


def test_a_bucket_is_the_latency_that_sysbench_prints_for_it() -> None:
    """By sysbench's own histogram bucket 474 is 5.090 ms, bucket 511 9.910 ms; seconds are added up."""
    found = counted([f"{AXIS};474:66", f"{AXIS};474:1,511:2"])
    assert found is not None
    assert [round(latency, 6) for latency in found.counts] == [0.005090, 0.009910]
    assert list(found.counts.values()) == [67, 2]


def test_a_span_of_seconds_is_read_alone() -> None:
    """Seconds, queue and latencies of a span leave out what came before and after."""
    reports = Reports()
    for now, line in ((1.0, LINE), (2.0, STALLED), (3.0, LINE.replace("511:31", "600:31"))):
        reports.add(line, now)
    assert [second.monotonic for second in reports.seconds(1.0, 3.0)] == [2.0, 3.0]
    assert reports.longest_queue(1.0, 2.0) == 500
    assert reports.longest_queue(2.0) == 12
    assert reports.latency(1.0, 2.0) is None
    whole, last = reports.latency(), reports.latency(2.0)
    assert whole is not None
    assert last is not None
    assert whole.transactions == 2 * 2831
    assert last.percentile(99.9) == pytest.approx(0.0491, rel=0.01)


def test_the_reads_of_a_span_have_their_own_latencies() -> None:
    """Reads are a histogram of their own, of the seconds asked for; lines without one add none to it."""
    reports = Reports()
    for now, line in ((1.0, LINE), (2.0, f"{LINE} reads={AXIS};474:66"), (3.0, f"{LINE} reads={AXIS};511:2")):
        reports.add(line, now)
    reads = reports.read_latency(0.0, 2.0)
    assert reads is not None
    assert [(round(size, 6), count) for size, count in reads.counts.items()] == [(0.005090, 66)]
    assert reports.read_latency(0.0, 1.0) is None


def test_other_lines_are_kept_for_the_error() -> None:
    """Who waits for seconds that do not come reads what sysbench said instead."""
    reports = Reports()
    reports.add("FATAL: unable to connect to MySQL server", 1.0)
    reports.add(LINE, 1.0)
    with pytest.raises(LabServerError, match=r"reported 1 of 2 seconds:\nFATAL: unable to connect"):
        reports.wait(2, 5.0, lambda: False, reports.tail)
