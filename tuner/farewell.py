"""What a daemon leaves in force at its end, in words for the log."""

from __future__ import annotations

from tuner.records import Capacity, DecisionKind, Missed, Receipt, Sample, TickRecord
from tuner.settings import Mode


class Farewell:
    """Follows the ticks, so that the last one can be told."""

    def __init__(self) -> None:
        self._seen: Capacity | None = None
        self._last: TickRecord | None = None
        self._receipt: Receipt | None = None
        self._owed = False
        self._wrote = False

    def take(self, record: TickRecord, *, owed: bool = False) -> None:
        """Note a tick, and whether a park is still owed after it."""
        tick = record.tick
        if isinstance(tick.reading, Sample):
            self._seen = tick.reading.capacity
        elif tick.receipt is not None:
            self._seen = tick.receipt.in_force or self._seen
        self._last, self._receipt, self._owed = record, None, owed

    def wrote(self, receipt: Receipt) -> None:
        """Note what became of the write that the last tick ended with."""
        self._receipt, self._wrote = receipt, True
        self._seen = receipt.in_force or self._seen

    def __str__(self) -> str:
        """Return the pair in force, as far as it is known, and why it is that one."""
        if self._last is None or self._seen is None:
            return "unknown: the server was never read"
        return f"{self._seen}{self._why(self._last)}"

    def _why(self, last: TickRecord) -> str:
        """Return what to say after the pair."""
        receipt = self._receipt
        if receipt is not None and receipt.in_force is None:
            return f" or {receipt.requested}: the write was not read back ({receipt.error})"
        if receipt is not None and receipt.error:
            return f": the write failed ({receipt.error})"
        if last.decision.kind is DecisionKind.PARK:
            return ": parked"
        if last.mode is Mode.ADVISORY and last.originals is None and not self._wrote:
            return ": not ours, advisory mode wrote nothing"
        if isinstance(last.tick.reading, Missed):
            return " when last seen, not parked: the server did not answer"
        return f"{', not parked' if self._owed else ''}: {last.decision.detail}"
