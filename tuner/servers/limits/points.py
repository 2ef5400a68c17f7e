"""What every family's limits come to: the ages at which something begins."""

from __future__ import annotations

from typing import Protocol


class Points(Protocol):
    """Limits of a redo log, bytes, whichever arithmetic they are by."""

    @property
    def flush_limit(self) -> int:
        """Return A, the age that the flush law divides by."""
        ...

    @property
    def sync_point(self) -> int:
        """Return the age above which sync flushing starts."""
        ...

    @property
    def stall_point(self) -> int:
        """Return the checkpoint age above which writers wait."""
        ...

    @property
    def low_water_base(self) -> int:
        """Return what ``innodb_adaptive_flushing_lwm`` is a percentage of."""
        ...
