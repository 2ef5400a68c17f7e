"""A load at work: sysbench with our scripts, which pretends that a server answers."""

from __future__ import annotations

import pytest

from lab.servers.spec import LabServerError
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun
from tests.lab.workloads.support import PRETEND, need_sysbench, no_server

SMALL = {"tables": 2, "rows": 1000, "threads": 1, "rate": 50}
LIMIT = 30.0


@pytest.fixture(autouse=True)
def _sysbench() -> None:
    need_sysbench()


@pytest.mark.parametrize("distribution", ["uniform", "special", "zipf"])
def test_every_transaction_is_in_the_latencies(distribution: str) -> None:
    """A load reports its seconds, with every transaction in its latencies, and no error."""
    load = Load(kind="write_only", distribution=distribution, **SMALL)  # type: ignore[arg-type]  # one of its words
    with SysbenchRun(no_server(), load, PRETEND) as run:
        run.wait_seconds(2, LIMIT)
    assert not run.running()
    seconds, latency = run.seconds(), run.latency()
    assert latency is not None
    assert latency.transactions == pytest.approx(sum(second.commits for second in seconds), rel=0.05)
    assert latency.percentile(50.0) <= latency.percentile(99.0)
    assert "by itself" not in run.output()


@pytest.mark.parametrize(("kind", "share"), [("read_mostly", 0.8), ("read_write", None)])
def test_reads_are_timed_apart(kind: str, share: float | None) -> None:
    """Four of five transactions of read_mostly are reads; nothing is made up of a load that does not tell."""
    load = Load(kind=kind, tables=2, rows=1000, threads=4, rate=1000)
    with SysbenchRun(no_server(), load, PRETEND) as run:
        run.wait_seconds(1, LIMIT)
    latency, reads = run.latency(), run.read_latency()
    assert latency is not None, run.output()
    assert (reads is None) == (share is None)
    if reads is not None and share is not None:
        assert reads.transactions == pytest.approx(share * latency.transactions, rel=0.1)
        assert reads.percentile(99.0) <= latency.percentile(100.0)


def test_a_run_goes_on_until_stopped() -> None:
    """A load without an end runs until stopped, and a second stop does nothing."""
    with SysbenchRun(no_server(), Load(kind="many_indexes", **SMALL), PRETEND) as run:
        run.wait_seconds(1, LIMIT)
        assert run.running()
        run.stop()
        assert not run.running()


def test_a_load_that_ends_by_itself_says_why() -> None:
    """Who waits for a load that could not start reads sysbench's own reason."""
    why = r"(?s)status 1.*FATAL: unable to connect to MySQL server"
    with (
        SysbenchRun(no_server(port=1), Load(**SMALL)) as run,
        pytest.raises(LabServerError, match=why),
    ):
        run.wait_seconds(1, LIMIT)
