"""A load at work: sysbench with our scripts, which pretends that a server answers."""

from __future__ import annotations

import time

import pytest

from lab.servers.base import LabServerError
from lab.workloads.load import Load, Phase
from lab.workloads.sysbench import CourseRun, SysbenchRun
from tests.lab.workloads.support import PRETEND, need_sysbench, no_server

SMALL = {"tables": 2, "rows": 1000, "threads": 1, "rate": 50}
LIMIT = 30.0


@pytest.fixture(autouse=True)
def _sysbench() -> None:
    need_sysbench()


@pytest.mark.parametrize("distribution", ["uniform", "special", "zipf"])
def test_a_run_of_so_many_seconds_ends_by_itself(distribution: str) -> None:
    """A load started for two seconds reports two, with every transaction in its latencies; no error."""
    load = Load(kind="write_only", distribution=distribution, **SMALL)  # type: ignore[arg-type]  # one of its words
    run = SysbenchRun(no_server(), load, PRETEND)
    run.start(seconds=2)
    assert run.wait_ended(LIMIT)
    assert not run.running()
    seconds, latency = run.seconds(), run.latency()
    run.stop()
    assert len(seconds) == 2
    assert latency is not None
    assert latency.transactions == pytest.approx(sum(second.commits for second in seconds), rel=0.05)
    assert latency.percentile(50.0) <= latency.percentile(99.0)
    assert "by itself" not in run.output()


def test_reads_are_timed_apart() -> None:
    """Four of five transactions of read_mostly are reads, and those alone are in its reads' latencies."""
    load = Load(kind="read_mostly", tables=2, rows=1000, threads=4, rate=1000)
    run = SysbenchRun(no_server(), load, PRETEND)
    run.start(seconds=2)
    assert run.wait_ended(LIMIT), run.output()
    latency, reads = run.latency(), run.read_latency()
    run.stop()
    assert latency is not None, run.output()
    assert reads is not None
    assert latency.transactions > 1000
    assert reads.transactions == pytest.approx(0.8 * latency.transactions, rel=0.1)
    assert reads.percentile(99.0) <= latency.percentile(100.0)


def test_a_load_that_does_not_tell_its_reads_apart_has_no_latency_of_reads() -> None:
    """No figure for reads is made up from transactions that read and write."""
    run = SysbenchRun(no_server(), Load(kind="read_write", **SMALL), PRETEND)
    run.start(seconds=1)
    assert run.wait_ended(LIMIT), run.output()
    found = run.read_latency()
    run.stop()
    assert found is None


def test_a_run_goes_on_until_stopped() -> None:
    """A load without an end runs until stopped, and a second stop does nothing."""
    with SysbenchRun(no_server(), Load(kind="many_indexes", **SMALL), PRETEND) as run:
        run.wait_seconds(1, LIMIT)
        assert run.running()
        run.stop()
        assert not run.running()
        assert run.events() == []


def test_a_load_that_ends_by_itself_says_why() -> None:
    """Who waits for a load that could not start reads sysbench's own reason."""
    with SysbenchRun(no_server(port=1), Load(**SMALL)) as run:
        with pytest.raises(LabServerError, match=r"(?s)status 1.*FATAL: unable to connect to MySQL server"):
            run.wait_seconds(1, LIMIT)
        with pytest.raises(LabServerError, match="ended before it was at work"):
            run.wait_started()


def test_a_course_is_read_as_one_load() -> None:
    """The seconds and latencies of all phases are one load's, and each phase is an event at its time."""
    began = time.monotonic()
    phases = (Phase(2.0, 1, 20), Phase(2.0, 1, 60))
    with CourseRun(no_server(), Load(**SMALL), phases, PRETEND) as course:
        while len(course.events()) < 3:
            course.wait_seconds(len(course.seconds()) + 1, LIMIT)
        events, seconds = course.events(), course.seconds()
        latency = course.latency()
        assert course.running()
    assert not course.running()
    assert [text for _, text in events][:3] == [
        "phase 1 of 2: 20 transactions/s offered",
        "phase 2 of 2: 60 transactions/s offered",
        "phase 1 of 2: 20 transactions/s offered",
    ]
    assert [at for at, _ in events] == sorted(at for at, _ in events)
    assert events[0][0] > began
    first = [one.commits for one in seconds if one.monotonic <= events[1][0]]
    second = [one.commits for one in seconds if events[1][0] < one.monotonic <= events[2][0]]
    assert sum(first) / len(first) < sum(second) / len(second)
    assert latency is not None
    assert latency.transactions >= sum(round(one.commits) for one in seconds) * 0.95


def test_a_course_of_so_many_seconds_ends_by_itself() -> None:
    """A course started for three seconds ends in the middle of its second phase, and is no error."""
    course = CourseRun(no_server(), Load(**SMALL), (Phase(2.0, 1, 20), Phase(20.0, 1, 60)), PRETEND)
    course.start(seconds=3)
    with pytest.raises(LabServerError, match=r"reported \d of 60 seconds"):
        course.wait_seconds(60, LIMIT)
    course.stop()
    assert len(course.events()) == 2
    assert "ended" not in course.output()


def test_a_course_whose_load_ends_says_why() -> None:
    """A course that cannot go on ends with sysbench's own reason."""
    with CourseRun(no_server(port=1), Load(**SMALL), (Phase(2.0, 1, 20),)) as course:
        with pytest.raises(LabServerError, match="unable to connect to MySQL server"):
            course.wait_seconds(1, LIMIT)
        assert not course.running()


def test_a_course_needs_a_phase() -> None:
    """A course without phases is refused before anything starts."""
    with pytest.raises(ValueError, match="at least one phase"):
        CourseRun(no_server(), Load(**SMALL), ())
