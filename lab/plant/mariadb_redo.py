"""The redo log of MariaDB, as far as it is not MySQL's: another size while the server runs.

Source: storage/innobase of 11.8.6: log/log0log.cc ``resize_start``, buf/buf0flu.cc ``write_checkpoint``.
"""

from __future__ import annotations

from lab.plant.redo import Redo


class MariaDBRedo(Redo):
    """A redo log that is written to two files, until all that is older than the second one is on disk.

    Larger or smaller, all limits stay as they are until the first checkpoint at or behind the LSN where the
    new file begins; until then the page cleaner is asked to flush what is older than that, at most M pages a
    second. Where more is written meanwhile than the new file holds, it begins again.
    """

    __slots__ = ("_begin",)

    def resize(self, capacity: int) -> None:
        """Begin a file of another size at the current LSN; refused while one is being changed."""
        if not self.resizing:
            self.wanted = capacity
            self._begin = self.lsn

    @property
    def flush_first(self) -> float:
        """Return the LSN up to which pages are to be flushed for another size; 0 for none."""
        if not self.resizing:
            return 0.0
        if self.lsn - self._begin >= self.wanted:
            self._begin = self.lsn
        return self._begin

    def write_checkpoint(self, now: float) -> bool:
        """Write a checkpoint; see ``Redo.write_checkpoint``. It may be the one that ends a change of size."""
        written = super().write_checkpoint(now)
        if self.resizing and self.checkpoint >= self.flush_first:
            self._hold(self.wanted)
        return written
