"""How evenly the load goes with each low-water mark: slow seconds are held against the operator's own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.types import ANALYTIC, Context
from tests.factory import sample
from tuner.core.markpace import Pace, seen, waves
from tuner.core.switchback import Block, Counters, Running

LOAD = Context(1e6, 300.0, 0.0, 0.0, 8e7)
ROWS = 3_000
COUNTED = 1_000
TRIAL = Running(
    number=1,
    suggestion=ANALYTIC,
    context=LOAD,
    retest=False,
    begun=0.0,
    block_begun=0.0,
    block_seconds=600.0,
    settling_seconds=300.0,
    start=Counters(0.0, 0, 0, 0),
)


def gone(operator: int, tried: int) -> Pace:
    """Return the pace of a trial in which so many of a thousand counted seconds were slow, with each mark."""
    pace, second, rows = Pace(), 0.0, 0
    for blocks, slow in (((), operator), ((Block(0.0, 0.0, 1e6, 300.0),), tried)):
        running = replace(TRIAL, blocks=blocks)
        pace = replace(pace, last=None)
        for number in range(COUNTED + 1):
            second, rows = second + 1.0, rows + (ROWS // 3 if number > COUNTED - slow else ROWS)
            pace = seen(pace, running, sample(second, row_changes=rows), mean=float(ROWS))
    return pace


def test_the_slow_seconds_of_each_mark_are_its_own() -> None:
    """A second with fewer than half of the row changes is slow, and counts with the mark it came with."""
    pace = gone(30, 70)

    assert pace.operator == pytest.approx((COUNTED, 30.0))
    assert pace.tried == pytest.approx((COUNTED, 70.0))


@pytest.mark.parametrize(
    ("operator", "tried", "uneven"),
    [(0, 10, False), (0, 11, True), (80, 80, False), (80, 79, False), (80, 81, True)],
)
def test_a_mark_loses_by_more_slow_seconds_than_one_in_a_hundred_and_than_with_yours(
    operator: int, tried: int, *, uneven: bool
) -> None:
    """Where the load goes in waves with the operator's mark already, as many with the other are no reason."""
    found = waves(gone(operator, tried))

    assert bool(found) is uneven
    assert not uneven or f"{tried / 10:.1f} % of its seconds were slow" in found
