"""The published list: what may be written at all, and nothing else."""

from __future__ import annotations

from tuner.records import LOW_WATER_MARK
from tuner.servers.port import ServerError

WRITABLE = ("innodb_io_capacity", "innodb_io_capacity_max")
"""The variables that the loop may write, itself or by the procedure; with ``enable_counters`` also
innodb_monitor_enable."""

WITH_OPTION = (LOW_WATER_MARK,)
"""What it may write besides with ``loop.low_water_mark``, and to put the operator's value back."""


def must_be_writable(name: str, *, optional: bool) -> None:
    """Refuse any variable that is not on the list.

    Args:
        name: of the variable.
        optional: those that need an option may be written, or are to be put back.

    Raises:
        ServerError: it is not; the message says what is.
    """
    allowed = (*WRITABLE, *WITH_OPTION) if optional else WRITABLE
    if name not in allowed:
        raise ServerError(f"{name} may not be written; what may: {', '.join(allowed)}")
