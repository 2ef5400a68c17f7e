"""The redo log: LSNs, limits, checkpoints, another size, and the point where writers wait.

Source: log/log0chkp.cc of MySQL 8.0.44, the same in 9.7: ``log_sync_flush_lsn``, ``log_should_checkpoint``,
``log_checkpointer``, ``log_free_check_wait``; log/log0log.cc of MySQL 5.6 and MariaDB,
``log_checkpoint_margin``; log/log0files_governor.cc of 9.7 for another size.
"""

from __future__ import annotations

from lab.plant.flavour import FLAVOURS, Flavour

CHECKPOINT_EVERY = 1.0
"""``innodb_log_checkpoint_every``: how often the checkpointer looks, seconds."""

SHRINKING = 0.98
"""While a log shrinks, its sync point follows the age at this share of it, so that sync flushing goes on."""


class Redo:
    """One redo log. All LSNs in bytes.

    Attributes:
        capacity: size in force.
        wanted: size asked for; another one while the log shrinks.
        limits: what the capacity implies, margins included.
        lsn: current LSN.
        checkpoint: LSN of the last checkpoint.
        due: when the checkpointer looks next, simulated seconds.
        stall_point: checkpoint age above which writers wait, bytes.
        flush_limit: A, the age that the flush law divides by, bytes.
        sync_trigger: modified age above which the server flushes in earnest, bytes: in MySQL from 8.0 on the
            raw counter minus the margin, minus the flush-order lag, because the server compares the LSN that
            is available for a checkpoint.
    """

    __slots__ = (
        "_every",
        "_lag",
        "_limits_for",
        "available",
        "capacity",
        "checkpoint",
        "due",
        "flush_limit",
        "limits",
        "low_water_base",
        "lsn",
        "stall_point",
        "sync_trigger",
        "wanted",
    )

    def __init__(
        self, *, capacity: int, lsn: float, now: float, flavour: Flavour = FLAVOURS["mysql-9.7"]
    ) -> None:
        """Start with an empty log of ``capacity`` bytes at an LSN."""
        self._limits_for = flavour.limits
        self._lag = flavour.order_lag
        self._every = flavour.checkpoint_seconds
        self.lsn = lsn
        self.checkpoint = lsn
        self.available = lsn
        self.due = now + self._every
        self.wanted = capacity
        self._hold(capacity)

    def _hold(self, capacity: int) -> None:
        self.capacity = capacity
        self.limits = self._limits_for(capacity)
        self.stall_point = float(self.limits.stall_point)
        self.flush_limit = float(self.limits.flush_limit)
        self.sync_trigger = float(self.limits.sync_point)
        self.low_water_base = float(self.limits.low_water_base)

    @property
    def resizing(self) -> bool:
        """Tell whether the log is on its way to another size."""
        return self.wanted != self.capacity

    def resize(self, capacity: int, oldest: float) -> None:
        """Ask for another size: a larger one is there at once, a smaller one when the age allows it."""
        self.wanted = capacity
        self.shrink(oldest)

    def shrink(self, oldest: float) -> None:
        """Go on shrinking as far as the age allows (``get_suggested_hard_logical_capacity``)."""
        if self.wanted >= self.capacity:
            if self.wanted > self.capacity:
                self._hold(self.wanted)
            return
        age = max(self.lsn - oldest, self.lsn - self.checkpoint - self._lag)
        fits = int(self.capacity * age / (SHRINKING * self.sync_trigger)) if age > 0.0 else 0
        if fits < self.capacity:
            self._hold(max(self.wanted, fits))

    def make_available(self, oldest: float) -> None:
        """Learn the oldest modification (``log_update_available_for_checkpoint_lsn``); it never goes back."""
        found = self.lsn if oldest >= self.lsn else oldest - self._lag
        self.available = max(self.available, found)

    def write_checkpoint(self, now: float) -> bool:
        """Write a checkpoint at the LSN that is available; False when that frees nothing."""
        if self.available <= self.checkpoint:
            self.due = now + CHECKPOINT_EVERY
            return False
        self.due = now + self._every
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
