"""Which rows were the first on their server: its averages still held the filling of the tables; pure.

``Adaptive_flush::set_average`` halves what is old every ``innodb_flushing_avg_loops`` seconds, so a redo rate
of 60 MB/s takes three minutes to become 1 MB/s. Until then the look-ahead over three seconds of redo covers
the whole flush list, and the server flushes at M, whatever the age.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.report.rows import Row

SLACK_SECONDS = 15.0
"""What may lie between two rows on one server beside the reset and the way to an age that is known."""


def first_on_server(rows: Sequence[Row]) -> list[bool]:
    """Tell of each row of a variant whether it was the first on its server: no row or a gap is before it.

    Args:
        rows: in the order in which they were measured.
    """
    return [place == 0 or _gap(rows[place - 1], row) for place, row in enumerate(rows)]


def _gap(before: Row, row: Row) -> bool:
    """Tell whether more time passed between two rows than one server needs between them."""
    with contextlib.suppress(ValueError):
        ended, next_ended = (datetime.fromisoformat(one.when) for one in (before, row))
        timing: dict[str, Any] = row.plan.get("timing") or {}
        between = float(timing.get("reset", 0.0)) + SLACK_SECONDS
        if row.stage != "block" or row.block > 1 or row.kind == "best static":
            between += float(timing.get("settle_most", 0.0)) / 2.0
        return (next_ended - ended).total_seconds() - len(row.series.at) > between
    return False
