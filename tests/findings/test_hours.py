"""What is said of a recording, hour by hour and of all of it."""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tuner.cli.advise import for_all
from tuner.findings.hours import Hour, by_hour
from tuner.records import Capacity, TickRecord
from tuner.settings import Settings


def hour(*parts: tuple[int, float]) -> Hour:
    """Return an hour of a recording, made of so many minutes with such a page demand, pages/s."""
    bench = Bench(Settings(), FakeServer(Capacity(1_000, 2_000)))
    bench.turns(120)
    (record,) = bench.records[-1:]
    assert record.estimate is not None
    demands = itertools.chain.from_iterable([demand] * 60 * minutes for minutes, demand in parts)
    records: list[TickRecord] = [
        replace(
            record,
            tick=replace(record.tick, wall=float(second)),
            estimate=replace(record.estimate, demand=demand),
        )
        for second, demand in enumerate(demands)
    ]
    (found,) = by_hour(records, bench.state)
    return found


def test_the_pair_for_all_hours_is_enough_for_the_busiest_minutes() -> None:
    """Ten minutes of batch in a quiet hour would end in sync flushing with a pair for the hour's mean."""
    quiet, batch, mixed = hour((60, 100.0)), hour((60, 3000.0)), hour((50, 100.0), (10, 3000.0))
    (static,) = for_all([quiet, mixed])

    assert mixed.static == batch.static
    assert str(batch.static) in static.title
    assert "3000 pages/s" in static.reason
