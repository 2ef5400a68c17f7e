"""The redo log: LSNs, limits, checkpoints, another size, and the point where writers wait.

Source: log/log0chkp.cc of MySQL 8.0.44, the same in 9.7: ``log_sync_flush_lsn``, ``log_should_checkpoint``,
``log_checkpointer``, ``log_free_check_wait``; log/log0log.cc of MySQL 5.6 and MariaDB,
``log_checkpoint_margin``; srv/srv0srv.cc of MySQL 5.7, ``srv_master_do_idle_tasks``.

A log on its way to a smaller size: log/log0files_capacity.cc and log/log0files_governor.cc of 8.0.44,
``get_suggested_hard_logical_capacity``, ``is_target_reached_for_resizing_down``,
``log_files_consuming_oldest_file_takes_too_long``, ``log_files_filling_oldest_file_takes_too_long``,
``log_files_truncate``.
"""

from __future__ import annotations

import math

from lab.plant.flavour import FLAVOURS, Flavour
from tuner.servers.exported import Points
from tuner.servers.families.redo_capacity import FLUSH_ORDER_LAG, logical_capacity, logical_limits

CHECKPOINT_EVERY = 1.0
"""``innodb_log_checkpoint_every``: how often the checkpointer looks, seconds."""


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

    def __init__(
        self, *, capacity: int, lsn: float, now: float, flavour: Flavour = FLAVOURS["mysql-9.7"]
    ) -> None:
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
        self.limits = self._limits_for(capacity)
        self._shrink = None
        self._expose(self.limits)

    def _expose(self, limits: Points) -> None:
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


FILES = 32
"""``LOG_N_FILES``."""

FILE_HEADER = 2048
"""``LOG_FILE_HDR_SIZE``, bytes of each file that take no redo."""

BLOCK = 512
SYNC_SHARE = 15.0 / 16.0
"""The raw sync point over the soft logical capacity."""

SOFT_SHARE = 0.95
"""The soft logical capacity over the hard one."""

AHEAD = 10.0
"""Seconds of redo that the governor looks ahead, at the rate of the last second."""


class Shrink:
    """What the governor of the log's files does until the smaller size is in force. All LSNs in bytes.

    The limits are those of a log whose raw sync point is the checkpoint age, and they never rise; so the sync
    trigger, which has the margin taken off, lies below the age, and sync flushing goes on. A file that would
    not be free within ten seconds gets a checkpoint of its own. It is over when what is in the log fits, and
    all files of the old size are free.

    Attributes:
        limits: in force now.
        requested: LSN up to which a checkpoint was asked for.
    """

    def __init__(self, *, capacity: int, wanted: int, lsn: float, checkpoint: float) -> None:
        """Start with the limits of the old size.

        Args:
            capacity: size in force, bytes.
            wanted: the smaller one, bytes.
            lsn: current LSN; the file that it lies in is the last of the old size.
            checkpoint: LSN of the last checkpoint.
        """
        self._hard = logical_capacity(capacity)
        self._least = logical_capacity(wanted)
        self._file = capacity // FILES - FILE_HEADER
        self._new_file = wanted // FILES - FILE_HEADER
        self._end = float(math.ceil(lsn / self._file) * self._file)
        self._seen = (checkpoint, lsn)
        self.requested = 0.0
        self.limits = logical_limits(self._hard)
        self.checkpoint_written(checkpoint, lsn)

    def checkpoint_written(self, checkpoint: float, lsn: float) -> None:
        """Let the limits follow the checkpoint age downwards."""
        soft = _blocks_up((lsn - checkpoint) / SYNC_SHARE)
        hard = max(self._least, min(self._hard, _blocks_up(soft / SOFT_SHARE)))
        if hard < self._hard:
            self._hard = hard
            self.limits = logical_limits(hard)

    def over(self, checkpoint: float, lsn: float) -> bool:
        """Tell whether the smaller size can be in force."""
        return checkpoint >= self._end and lsn - checkpoint <= logical_limits(self._least).soft

    def next_second(self, checkpoint: float, lsn: float) -> None:
        """Ask for a checkpoint beyond the oldest file where none is on its way.

        A log that hardly grows does not fill its last old file; the server cuts that one off. It then is free
        when its pages are flushed: with so little written, no page is dirty at times, and then a checkpoint
        does not stay the flush-order lag behind.
        """
        consumed, produced = (new - old for new, old in zip((checkpoint, lsn), self._seen, strict=True))
        self._seen = (checkpoint, lsn)
        end = self._end_of_file(checkpoint)
        predicted = checkpoint + AHEAD * consumed
        if predicted <= lsn and predicted < end <= lsn:
            self.requested = end
        if checkpoint < self._end and lsn + AHEAD * produced < end:
            self._end = lsn - FLUSH_ORDER_LAG

    def _end_of_file(self, checkpoint: float) -> float:
        if checkpoint < self._end:
            return min((checkpoint // self._file + 1.0) * self._file, self._end)
        return self._end + ((checkpoint - self._end) // self._new_file + 1.0) * self._new_file


def _blocks_up(size: float) -> int:
    return math.ceil(size / BLOCK) * BLOCK
