"""What a daemon leaves in force at its end, in words for the log."""

from __future__ import annotations

from tuner.records import Capacity, DecisionKind, Missed, Receipt, Sample, TickRecord


class Farewell:
    """Follows the ticks, so that the last one can be told."""

    def __init__(self) -> None:
        self._seen: Capacity | None = None
        self._last: TickRecord | None = None
        self._receipt: Receipt | None = None
        self._owed = False

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
        self._receipt = receipt
        self._seen = receipt.in_force or self._seen

    def __str__(self) -> str:
        """Return the pair in force, as far as it is known, and why it is that one."""
        if self._last is None or self._seen is None:
            return "unknown: the server was never read"
        pair, receipt, decision = str(self._seen), self._receipt, self._last.decision
        if receipt is not None and receipt.in_force is None:
            return f"{pair} or {receipt.requested}: the write was not read back ({receipt.error})"
        if receipt is not None and receipt.error:
            return f"{pair}: the write failed ({receipt.error})"
        if decision.kind is DecisionKind.PARK:
            return f"{pair}: parked"
        if isinstance(self._last.tick.reading, Missed):
            return f"{pair} when last seen, not parked: the server did not answer"
        return f"{pair}{', not parked' if self._owed else ''}: {decision.detail}"
