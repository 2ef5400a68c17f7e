"""A family of servers that there is not: all that a new one takes, beside its line in ``FAMILIES``."""

from __future__ import annotations

from typing import Any

from tuner.servers.adapter import VARIABLES, Adapter, Answers, Build, Family, points
from tuner.servers.exported import Limits, Points

SIZE, LIMIT = "made_up_log_size", "log_max_modified_age_async"


class MadeUpAdapter(Adapter):
    """Servers that say by a variable of their own that they are such."""

    title = "Made-up"
    recognised_by = ("made_up_version",)
    variables = (SIZE,)
    status = ("Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted")
    oldest = "log_lsn_buf_pool_oldest_approx"
    waits = "log_on_file_space_waits"
    redo_variable = SIZE
    sized_by = (SIZE,)
    arithmetic = "no function of Made-up 1"
    limit_counters = (LIMIT,)

    @classmethod
    def recognise(cls, build: Build) -> Family | None:
        """Return what a server of this family is."""
        if "made_up_version" not in build.variables:
            return None
        return Family("made-up", "legacy", cls(build.page_size, build.absent(VARIABLES)), 50_000)

    def expected_limits(self, answers: Answers) -> Limits:
        """Return the one limit that a counter shows: half of the log."""
        return {LIMIT: int(answers[SIZE]) // 2}

    def limits_from(self, answers: Answers, shown: Limits) -> Points:
        """Return that limit, and shares of the log's size."""
        size = int(answers[SIZE])
        return Points(flush_limit=shown[LIMIT], sync_point=size // 2, stall_point=size, low_water_base=0)

    def redo(self, answers: Answers) -> dict[str, Any]:
        """Return the redo log and its limits."""
        return {
            "redo_capacity": int(answers[SIZE]),
            "redo_logical_size": 0,
            "redo_enabled": True,
            "resizing": False,
            **points(self.limits(answers), answers),
        }

    def ages(self, answers: Answers) -> tuple[int, int]:
        """Return the ages without counters, of which it has none."""
        raise ValueError(f"no age in {len(answers)} answers")
