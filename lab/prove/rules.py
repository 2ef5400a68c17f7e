"""Where a write may lead and how often, written down from the invariants; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.records import Capacity, DecisionKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuner.records import Facts
    from tuner.settings import Settings

HOUR = 3600.0
C_NAME, M_NAME = "innodb_io_capacity", "innodb_io_capacity_max"
PACED = {DecisionKind.SET, DecisionKind.DRAIN}
COUNTED = PACED | {DecisionKind.EMERGENCY}
EMERGENCY_SPACING = 2.0
MOST_RATIO = 20


class Pace:
    """When was written so far in one run, and whether the next write keeps the pace."""

    def __init__(self) -> None:
        self._writes: list[tuple[float, DecisionKind]] = []

    def note(self, kind: DecisionKind, now: float) -> None:
        """Take a write in; ``now`` is monotonic seconds."""
        self._writes.append((now, kind))

    def faults(
        self, kind: DecisionKind, now: float, old: Capacity, new: Capacity, settings: Settings
    ) -> Iterator[str]:
        """Yield how a write at ``now`` breaks dwell, budget or step limit; parks and persons are exempt."""
        before = [at for at, other in self._writes if other is not DecisionKind.PARK]
        since = now - before[-1] if before else HOUR
        m_old, m_new = old.io_capacity_max, new.io_capacity_max
        if kind is DecisionKind.EMERGENCY:
            if m_new <= m_old:
                yield f"an emergency from M {m_old} to {m_new} is no raise"
            if since < EMERGENCY_SPACING:
                yield f"an emergency {since:.1f} s after the last write"
        if kind not in PACED:
            return
        if since < settings.dwell_seconds:
            yield f"{since:.1f} s after the last write; the dwell is {settings.dwell_seconds:.0f} s"
        lately = sum(1 for at, other in self._writes if other in COUNTED and now - at < HOUR)
        if lately >= settings.max_changes_per_hour:
            yield f"{lately + 1} changes within an hour; {settings.max_changes_per_hour} are allowed"
        ratio = settings.ratio or MOST_RATIO
        slack = ratio / 2.0  # rounding to a whole ratio
        low, high = m_old / settings.step_factor - slack, m_old * settings.step_factor + slack
        back = settings.max_io_capacity_max - ratio <= m_new < m_old
        back = back or m_old < m_new <= settings.min_io_capacity_max + ratio
        if not back and not low <= m_new <= high:
            yield f"M {m_old} → {m_new} is more than the step factor {settings.step_factor}"


def way_faults(old: Capacity, new: Capacity, steps: tuple[tuple[str, int], ...]) -> Iterator[tuple[int, str]]:
    """Yield which invariant each SET on the way from ``old`` to ``new`` breaks, with words."""
    low, high = sorted((_gain(old), _gain(new)))
    pair = old
    for name, value in steps:
        if name == C_NAME:
            pair = Capacity(value, pair.io_capacity_max)
        elif name == M_NAME:
            pair = Capacity(pair.io_capacity, value)
        else:
            yield 11, f"{name} is not on the list of what may be written"
            continue
        if pair.io_capacity > pair.io_capacity_max:
            yield 1, f"{name} = {value} puts C above M: the server would clamp it"
        elif pair != new and not low <= _gain(pair) <= high:
            yield 2, f"{name} = {value} takes the gain to {_gain(pair)}, outside {low} to {high}"
    if pair != new:
        yield 2, f"the SETs end at {pair}, not at the target"


def end_faults(new: Capacity, settings: Settings, facts: Facts) -> Iterator[tuple[int, str]]:
    """Yield which invariant a pair breaks that is not somebody's original."""
    ratio = settings.ratio or new.io_capacity_max // new.io_capacity
    if new.io_capacity_max != ratio * new.io_capacity:
        yield 2, f"{new} is not the whole ratio {ratio}"
    if ratio > MOST_RATIO:
        yield 2, f"{new} has C far below M, more than {MOST_RATIO} times"
    if not settings.min_io_capacity_max <= new.io_capacity_max <= settings.max_io_capacity_max:
        yield 1, f"M = {new.io_capacity_max} is outside the configured limits"
    if not facts.capacity_minimum <= new.io_capacity <= new.io_capacity_max <= facts.capacity_maximum:
        yield 1, f"{new} is outside the server's own limits"


def _gain(pair: Capacity) -> int:
    """Return K = C * floor(M / C), what the server's flush law multiplies by."""
    return pair.io_capacity * (pair.io_capacity_max // max(1, pair.io_capacity))
