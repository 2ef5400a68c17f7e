"""What a time of watching shows of a load."""

from __future__ import annotations

import random

import pytest

from tests.api.factory import record, sample
from tuner.findings.combining import Figure
from tuner.findings.devicewrites import DeviceWrites
from tuner.findings.load import load_of
from tuner.records import TickRecord


def limited(cost: float) -> list[TickRecord]:
    """Return two minutes of a device that is full: a page takes the place of so many commits."""
    drawn = random.Random(5)  # noqa: S311 - the same dice every time, and nothing secret
    commits, pages, records = 0, 0, []
    for number in range(1, 121):
        written = drawn.randrange(100, 300)
        pages += written
        commits += round(1000 - cost * written + drawn.uniform(-2, 2))
        reading = sample(number, commits=commits, row_changes=commits, pages_adaptive=pages)
        records.append(record(number, reading=reading))
    return records


@pytest.mark.parametrize(
    ("logs", "told"), [(Figure(80_000, 110_000, 140_000), "load"), (Figure(10_000, 20_000, 40_000), "both")]
)
def test_a_share_that_the_counts_contradict_is_no_narrow_range(logs: Figure, told: str) -> None:
    """Pages cost a commit in five by the seconds: counts that say as much change nothing, others widen it."""
    records = limited(0.2 * 800 / 200)
    alone = load_of(records)
    counted = load_of(records, DeviceWrites(pages=24_000, redo=logs, binary_log=None))
    assert alone is not None
    assert counted is not None
    first, both = alone.page_cost.share, counted.page_cost.share
    assert first is not None
    assert both is not None

    assert counted.page_cost.share_from == told
    assert both.low <= first.likeliest <= both.high
    assert (both.high > first.high) == (told == "both")


def test_one_burst_in_an_idle_time_tells_no_device_limit() -> None:
    """A batch of four seconds on a server that idles otherwise says nothing of what a page costs."""
    records, commits, pages = [], 0, 0
    for number in range(1, 121):
        if 40 <= number < 44:
            commits, pages = commits + 1000 + 37 * number % 400, pages + 300 + 91 * number % 300
        elif 44 <= number < 80:
            pages += number % 2 * 50
        reading = sample(number, commits=commits, row_changes=commits, pages_adaptive=pages)
        records.append(record(number, reading=reading))
    load = load_of(records)

    assert load is not None
    assert load.page_cost.device_is_limit is None
