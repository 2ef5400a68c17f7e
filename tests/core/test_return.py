"""A load that goes away and comes back: nothing learned meanwhile stands in its way."""

from __future__ import annotations

from tests.bench import Bench
from tests.core.test_authority import at_rest
from tuner.records import DecisionKind, Sample, TickRecord


def turned(bench: Bench, count: int) -> list[TickRecord]:
    """Tick so many times; return all records of it."""
    return [bench.turn() for _ in range(count)]


def test_a_load_that_goes_away_and_returns_causes_no_sync_flushing() -> None:
    """After half a minute without load its return is answered in time, as if it had never been away."""
    bench = at_rest("cascade", 0.8)
    before, rate = bench.server.capacity, bench.server.redo_rate
    bench.server.redo_rate = 0.0
    gone = turned(bench, 30)
    bench.server.redo_rate = 2.0 * rate
    back = turned(bench, 120)

    assert bench.server.capacity.io_capacity_max > before.io_capacity_max
    assert not any(record.decision.kind is not DecisionKind.KEEP for record in gone)
    readings = [record.tick.reading for record in back]
    assert all(isinstance(one, Sample) and one.modified_age < one.sync_point for one in readings)


def test_an_idle_server_says_nothing_of_the_device() -> None:
    """What the law asked for last and the pace of an idle server are not compared."""
    bench = at_rest("cascade", 0.8)
    bench.server.redo_rate = 0.0
    found = [record.estimate for record in turned(bench, 40)]

    assert all(one is not None and one.authority > 0.9 for one in found)
    assert found[-1] is not None
    assert found[-1].sustained_capacity is None
