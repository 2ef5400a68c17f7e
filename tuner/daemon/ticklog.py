"""What the log says of ticks: one canonical record per decision or change, and one per minute otherwise.

Beside them it says that the optimiser's process died.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tuner.core.leaving.lowwater import NOT_BACK
from tuner.findings.remedies import told
from tuner.journal.items import Advice, advice_of
from tuner.records import DecisionKind, Missed, OptimiserHealth, Sample, TickRecord
from tuner.system.logs import get_logger

MINUTE = 60.0
HOUR = 3600.0

LEFT = frozenset({NOT_BACK, "not_parked"})
"""Events that say that something of ours stays in force which nobody steers."""

log = get_logger("innobrim")


class TickLog:
    """Knows what was said last, so that nothing is said twice."""

    def __init__(self) -> None:
        self._said_at: float | None = None
        self._advice: Advice | None = None
        self._state: tuple[object, ...] = ()

    def say(self, record: TickRecord) -> None:
        """Say what is new in a tick; silent where nothing is, except once a minute."""
        decision = record.decision
        state = (record.mode, record.lifecycle, tuple(hold.code for hold in record.holds))
        decided = decision.kind is not DecisionKind.KEEP
        advice = advice_of(record)
        advised = advice is not None and advice.is_news(self._advice)
        changed = state != self._state or bool(record.events)
        due = self._said_at is None or record.tick.now - self._said_at >= MINUTE
        if not (decided or advised or changed or due):
            return
        self._said_at = record.tick.now
        self._state = state
        self._advice = advice or self._advice
        name = decision.kind.value if decided else "advice" if advised else "change" if changed else "minute"
        worrying = decision.kind is DecisionKind.EMERGENCY or any(
            event.code.startswith("hold_") or event.code in LEFT for event in record.events
        )
        (log.warning if worrying else log.info)(name, **canonical(record))


class OptimiserLog:
    """Warns of deaths of the optimiser's process: of each reason at once, and then once an hour."""

    def __init__(self, tell: Callable[[OptimiserHealth], None]) -> None:
        """Stand before somebody else who is told of its health.

        Args:
            tell: that one; told of everything.
        """
        self._tell = tell
        self._deaths = 0
        self._said: dict[str, float] = {}

    def take(self, health: OptimiserHealth) -> None:
        """Pass on how the process is, and say so where it died; on the thread that looks after it."""
        self._tell(health)
        if health.deaths == self._deaths:
            return
        self._deaths = health.deaths
        now = time.monotonic()
        reason = " ".join(health.why.split())
        if now - self._said.get(reason, -HOUR) < HOUR:
            return
        self._said = {one: at for one, at in self._said.items() if now - at < HOUR} | {reason: now}
        log.warning(
            "the optimiser's process died: no trials until it is started again, and the loop goes on",
            reason=reason,
            deaths=health.deaths,
            hint="innobrim check says whether what it needs can be imported",
        )


def canonical(record: TickRecord) -> dict[str, object]:
    """Return the one set of fields that every record of a tick has; rates rounded to four digits."""
    decision, reading, estimate = record.decision, record.tick.reading, record.estimate
    fields: dict[str, object] = {
        "why": "; ".join(told(event) for event in record.events) or decision.detail,
        "reason": decision.reason,
        "mode": record.mode.value,
        "tick": record.tick.number,
    }
    if isinstance(reading, Sample):
        fields |= {"io_capacity": reading.io_capacity, "io_capacity_max": reading.io_capacity_max}
    elif isinstance(reading, Missed):
        fields["missed"] = reading.reason
    if decision.steps and decision.target is not None:
        fields["set_to"] = str(decision.target)
    if decision.would is not None:
        fields["would_set"] = str(decision.would)
    if estimate is not None:
        names = ("age_ratio", "redo_rate", "demand", "flush_rate", "row_rate")
        fields |= {name: _round(getattr(estimate, name)) for name in names}
    if decision.set_point is not None:
        fields["set_point"] = _round(decision.set_point)
    lists = {
        "holds": [hold.code.value for hold in record.holds],
        "occurrences": list(record.occurrences),
        "schedule": [window.name for window in record.schedule],
        "events": [event.code for event in record.events],
    }
    return fields | {name: values for name, values in lists.items() if values}


def _round(value: float) -> float:
    return float(f"{value:.4g}")
