"""What is known around one tick, and the words for its numbers.

The age and its set-point are said in percent of the flush limit, as everywhere. Answers as JSON have both as
shares of Max Checkpoint Age as well, where the checkpoint age peaks between two checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from policies.types import horizon
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    DrainProgress,
    Estimate,
    Facts,
    PastChange,
    Reason,
    Receipt,
    Sample,
    TickRecord,
)
from tuner.settings import Settings
from tuner.system.amounts import share
from tuner.why.model import Seen

M, C = "innodb_io_capacity_max", "innodb_io_capacity"


class Around(NamedTuple):
    """What is known around one tick; the oldest of it only as a row of the journal's decisions."""

    record: TickRecord | None  # the tick; None where it is no longer kept, or cannot be read
    change: PastChange | None = None  # the decision's row; None where nothing was decided
    receipt: Receipt | None = None  # what became of its write; None where it wrote nothing, or not yet
    later: TickRecord | None = None  # the tick that shows what came of it; None where there is none yet
    ending: str = ""  # why ``later`` is sooner than usual, in words; empty where it is not
    since: PastChange | None = None  # the change that made the values in force, before this tick
    cause: str = ""  # an earlier event that this follows from, in words
    # reasons for writing nothing since, and about how many seconds each held; empty where it is too soon
    spent: tuple[tuple[str, float], ...] = ()
    cut: bool = False  # ticks are kept of the end of that time alone
    lost: str = ""  # why ``record`` is None, in words
    settings: Settings = Settings()
    facts: Facts | None = None


def seen(record: TickRecord) -> Seen | None:
    """Return what the server showed at a tick; None where it was not read, or no rates were known."""
    reading, estimate = record.tick.reading, record.estimate
    if not isinstance(reading, Sample) or estimate is None:
        return None
    return Seen(
        wall=record.tick.wall,
        io_capacity=reading.io_capacity,
        io_capacity_max=reading.io_capacity_max,
        age_share=peak(estimate.age_ratio, reading, estimate),
        flush_rate=estimate.flush_rate,
        sync_rate=estimate.sync_rate,
        demand=estimate.demand,
        row_rate=estimate.row_rate,
    )


def peak(ratio: float, sample: Sample, estimate: Estimate) -> float:
    """Return where the checkpoint age peaks at an age ratio, as a share of Max Checkpoint Age."""
    return (ratio * sample.flush_limit + estimate.checkpoint_lag) / sample.stall_point


def moved(old: Capacity | None, new: Capacity | None) -> str:
    """Return what was set to what, in a sentence."""
    if new is None:
        return "nothing was set."
    if old is None:
        return f"{M} was set to {new.io_capacity_max}, and {C} to {new.io_capacity}."
    low = f"{C} from {old.io_capacity} to {new.io_capacity}"
    if old.io_capacity_max == new.io_capacity_max:
        if old == new:
            return f"{M} {old.io_capacity_max} and {C} {old.io_capacity} were set again."
        return f"{low.replace(C, f'{C} went', 1)}; {M} stayed at {old.io_capacity_max}."
    high = f"{M} went from {old.io_capacity_max} to {new.io_capacity_max}"
    return f"{high}." if old.io_capacity == new.io_capacity else f"{high}, and {low}."


def named(pair: Capacity) -> str:
    """Return a pair with its names written out."""
    return f"{M} {pair.io_capacity_max} and {C} {pair.io_capacity}"


def sentence(text: str) -> str:
    """Return words as a sentence; empty as it is, and a variable's name as it is written."""
    text = text.strip()
    if not text.startswith("innodb_"):
        text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def count(value: float) -> str:
    """Return a rate or a number as people read it."""
    return f"{value:,.0f}"


_DRAINS = frozenset({Reason.DRAINING, Reason.DRAINED})

_NO_AIM = frozenset(
    {DecisionKind.OVERRIDE, DecisionKind.RESTORE, DecisionKind.PARK, Reason.OVERRIDE, Reason.RESTORE}
)
"""Where no age is wanted, but a pair."""


def _apart(one: Capacity, other: Capacity) -> tuple[float, float]:
    """Return how far two pairs are from each other: M, then C."""
    return (
        abs(math.log(one.io_capacity_max / other.io_capacity_max)),
        abs(math.log(one.io_capacity / other.io_capacity)),
    )


class View:
    """One tick and the words for its numbers."""

    def __init__(self, around: Around, record: TickRecord) -> None:
        self.around = around
        self.record = record
        self.decision: Decision = record.decision
        reading = record.tick.reading
        self.sample = reading if isinstance(reading, Sample) else None
        self.estimate = record.estimate if self.sample is not None else None
        self.terms: Mapping[str, float] = record.decision.terms
        overlay = record.overlay.values if record.overlay is not None else {}
        self.overlay = overlay
        self.settings = around.settings
        self.wrote = bool(self.decision.steps)

    @property
    def drains(self) -> DrainProgress | None:
        """Return the drain that decides, in place of the set-point; None where none does."""
        drain = self.record.drain
        decides = self.decision.kind is DecisionKind.DRAIN or self.decision.reason in _DRAINS
        return drain if decides else None

    @property
    def way_back(self) -> bool:
        """Tell whether the age is on its way back from a drain."""
        return "mean_rate" in self.terms and self.drains is None

    @property
    def aim_share(self) -> float | None:
        """Return the share of Max Checkpoint Age that was wanted at the peaks; None where none was."""
        if self.drains is not None and self.sample is not None:
            return self.drains.target / self.sample.stall_point
        if self.set_point is None or self.sample is None or self.estimate is None:
            return None
        return peak(self.set_point, self.sample, self.estimate)

    @property
    def set_point(self) -> float | None:
        """Return the age ratio that was wanted; None where none was, as in a drain or an override."""
        decision = self.decision
        elsewhere = decision.kind in _NO_AIM or decision.reason in _NO_AIM or self.drains is not None
        if decision.kind is DecisionKind.TRIAL or decision.reason == Reason.TRIAL:
            elsewhere = self.originals_turn
        return None if elsewhere else decision.set_point

    @property
    def age(self) -> str:
        """Return the age in percent of the flush limit; empty where it is unknown."""
        return "" if self.estimate is None else share(self.estimate.age_ratio)

    @property
    def originals_turn(self) -> bool:
        """Tell whether it was the turn of the originals in a trial: in force, or on the way there."""
        originals, before = self.record.originals, self.in_force
        target = self.decision.target if self.wrote else before
        if originals is None or before is None or target is None:
            return False
        return target == originals or _apart(target, originals) < _apart(before, originals)

    @property
    def in_force(self) -> Capacity | None:
        """Return the pair in force when the tick began; None for unknown."""
        return None if self.sample is None else self.sample.capacity

    @property
    def now(self) -> int:
        """Return the M in force when the tick began, pages/s; 0 for unknown."""
        return 0 if self.sample is None else self.sample.io_capacity_max

    @property
    def ahead(self) -> float:
        """Return the seconds that the law looks ahead."""
        if (given := self.terms.get("horizon")) is not None:
            return given
        f = self.decision.set_point
        if self.sample is None or self.estimate is None or f is None:
            return 0.0
        return horizon(set_point=f, flush_limit=self.sample.flush_limit, redo_rate=self.estimate.redo_rate)

    def setting(self, name: str) -> str:
        """Return a setting in force as it is written, ``name = value``."""
        value = self.overlay.get(name, getattr(self.settings, name))
        return f"{name} = {value:g}" if isinstance(value, int | float) else f"{name} = {value}"

    def number(self, name: str) -> float:
        """Return a setting in force that is a number."""
        return float(self.overlay.get(name, getattr(self.settings, name)))
