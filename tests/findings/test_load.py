"""What a time of watching shows of a load."""

from __future__ import annotations

from tests.api.factory import record, sample
from tuner.findings.load import load_of


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
