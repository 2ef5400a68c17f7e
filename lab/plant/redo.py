"""The redo log: LSNs, limits, checkpoints, another size, and the point where writers wait.

Source: log/log0chkp.cc of MySQL 8.0.44, the same in 9.7: ``log_sync_flush_lsn``, ``log_should_checkpoint``,
``log_checkpointer``, ``log_free_check_wait``; log/log0log.cc of MySQL 5.6 and MariaDB,
``log_checkpoint_margin``; srv/srv0srv.cc of MySQL 5.7, ``srv_master_do_idle_tasks``; ``lab.plant.shrink``.
"""

from __future__ import annotations

from typing import NamedTuple

from lab.plant.flavour import FLAVOURS, Flavour
from lab.plant.shrink import Shrink
from tuner.servers.adapter import Points

CHECKPOINT_EVERY = 1.0
"""``innodb_log_checkpoint_every``: how often the checkpointer looks, seconds."""


class Limits(NamedTuple):
    """``Points`` worked out: a capacity's are read every second and never change."""

    flush_limit: int
    sync_point: int
    stall_point: int
    low_water_base: int


class Redo:
    """One redo log. All LSNs in bytes.

    Attributes:
        capacity: size in force, ``Innodb_redo_log_capacity_resized``; the old one while the log shrinks.
        wanted: size asked for; another one while the log shrinks.
        limits: what the capacity implies, margins included; while the log shrinks others are in force.
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
        "_activity",
        "_every",
        "_lag",
        "_limits_for",
        "_shrink",
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
        self._activity = 0.0
        self._shrink: Shrink | None = None
        self.wanted = capacity
        self._hold(capacity)

    def _hold(self, capacity: int) -> None:
        self.capacity = capacity
        found = self._limits_for(capacity)
        self.limits = Limits(found.flush_limit, found.sync_point, found.stall_point, found.low_water_base)
        self._shrink = None
        self._expose(self.limits)

    def _expose(self, limits: Points) -> None:
        """Put limits in force."""
        self.stall_point = float(limits.stall_point)
        self.flush_limit = float(limits.flush_limit)
        self.sync_trigger = float(limits.sync_point)
        self.low_water_base = float(limits.low_water_base)

    @property
    def resizing(self) -> bool:
        """Tell whether the log is on its way to another size."""
        return self.wanted != self.capacity

    @property
    def flush_first(self) -> float:
        """Return the LSN up to which another size wants pages flushed; 0 for none, and but in MariaDB."""
        return 0.0

    def resize(self, capacity: int) -> None:
        """Ask for another size: a larger one is there at once, a smaller one when what is in the log fits."""
        self.wanted = capacity
        if capacity >= self.capacity:
            self._hold(capacity)
            return
        self._shrink = Shrink(
            capacity=self.capacity, wanted=capacity, lsn=self.lsn, checkpoint=self.checkpoint
        )
        self._follow(self._shrink)

    def _follow(self, shrink: Shrink) -> None:
        """Take the limits of a log that shrinks, or the smaller size where it is time."""
        if shrink.over(self.checkpoint, self.lsn):
            self._hold(self.wanted)
        else:
            self._expose(shrink.limits)

    def next_second(self, now: float, activity: float) -> None:
        """Let the checkpointer look; on an idle server it does not wait for seven seconds to pass.

        Args:
            now: simulated seconds.
            activity: the server's activity counter; commits here.
        """
        idle = activity == self._activity
        self._activity = activity
        if self._shrink is not None:
            self._shrink.next_second(self.checkpoint, self.lsn)
            idle = idle or self._shrink.requested > self.checkpoint
            self._follow(self._shrink)
        if idle:
            self.due = min(self.due, now)

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
        if self._shrink is not None:
            self._shrink.checkpoint_written(self.checkpoint, self.lsn)
            self._follow(self._shrink)
        return True

    def room(self) -> float:
        """Return the bytes that writers may still add before they wait for a checkpoint."""
        return self.checkpoint + self.stall_point - self.lsn

    def sync_flush_lsn(self, oldest: float) -> float | None:
        """Return the LSN up to which sync flushing is wanted; None when there is no need.

        ``log_sync_flush_lsn``: the modified age is brought back to the trigger, or to a checkpoint that was
        asked for.
        """
        target = self.lsn - self.sync_trigger
        if self._shrink is not None:
            target = max(target, min(self._shrink.requested + self._lag, self.lsn))
        return target if target > oldest else None
