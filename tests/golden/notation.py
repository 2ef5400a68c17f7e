"""How a tick's decision is written down: codes and numbers only, no sentence."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.records import DecisionKind, TickRecord
from tuner.settings import Mode

EVERY_SECONDS = 300
"""A recorded run has a line at least so often, whatever was decided."""


def decision_of(record: TickRecord) -> str:
    """Return kind, reason, target, SETs, guards and what bars a write, as ``README.md`` describes them."""
    decision = record.decision
    what = decision.kind.value
    parts = [what if decision.reason == what else f"{what} {decision.reason}"]
    if decision.kind is not DecisionKind.KEEP and decision.target is not None:
        parts[0] += f" {decision.target}"
        parts.append(", ".join(f"{_short(name)} {value}" for name, value in decision.steps))
    if decision.would is not None:
        parts.append(f"would {decision.would}")
    if decision.guards:
        parts.append(f"guards {' '.join(decision.guards)}")
    if record.holds:
        parts.append(f"holds {' '.join(sorted(hold.code.value for hold in record.holds))}")
    if record.mode is Mode.ADVISORY:
        parts.append("advisory")
    refused = sum(not answer.accepted for answer in record.acknowledgements)
    if refused:
        parts.append(f"refused {refused}")
    return "; ".join(parts)


def _short(name: str) -> str:
    return {"innodb_io_capacity": "C", "innodb_io_capacity_max": "M"}.get(name, name)


class Course:
    """Makes the lines of a recorded run: writes, holds and modes that change, and one now and then."""

    def __init__(self) -> None:
        self._before = ""
        self._due = 0.0

    def lines(self, seconds: float, record: TickRecord) -> Iterator[str]:
        """Yield the line of this tick, if it has one.

        Args:
            seconds: since the run began.
            record: what was decided.
        """
        decision = record.decision
        bars = f"{[hold.code.value for hold in record.holds]} {record.mode}"
        telling = decision.kind is not DecisionKind.KEEP or bars != self._before
        if telling or seconds >= self._due:
            ratio = "-" if record.estimate is None else f"{record.estimate.age_ratio:.3f}"
            aim = "-" if decision.set_point is None else f"{decision.set_point:.3f}"
            whose = f" {decision.set_point_source}" if decision.set_point_source else ""
            yield f"{seconds:7.0f} s  age {ratio}  set-point {aim}{whose}  {decision_of(record)}"
        self._before = bars
        if seconds >= self._due:
            self._due = (seconds // EVERY_SECONDS + 1) * EVERY_SECONDS
