"""MySQL and Percona Server from 8.0.30 on: those that have ``innodb_redo_log_capacity``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tuner.servers.adapter import Adapter
from tuner.servers.answers import MARGIN, Answers, first_mismatch, points
from tuner.servers.limits import RedoLimits, redo_limits


class RedoCapacityAdapter(Adapter):
    """MySQL 8.0.30 to 9.x, Percona Server 8.0.30 to 8.4."""

    variables = ("innodb_thread_concurrency",)
    status = (
        "Innodb_redo_log_capacity_resized",
        "Innodb_redo_log_resize_status",
        "Innodb_redo_log_logical_size",
        "Innodb_redo_log_enabled",
        "Innodb_redo_log_current_lsn",
        "Innodb_redo_log_checkpoint_lsn",
        "Innodb_rows_inserted",
        "Innodb_rows_updated",
        "Innodb_rows_deleted",
        "Innodb_undo_tablespaces_active",
        "Innodb_undo_tablespaces_total",
    )
    redo_variable = "innodb_redo_log_capacity"
    redo_dynamic = True
    surroundings = "replication, locks, clones and latency"
    oldest = "log_lsn_buf_pool_oldest_approx"
    waits = "log_on_file_space_waits"
    limit_counters = ("log_max_modified_age_async", "log_max_modified_age_sync", MARGIN)
    limit_status = "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_%'"

    def limits_mismatch(self, exported: Mapping[str, str]) -> str:
        """Compare our limit arithmetic with the server's own values; they say nothing during a resize."""
        if exported.get("Innodb_redo_log_resize_status", "OK") != "OK":
            return ""
        capacity = int(exported["Innodb_redo_log_capacity_resized"])
        ours = _limits(capacity, self.page_size, int(exported["innodb_thread_concurrency"]))
        computed = (ours.raw_async, ours.raw_sync, ours.concurrency_margin)
        return first_mismatch(
            exported,
            dict(zip(self.limit_counters, computed, strict=True)),
            f"for a redo capacity of {capacity}",
        )

    def inactive_undo(self, answers: Answers) -> int:
        """Return how many undo tablespaces are not active."""
        return int(answers["Innodb_undo_tablespaces_total"]) - int(answers["Innodb_undo_tablespaces_active"])

    def redo(self, answers: Answers) -> dict[str, Any]:
        """Return what the answers say of the redo log and its limits."""
        capacity = int(answers["Innodb_redo_log_capacity_resized"])
        limits = _limits(capacity, self.page_size, int(answers["innodb_thread_concurrency"]))
        return {
            "redo_capacity": capacity,
            "redo_logical_size": int(answers["Innodb_redo_log_logical_size"]),
            "redo_enabled": answers["Innodb_redo_log_enabled"] == "ON",
            "resizing": answers["Innodb_redo_log_resize_status"] != "OK",
            **points(limits, answers),
        }

    def ages(self, answers: Answers) -> tuple[int, int]:
        """Return the current LSN and that of the last checkpoint where the counters are off."""
        return int(answers["Innodb_redo_log_current_lsn"]), int(answers["Innodb_redo_log_checkpoint_lsn"])


@lru_cache(maxsize=16)
def _limits(capacity: int, page_size: int, thread_concurrency: int) -> RedoLimits:
    return redo_limits(capacity, page_size=page_size, thread_concurrency=thread_concurrency)
