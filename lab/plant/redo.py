"""The redo log: LSNs, limits, checkpoints and the point where writers wait.

Source: log/log0chkp.cc of MySQL 8.0.44, the same in 9.7: ``log_sync_flush_lsn``,
``log_should_checkpoint``, ``log_checkpointer``, ``log_free_check_wait``.
"""

from __future__ import annotations

from tuner.servers.limits import redo_limits

FLUSH_ORDER_LAG = 2 * 1024 * 1024
"""Bytes by which the flush lists may be out of order (``log_buffer_flush_order_lag``)."""

CHECKPOINT_EVERY = 1.0
"""``innodb_log_checkpoint_every``: how often the checkpointer looks, seconds."""

BUSY_CHECKPOINT_SECONDS = 7.0 * CHECKPOINT_EVERY
"""``log_busy_checkpoint_interval``: how often it writes under load, seconds."""


class Redo:
    """One redo log of fixed capacity. All LSNs in bytes.

    Attributes:
        limits: what the capacity implies, margins included.
        lsn: current LSN.
        checkpoint: LSN of the last checkpoint.
        due: when the checkpointer looks next, simulated seconds.
        stall_point: checkpoint age above which writers wait, bytes.
        flush_limit: A, the age that the flush law divides by, bytes.
        sync_trigger: modified age above which sync flushing starts, bytes: the raw counter
            minus the margin, minus the flush-order lag, because the server compares the LSN
            that is available for a checkpoint.
    """

    __slots__ = (
        "available",
        "checkpoint",
        "due",
        "flush_limit",
        "limits",
        "lsn",
        "stall_point",
        "sync_trigger",
    )

    def __init__(self, *, capacity: int, lsn: float, now: float) -> None:
        """Start with an empty log of ``capacity`` bytes at an LSN."""
        self.limits = redo_limits(capacity)
        self.lsn = lsn
        self.checkpoint = lsn
        self.available = lsn
        self.due = now + BUSY_CHECKPOINT_SECONDS
        self.stall_point = float(self.limits.stall_point)
        self.flush_limit = float(self.limits.flush_limit)
        self.sync_trigger = float(self.limits.sync_point)

    def make_available(self, oldest: float) -> None:
        """Learn the oldest modification (``log_update_available_for_checkpoint_lsn``); it never goes back."""
        found = self.lsn if oldest >= self.lsn else oldest - FLUSH_ORDER_LAG
        self.available = max(self.available, found)

    def write_checkpoint(self, now: float) -> bool:
        """Write a checkpoint at the LSN that is available; False when that frees nothing."""
        if self.available <= self.checkpoint:
            self.due = now + CHECKPOINT_EVERY
            return False
        self.due = now + BUSY_CHECKPOINT_SECONDS
        self.checkpoint = self.available
        return True

    def room(self) -> float:
        """Return the bytes that writers may still add before they wait for a checkpoint."""
        return self.checkpoint + self.stall_point - self.lsn

    def sync_flush_lsn(self, oldest: float) -> float | None:
        """Return the LSN up to which sync flushing is wanted; None when there is no need.

        ``log_sync_flush_lsn``: the modified age is brought back to the trigger.
        """
        if self.lsn - oldest > self.sync_trigger:
            return self.lsn - self.sync_trigger
        return None
