"""The page of published benches says which of them had the machine to themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.experiment.plan import Plan
from lab.results import page
from lab.results.suites import read
from tests.lab.results.published import measured, publish

PLANS = [
    Plan(variant="one", contenders=("default",), blocks=1),
    Plan(variant="two", contenders=("default",), blocks=1),
]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("2026-11-22T12:00:00+0000", "2026-11-22T12:01:00+0000", True),
        ("2026-11-22T12:00:00+0000", "2026-11-22T13:01:00+0100", True),
        ("2026-11-22T12:00:00+0000", "2026-11-22T12:02:00+0000", False),
        ("", "2026-11-22T12:01:00+0000", False),
    ],
)
def test_rows_that_were_measured_at_the_same_time_are_said_to_have_been(
    tmp_path: Path,
    first: str,
    second: str,
    said: bool,  # noqa: FBT001 - a case
) -> None:
    """Two benches at once take processors and disk from each other; a reader of the figures has to know."""
    rows = [
        measured("default", 1, {"seconds": 90}, variant) | {"when": when, "settle_seconds": 30.0}
        for variant, when in (("one", first), ("two", second))
    ]
    document = page.document(read(publish(tmp_path, "seeds", PLANS, rows) / "docs/results/bench"))

    assert document.count("measured beside others on the same machine, which cost both: seeds") == 2 * said
    assert ("which cost both: seeds two" in document) == said
