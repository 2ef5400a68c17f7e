"""What rows come to: means, the worst, and paired ratios."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from lab.compare.summary import METRICS, group, table_csv


def row(contender: str, seed: int, commits: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return a row with that throughput."""
    outcome = {metric.name: 0.0 for metric in METRICS} | {"throughput_mean": commits, "pages_per_commit": 0.2}
    return {
        "scenario": "s",
        "contender": contender,
        "kind": "policy",
        "levels": [],
        "seed": seed,
        "seconds": 1800,
        "measured_from": 300,
        "moves": False,
        "plant": "p",
        "settling_seconds": 100.0,
        "changes": 5,
        "outcome": outcome,
        **changes,
    }


REFERENCE = [row("ours", seed, 1000.0 * seed) for seed in (1, 2, 3)]


def test_ratios_are_paired_by_seed() -> None:
    """What gives a tenth less with every seed is at 0.9 with no doubt, however the seeds differ."""
    other = [row("other", seed, 900.0 * seed) for seed in (3, 1, 2)]
    found = group("s", {"ours": REFERENCE, "other": other})
    assert found is not None
    ours, theirs = (one.values["throughput_mean"] for one in found.contenders)

    assert (ours.mean, ours.worst, ours.ratio) == (2000.0, 1000.0, None)
    assert (theirs.mean, theirs.worst) == (1800.0, 900.0)
    assert theirs.ratio is not None
    assert (theirs.ratio.mean, theirs.ratio.low, theirs.ratio.high) == pytest.approx((0.9, 0.9, 0.9))


def test_the_worst_is_the_highest_where_more_is_worse() -> None:
    """Of pages, ages, seconds and changes the worst seed is the one with most of them."""
    rows = [row("ours", 1, 1000.0, changes=4), row("ours", 2, 1000.0, changes=8)]
    found = group("s", {"ours": rows})
    assert found is not None

    changes = found.contenders[0].values["changes_per_hour"]
    assert (changes.mean, changes.worst) == (12.0, 16.0)


def test_an_age_that_never_settles_has_no_mean() -> None:
    """One seed that never settles is no settling time at all, and is counted."""
    rows = [row("ours", 1, 1000.0), row("ours", 2, 1000.0, settling_seconds=None)]
    found = group("s", {"ours": rows})
    assert found is not None

    settling = found.contenders[0].values["settling_seconds"]
    assert (settling.mean, settling.worst, settling.without) == (None, None, 1)


def test_there_is_no_ratio_of_nothing() -> None:
    """Where a value is zero, as seconds of sync flush should be, there is no ratio."""
    found = group("s", {"ours": REFERENCE, "other": [row("other", 1, 500.0)]})
    assert found is not None

    assert found.contenders[1].values["sync_flush_seconds"].ratio is None
    assert found.contenders[1].values["throughput_mean"].ratio is not None


def test_the_file_has_a_line_for_each_figure() -> None:
    """The CSV has scenario, contender and metric in every line, and the bounds beside the ratio."""
    found = group("s", {"ours": REFERENCE, "other": [row("other", one, 900.0 * one) for one in (1, 2)]})
    assert found is not None
    lines = list(csv.DictReader(io.StringIO(table_csv([found]))))

    assert len(lines) == 2 * len(METRICS)
    theirs = next(one for one in lines if (one["contender"], one["metric"]) == ("other", "throughput_mean"))
    assert (theirs["seeds"], theirs["mean"], theirs["ratio"]) == ("2", "1350", "0.9")


def test_no_row_is_no_group() -> None:
    """A scenario of which nothing has run yet is left out."""
    assert group("s", {"ours": []}) is None
