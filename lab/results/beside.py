"""Which benches shared a machine while they measured: said, as each takes something from the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from lab.report.rows import Row
from lab.results.suites import Published, Variant

LEAST_SECONDS = 2.0
"""Rows have their time to the second: what overlaps by less may be one after the other."""


def beside(variant: Variant, suites: Iterable[Published]) -> list[str]:
    """Return what else was measured at the same time, as a line to know of; empty where nothing was."""
    names = [
        " ".join(filter(None, (one.name, other.plan.variant)))
        for one in suites
        for other in one.variants
        if other is not variant and _at_once(variant.rows, other.rows)
    ]
    return (
        [f"measured beside others on the same machine, which cost both: {'; '.join(names)}"] if names else []
    )


def _at_once(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    spans = [found for row in theirs if (found := _span(row)) is not None]
    return any(
        min(end, until) - max(begin, since) >= LEAST_SECONDS
        for row in ours
        if (found := _span(row)) is not None
        for begin, end in (found,)
        for since, until in spans
    )


def _span(row: Row) -> tuple[float, float] | None:
    """Return from when to when a row's load settled and was counted, Unix seconds; None: unknown."""
    seconds = row.figure("seconds")
    try:
        end = datetime.fromisoformat(row.when).timestamp()
    except ValueError:
        return None
    return None if seconds is None else (end - seconds - (row.settle_seconds or 0.0), end)
