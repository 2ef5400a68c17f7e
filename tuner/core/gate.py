"""The model gate: our flush law must say what the server's own counter says.

The server computes the percentage once a second, right before it flushes, so the age that it
used lies within about a second and a half of redo around the age of our reading. Below the
low-water mark the server says 0; a percentage above 0 is what tells, and a server with a
large M hovers around that mark. One that flushes for its dirty pages or by an old average stays
below it for good: there a minute of zeros lets the loop begin, which far from every limit risks
nothing, and the first percentages above 0 tell before the age has got anywhere.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from policies.flushlaw import FlushLaw
from tuner.records import Estimate, Sample

SECONDS_APART = 1.5  # How far the server's computation may lie from our reading
NEEDED = 3  # Telling matches that let the first write through

NEEDED_QUIET = 60
"""Matches in a row, all of them with a percentage of 0, that do so as well; they prove nothing for later."""

REMEMBERED = 12
MISMATCHES = 9
"""So many mismatches among the last ones remembered mean that we do not understand this server."""


class GateState(Struct, frozen=True):
    """What the comparisons so far said."""

    verified: bool = False  # enough telling matches were seen since the server started
    telling: int = 0  # matches in a row with a percentage above 0
    quiet: int = 0  # matches in a row, up to now, with a percentage of 0
    recent: tuple[bool, ...] = ()  # last comparisons, True for a match
    mismatched: bool = False  # the law does not hold at present
    said: int = 0  # the server's percentage when it last was another than predicted
    expected: tuple[int, int] = (0, 0)  # lowest and highest percentage that we predicted then
    proven: str = ""  # the server version that was verified last; empty before the first


def update(state: GateState, law: FlushLaw, last: Sample, sample: Sample, estimate: Estimate) -> GateState:
    """Compare one reading, where it can be compared; nothing is to prove where no M moves the age anyway.

    A page cleaner that sleeps until the flush limit tells nothing before, and with an M below the demand
    nothing there either, as it flushes by no percentage: with such an age the gate is open until one
    contradicts.
    """
    if not law.m_moves_age:
        return replace(state, verified=True)
    if law.sleeps and sample.age_ratio >= 1.0:
        state = replace(state, verified=True)
    if not _comparable(last, sample):
        return state
    apart = SECONDS_APART * max(estimate.redo_rate, sample.lsn_oldest - last.lsn_oldest)
    youngest, oldest = sample.modified_age - apart, sample.modified_age + apart
    low = _percentage(law, sample, max(youngest, sample.low_water_age)) - 1
    high = _percentage(law, sample, oldest) + 1
    lowest = 0 if youngest < sample.low_water_age else max(0, low)
    said = sample.flush_percentage
    if said == 0:
        match = lowest == 0
        telling, quiet = state.telling, state.quiet + 1
    else:
        match = oldest >= sample.low_water_age and low <= said <= high
        telling, quiet = state.telling + 1, 0
    if not match:
        telling = quiet = 0
        state = replace(state, said=said, expected=(lowest, high))
    recent = (*state.recent, match)[-REMEMBERED:]
    wrong = recent.count(False)
    return replace(
        state,
        verified=state.verified or telling >= NEEDED or quiet >= NEEDED_QUIET,
        telling=telling,
        quiet=quiet,
        recent=recent,
        mismatched=wrong > REMEMBERED - MISMATCHES if state.mismatched else wrong >= MISMATCHES,
    )


def forget(state: GateState) -> GateState:
    """Return a gate that has to be passed again, after a restart or another version."""
    return replace(state, verified=False, telling=0, quiet=0, recent=(), mismatched=False)


def _comparable(last: Sample, sample: Sample) -> bool:
    return (
        not (sample.degraded or last.degraded)
        and sample.capacity == last.capacity
        and sample.flush_law == last.flush_law
        and sample.redo_capacity == last.redo_capacity
        and not sample.resizing
        and sample.redo_enabled
        and sample.adaptive_flushing
        and sample.pages_sync == last.pages_sync
        and sample.pages_adaptive > last.pages_adaptive
    )


def _percentage(law: FlushLaw, sample: Sample, age: float) -> int:
    return law.percentage(
        age=max(0.0, age),
        flush_limit=sample.flush_limit,
        io_capacity=sample.io_capacity,
        io_capacity_max=sample.io_capacity_max,
    )
