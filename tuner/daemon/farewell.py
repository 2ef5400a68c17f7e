"""What the log says of the values that a daemon leaves in force."""

from __future__ import annotations

from tuner.records import (
    LOW_WATER_MARK,
    LOWEST_ABOVE_ZERO,
    Capacity,
    DecisionKind,
    Lifecycle,
    LowWaterMark,
    Missed,
    Receipt,
    Sample,
    TickRecord,
    percent,
)
from tuner.settings import Mode


class Farewell:
    """Follows the ticks, so that the last one can be told."""

    def __init__(self) -> None:
        self._seen: Capacity | None = None
        self._last: TickRecord | None = None
        self._receipt: Receipt | None = None
        self._owed = self._parked = False
        self._wrote = False
        self._mark: LowWaterMark | None = None

    def take(self, record: TickRecord, *, owed: bool = False) -> None:
        """Note a tick, and whether a park is still owed after it."""
        tick = record.tick
        if isinstance(tick.reading, Sample):
            self._seen = tick.reading.capacity
        elif tick.receipt is not None:
            self._seen = tick.receipt.in_force or self._seen
        stopping = record.lifecycle is Lifecycle.STOPPING
        self._parked = record.decision.kind is DecisionKind.PARK or (self._parked and stopping)
        self._last, self._receipt, self._owed = record, None, owed
        self._mark = record.low_water

    def wrote(self, receipt: Receipt) -> None:
        """Note what became of the write that the last tick ended with; the pair is about one of C and M."""
        self._wrote = True
        if receipt.low_water_asked is None:
            self._receipt = receipt
        elif receipt.low_water_mark == receipt.low_water_asked:
            self._mark = None
        self._seen = receipt.in_force or self._seen

    def __str__(self) -> str:
        """Return the pair in force, as far as it is known, why it is that one, and a mark of ours."""
        if self._last is None or self._seen is None:
            return "unknown: the server was never read"
        return f"{self._seen}{self._why(self._last)}{self._beside()}"

    def _beside(self) -> str:
        """Return the low-water mark where ours was left; empty where it was not."""
        mark = self._mark
        if mark is None or not mark.ours or mark.operator is None:
            return ""
        return (
            f"; {LOW_WATER_MARK} = {percent(LOWEST_ABOVE_ZERO)}, set by InnoBrim; the original "
            f"is {percent(mark.operator)}"
        )

    def _why(self, last: TickRecord) -> str:
        """Return what to say after the pair."""
        receipt = self._receipt
        if receipt is not None and receipt.in_force is None:
            return f" or {receipt.requested}: the write was not read back ({receipt.error})"
        if receipt is not None and receipt.error:
            return f": the write failed ({receipt.error})"
        if self._parked:
            return ": parked"
        if last.mode is Mode.ADVISORY and last.originals is None and not self._wrote:
            return ": not set by InnoBrim, as advisory mode wrote nothing"
        if isinstance(last.tick.reading, Missed):
            return " when last seen, not parked: the server did not answer"
        return f"{', not parked' if self._owed else ''}: {last.decision.detail}"
