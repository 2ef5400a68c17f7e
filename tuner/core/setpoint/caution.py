"""What decides in place of M: a short pool, the LRU's flushing, a device at its limit, redo that is held."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from policies.setpoint import LOWEST
from tuner.core.estimate.tail import CAPPED_SHARE
from tuner.core.estimate.trends import AUTHORITY_LOST
from tuner.core.setpoint.debounce import Debounced
from tuner.records import Estimate, Event, Sample

LRU_SHARE = 2.0
LRU_FLOOR = 50.0
"""The LRU does the flushing when it writes so many times the flush list's pages, and this many a second."""

LRU_ENDED = 0.5
"""It no longer does below so many times the flush list's pages. The M that a rest leaves in force has the
flush list write more, up to as much as the LRU: that ends no shortage, and lowering M begins it anew."""

LRU_SECONDS = 60.0  # How long that has to last, seconds

LRU_LEAVES = 0.5
"""Age ratio below which nothing is amiss while the LRU does the flushing; above it M matters nevertheless."""

WAITS_HALF = 5.0  # Free-page waits/s at which the pressure is half of what any number of them comes to

SLIGHT = 0.01
"""Pressure below which it bounds nothing: one wait comes to less, and many fade to it in 23 minutes."""

PRESSURE_RISES = 60.0
PRESSURE_FADES = 300.0
AVERAGE_SECONDS = 180.0
LONGEST_GAP = 10.0
"""Time constants, and the longest time between two readings that counts, seconds."""

AUTHORITY_BACK = 0.92
AUTHORITY_SECONDS = 30.0

REDO_HELD, REDO_RELEASED = 0.10, 0.08
"""Redo beyond the checkpoint age, as a share of S, that another consumer holds or no longer holds."""

REDO_SECONDS = 5.0


class Caution(Struct, frozen=True):
    """What is remembered of them."""

    at: float | None = None  # time of the last reading, seconds; None before the first
    waits: int = 0  # waits for a free page counted by then
    pressure: float = 0.0  # how hard these press, 0 to 1
    lru_share: float = 0.0  # share of the LRU in the pages flushed, averaged
    device: Debounced = Debounced()  # the device gives less than the flush law asks for, and it matters
    redo: Debounced = Debounced()  # another consumer holds redo
    lru: Debounced = Debounced()  # the LRU does the flushing, and the age is low

    def bound(self, wanted: float) -> float:
        """Return the age ratio that waits for a free page allow at most, averaged over minutes.

        Args:
            wanted: the age ratio that is wanted in spite of them: above 1.0 it comes down from there.
        """
        if self.pressure < SLIGHT:
            return math.inf
        highest = max(1.0, wanted)
        return highest - self.pressure * (highest - LOWEST)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what a reader of the status should know, in words."""
        remarks = []
        if self.device.on:
            remarks.append("the device is the limit")
        if self.redo.on:
            remarks.append("another consumer holds redo")
        return tuple(remarks)


def update(
    state: Caution,
    sample: Sample,
    estimate: Estimate,
    *,
    set_point: float | None,
    now: float,
) -> tuple[Caution, list[Event]]:
    """Take one reading in; say what begins and what ends."""
    elapsed = 0.0 if state.at is None else min(LONGEST_GAP, max(0.0, now - state.at))
    before = state
    state = replace(
        state,
        at=now,
        waits=sample.free_page_waits,
        pressure=_pressure(state, sample, elapsed),
        lru_share=_toward(state.lru_share, _lru_share(estimate), elapsed),
        device=_device(state.device, sample, estimate, set_point, now=now),
        redo=_redo(state.redo, sample, now=now),
        lru=_lru(state.lru, estimate, now=now),
    )
    return state, _said(before, state, sample, estimate)


def _toward(mean: float, value: float, elapsed: float) -> float:
    return mean + min(1.0, elapsed / AVERAGE_SECONDS) * (value - mean)


def _lru_share(estimate: Estimate) -> float:
    """Return the LRU's share of the pages flushed; little LRU flushing counts for less."""
    total = estimate.lru_rate + estimate.flush_rate
    return estimate.lru_rate / total * min(1.0, estimate.lru_rate / LRU_FLOOR) if total > 0.0 else 0.0


def _pressure(state: Caution, sample: Sample, elapsed: float) -> float:
    """Let the pressure fade, and rise with the waits since the last reading."""
    faded = state.pressure * math.exp(-elapsed / PRESSURE_FADES)
    new = sample.free_page_waits - state.waits
    if new <= 0 or elapsed <= 0.0:
        return faded
    rate = new / elapsed
    return faded + (1.0 - faded) * min(1.0, elapsed / PRESSURE_RISES) * rate / (rate + WAITS_HALF)


def _device(
    was: Debounced, sample: Sample, estimate: Estimate, set_point: float | None, *, now: float
) -> Debounced:
    asks_for_all = sample.flush_requested >= CAPPED_SHARE * sample.io_capacity_max
    matters = asks_for_all or (set_point is not None and sample.age_ratio > set_point)
    return was.see(
        begins=matters and estimate.authority < AUTHORITY_LOST,
        ends=not matters or estimate.authority >= AUTHORITY_BACK,
        now=now,
        seconds=AUTHORITY_SECONDS,
    )


def _lru(was: Debounced, estimate: Estimate, *, now: float) -> Debounced:
    """Begin at once, for the rates are means of seconds already; end late, but at once where M matters."""
    lru, flushed = estimate.lru_rate, max(estimate.flush_rate, 1.0)
    if estimate.age_ratio >= LRU_LEAVES:
        return Debounced()
    return was.see(
        begins=lru > LRU_FLOOR and lru > LRU_SHARE * flushed,
        ends=lru < LRU_ENDED * max(LRU_FLOOR, flushed),
        now=now,
        seconds=LRU_SECONDS if was.on else 0.0,
    )


def _redo(was: Debounced, sample: Sample, *, now: float) -> Debounced:
    beyond = sample.redo_logical_size - sample.checkpoint_age
    return was.see(
        begins=beyond > REDO_HELD * sample.redo_capacity,
        ends=beyond < REDO_RELEASED * sample.redo_capacity,
        now=now,
        seconds=REDO_SECONDS,
    )


def _said(before: Caution, after: Caution, sample: Sample, estimate: Estimate) -> list[Event]:
    events = []
    if after.device.on and not before.device.on:
        message = (
            f"the flush law asks for {sample.flush_requested} pages/s and the device gives "
            f"{estimate.authority:.0%} of them: an innodb_io_capacity_max above {sample.io_capacity_max} "
            "would change nothing"
        )
        events.append(Event(code="authority_lost", message=message))
    elif before.device.on and not after.device.on:
        message = "the device keeps up with what the flush law asks for"
        events.append(Event(code="authority_back", message=message))
    if after.redo.on and not before.redo.on:
        message = (
            f"{sample.redo_logical_size} bytes of redo are in use and {sample.checkpoint_age} of them "
            "uncheckpointed: another consumer, such as a backup or clone, holds the rest, which no "
            "innodb_io_capacity_max frees"
        )
        events.append(Event(code="redo_held", message=message))
    elif before.redo.on and not after.redo.on:
        message = "no other consumer holds redo any more"
        events.append(Event(code="redo_released", message=message))
    return events
