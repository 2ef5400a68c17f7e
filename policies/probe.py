"""Plain extremum seeking: move M a little, see what throughput says, go where it was better; no model.

A slow square wave around a centre in ln M, each half long enough for the age to follow, and the mean
throughput of each half's later part: its difference over that of ln M is the gradient, and the centre goes
up it by a bounded step (M. Krstić and H.-H. Wang, "Stability of extremum seeking feedback for general
nonlinear dynamic systems", Automatica 36, 2000). A period begins on the side where the last one ended, which
costs no write and turns the sign of a drift. Where throughput does not answer, because the load is offered at
a rate of its own, pages flushed per row change take its place.

The best M lies at a cliff: a little below it the server sync-flushes. So the way down is bounded by what is
left to the set-point, and above it by more than a margin M is raised at once, whatever the wave says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from policies.types import HIGHEST_M, Proposal, Situation

HALF_RESIDENCES = 3.0
"""Length of half a wave in residence times, age / R."""

SHORTEST_HALF = 45.0
LONGEST_HALF = 1800.0
"""Bounds of the same, seconds."""

COUNTED_SHARE = 0.5
"""Share of a half, its end, that counts: before it the age is still on its way."""

LARGEST_SWING = 0.10
SMALLEST_SWING = 0.02
"""Bounds of the wave's amplitude in ln M."""

SWING_OF_ROOM = 0.25
"""Amplitude over the share of the set-point that is left above the age."""

UNMOVED = 0.01
"""Throughputs of two halves that differ by less are taken for one: the load has a rate of its own."""

INDIFFERENT = -0.1
"""Gradient taken where pages do not answer either: of two that do the same the lower M is taken."""

GAIN = 3.0
"""Step of the centre in ln M over the gradient d ln(throughput) / d ln M."""

MEMORY = 0.5
"""Share of a gradient that stays in the next one: one pair of halves is a noisy witness."""

LARGEST_STEP = 0.6
"""Bound of a step in ln M, up or down."""

STEP_OF_ROOM = 0.5
"""Bound of a step down over the share of the set-point that is left above the age."""

MARGIN = 0.04
"""Age ratio above the set-point from which on M is raised without asking the wave."""

RAISE_GAIN = 2.0
LEAST_RAISE = 0.05
"""Such a raise in ln M: over the relative error, and at least."""

RAISE_SECONDS = 20.0
"""Time that a raise is given to show before the next one."""

WORTH_WRITING = 0.01
"""Difference in ln M that is worth a write."""


@dataclass(frozen=True, slots=True)
class Half:
    """What half a wave came to.

    Attributes:
        level: ln M in force.
        throughput: ln of the row changes per second.
        pages: ln of the pages flushed per row change.
    """

    level: float
    throughput: float
    pages: float


@dataclass(frozen=True, slots=True)
class ProbeState:
    """What is remembered between ticks.

    Attributes:
        at: time of the last tick, seconds; None before the first.
        io_capacity_max: M that the half under way belongs to, pages/s.
        high: the half under way is the wave's upper one.
        since: time when it began, seconds.
        wanted: M that was asked for and is not in force yet, pages/s; 0 for none.
        seconds: time counted in this half so far.
        rows: row changes in it.
        pages: pages flushed in it.
        first: the period's first half; None while it is under way.
        gradient: d ln(throughput) / d ln M, averaged.
        raised_at: time of the last raise out of the wave's turn, seconds.
    """

    at: float | None = None
    io_capacity_max: int = 0
    high: bool = True
    since: float = 0.0
    wanted: float = 0.0
    seconds: float = 0.0
    rows: float = 0.0
    pages: float = 0.0
    first: Half | None = None
    gradient: float = 0.0
    raised_at: float = -1e9


@dataclass(frozen=True, slots=True)
class Probe:
    """Feedback on throughput alone, kept below the set-point."""

    name: str = "probe"

    def start(self) -> ProbeState:
        """Return the state before the first half."""
        return ProbeState()

    def propose(self, state: ProbeState, situation: Situation) -> tuple[ProbeState, Proposal]:
        """Return the M of the wave's next half when one is over, or a raise where the age is too high."""
        now, current = situation.now, situation.io_capacity_max
        elapsed = 0.0 if state.at is None else max(0.0, now - state.at)
        if state.at is None or current != state.io_capacity_max:
            state = replace(_begun(state, situation), gradient=0.0, first=None, high=True)
        state = replace(state, at=now)
        if situation.error > MARGIN:
            return self._too_high(state, situation)
        half = half_seconds(situation)
        if state.wanted > 0.0:
            if now - state.since < half:
                return state, _proposal(state, situation, state.wanted)
            state = replace(_begun(state, situation), first=None)  # refused all the time: measure what is
        if not situation.learns:
            state = replace(_begun(state, situation), first=None)
        state = _counted(state, situation, elapsed, half)
        if now - state.since < half:
            return state, _proposal(state, situation, None)
        if state.rows < 1.0 or state.seconds <= 0.0:
            return replace(_begun(state, situation), first=None), _proposal(state, situation, None)
        return self._turn(state, situation)

    def wrote(self, state: ProbeState, io_capacity_max: int) -> ProbeState:
        """Begin the half that this M is for."""
        at = state.at or 0.0
        raised = io_capacity_max > state.io_capacity_max and state.wanted == 0.0
        fresh = _fresh(state, io_capacity_max, at)
        return replace(fresh, first=None, raised_at=at) if raised else fresh

    def resumed(self, state: ProbeState, now: float) -> ProbeState:  # noqa: ARG002 - the protocol's
        """Return the state as it is."""
        return state

    def _too_high(self, state: ProbeState, situation: Situation) -> tuple[ProbeState, Proposal]:
        """Raise M, again and again until the age falls; the wave begins anew afterwards."""
        state = replace(_begun(state, situation), first=None)
        waits = situation.age_slope < 0.0 or situation.now - state.raised_at < RAISE_SECONDS
        error = situation.error / situation.set_point
        raise_by = min(LARGEST_STEP, max(LEAST_RAISE, RAISE_GAIN * error))
        wanted = None if waits else situation.io_capacity_max * math.exp(raise_by)
        return state, _proposal(state, situation, wanted)

    def _turn(self, state: ProbeState, situation: Situation) -> tuple[ProbeState, Proposal]:
        """End a half: turn to the other side of the centre, or move the centre."""
        seen = Half(
            level=math.log(max(1, situation.io_capacity_max)),
            throughput=math.log(state.rows / state.seconds),
            pages=math.log(max(1.0, state.pages) / state.rows),
        )
        room = _room(situation)
        swing = 2.0 * min(LARGEST_SWING, max(SMALLEST_SWING, SWING_OF_ROOM * room))
        if state.first is None:
            high, first = not state.high, seen
            wanted = math.exp(seen.level + (swing if high else -swing))
        else:
            high, first = state.high, None
            state = replace(state, gradient=_gradient(state.gradient, state.first, seen))
            wanted = math.exp(seen.level + _step(state.gradient, situation, room))
        wanted = min(HIGHEST_M, max(1.0, wanted))
        state = replace(_begun(state, situation), high=high, first=first)
        if abs(math.log(wanted) - seen.level) < WORTH_WRITING:
            return state, _proposal(state, situation, None)
        state = replace(state, wanted=wanted)
        return state, _proposal(state, situation, wanted)


def half_seconds(situation: Situation) -> float:
    """Return the length of half a wave, seconds: so many residence times of a page in the flush list."""
    if situation.redo_rate <= 0.0:
        return LONGEST_HALF
    return min(LONGEST_HALF, max(SHORTEST_HALF, HALF_RESIDENCES * situation.age / situation.redo_rate))


def _gradient(known: float, first: Half, second: Half) -> float:
    """Return the gradient with one pair of halves more; as it was where M was the same in both."""
    moved = second.level - first.level
    if abs(moved) < WORTH_WRITING:
        return known
    gained = second.throughput - first.throughput
    if abs(gained) < UNMOVED:
        gained = first.pages - second.pages
    seen = INDIFFERENT if abs(gained) < UNMOVED else gained / moved
    return MEMORY * known + (1.0 - MEMORY) * seen


def _step(gradient: float, situation: Situation, room: float) -> float:
    """Return how far the centre moves in ln M: up the gradient, and down no farther than there is room."""
    if situation.error > 0.0:
        return max(situation.error / situation.set_point, min(LARGEST_STEP, GAIN * gradient))
    return min(LARGEST_STEP, max(-LARGEST_STEP, -STEP_OF_ROOM * room, GAIN * gradient))


def _room(situation: Situation) -> float:
    """Return the share of the set-point that is left above the age, 0 to 1."""
    return min(1.0, max(0.0, -situation.error / situation.set_point))


def _begun(state: ProbeState, situation: Situation) -> ProbeState:
    """Return the state at the beginning of a half with the M in force."""
    return _fresh(state, situation.io_capacity_max, situation.now)


def _fresh(state: ProbeState, io_capacity_max: int, now: float) -> ProbeState:
    return replace(
        state, io_capacity_max=io_capacity_max, since=now, wanted=0.0, seconds=0.0, rows=0.0, pages=0.0
    )


def _counted(state: ProbeState, situation: Situation, elapsed: float, half: float) -> ProbeState:
    """Return the state with one tick more, where the half is old enough to count."""
    if situation.now - state.since < (1.0 - COUNTED_SHARE) * half:
        return state
    return replace(
        state,
        seconds=state.seconds + elapsed,
        rows=state.rows + elapsed * situation.row_rate,
        pages=state.pages + elapsed * situation.flush_rate,
    )


def _proposal(state: ProbeState, situation: Situation, wanted: float | None) -> Proposal:
    """Return what is wanted, None for nothing, and where the wave is."""
    terms = {
        "error": situation.error,
        "gradient": state.gradient,
        "high": float(state.high),
        "half": half_seconds(situation),
        "half_under_way": situation.now - state.since,
    }
    current = float(situation.io_capacity_max)
    return Proposal(current if wanted is None else wanted, terms, act=wanted is not None)
