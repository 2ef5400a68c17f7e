"""A redo log of MySQL 8.0.30 or later on its way to a smaller size.

Source: log/log0files_capacity.cc and log/log0files_governor.cc of 8.0.44:
``get_suggested_hard_logical_capacity``, ``is_target_reached_for_resizing_down``,
``log_files_consuming_oldest_file_takes_too_long``, ``log_files_filling_oldest_file_takes_too_long``,
``log_files_truncate``.
"""

from __future__ import annotations

import math

from tuner.servers.families.redo_capacity import FLUSH_ORDER_LAG, logical_capacity, logical_limits

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

    __slots__ = ("_end", "_file", "_hard", "_least", "_new_file", "_seen", "limits", "requested")

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
        """Return where the file that a checkpoint lies in ends."""
        if checkpoint < self._end:
            return min((checkpoint // self._file + 1.0) * self._file, self._end)
        return self._end + ((checkpoint - self._end) // self._new_file + 1.0) * self._new_file


def _blocks_up(size: float) -> int:
    """Return a size in bytes rounded up to whole log blocks."""
    return math.ceil(size / BLOCK) * BLOCK
