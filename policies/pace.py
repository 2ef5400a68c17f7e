"""The law for servers on which M does not move the age: it sets the pace of the flushing at the flush limit.

There the server flushes next to nothing below the flush limit, and up to M pages a second beyond it, as
fast as it can where that is not enough (MariaDB with ``innodb_max_dirty_pages_pct_lwm`` = 0;
storage/innobase: mtr/mtr0mtr.cc ``log_close``, buf/buf0flu.cc ``buf_flush_page_cleaner``). The age comes to
rest there whatever M. What is left to M: below the demand P the age goes on growing, to where writers wait;
far above it the pages are flushed in spurts that the load waits for. A little above it the flushing is
even.

So M is raised at once when it is too near P, and lowered after some time far above it: a minute for the
first time, as nobody knows yet whether it was ever right, and a long time from then on. In between it is left
alone, for a load wanders and a write that follows it earns nothing.

What P is tells only an age near the flush limit: further down the server is asleep, and pages that many
commits share later on still look like one each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from policies.types import Proposal, Situation

LEAST = 1.2
"""M over P below which M is raised: the demand of the next minutes may be a little higher."""

AIM = 1.35
"""M over P that a write aims at."""

MOST = 2.0
"""M over the highest P of a long time from which on M is lowered."""

FIRST_SECONDS = 60.0
"""How long that has to last before M is lowered for the first time."""

PATIENCE_SECONDS = 300.0
"""How long that has to last later on."""

DEMAND_SECONDS = 15.0
"""Span of the mean of P: longer than a spurt of the flushing, shorter than the way to where writers wait."""

IDLE = 1.0
"""Demand below which there is nothing to pace, pages/s."""


@dataclass(frozen=True, slots=True)
class PaceState:
    """What is remembered between ticks.

    Attributes:
        at: time of the last tick, seconds; None before the first.
        demand: mean of P, pages/s.
        highest: the highest such mean since M is far above it, pages/s.
        above_since: since when M is far above it, seconds; None while it is not.
        io_capacity_max: M at the last tick; 0 before the first.
        lowered: M was lowered before.
    """

    at: float | None = None
    demand: float = 0.0
    highest: float = 0.0
    above_since: float | None = None
    io_capacity_max: int = 0
    lowered: bool = False


@dataclass(frozen=True, slots=True)
class Pace:
    """Keep M a little above the demand.

    Attributes:
        asleep_below: age ratio below which the server flushes next to nothing.
    """

    asleep_below: float = 0.0
    name: str = "pace"

    def start(self) -> PaceState:
        """Return the state before the first tick."""
        return PaceState()

    def propose(self, state: PaceState, situation: Situation) -> tuple[PaceState, Proposal]:
        """Return the M that flushes evenly, and whether it is worth a write."""
        current = float(situation.io_capacity_max)
        state = self._watch(state, situation)
        wanted, act = current, False
        lasted = 0.0 if state.above_since is None else situation.now - state.above_since
        if state.demand >= IDLE and current < LEAST * state.demand:
            wanted, act = AIM * state.demand, True
        elif lasted >= (PATIENCE_SECONDS if state.lowered else FIRST_SECONDS):
            wanted, act = AIM * state.highest, True
        terms = {
            "demand": state.demand,
            "over_demand": current / max(IDLE, state.demand),
            "far_above_seconds": lasted,
        }
        return state, Proposal(wanted, terms, act=act)

    def wrote(self, state: PaceState, io_capacity_max: int) -> PaceState:
        """Begin to wait anew: the next write that lowers M is as patient as this one.

        Except where the limits of a step left M far above what was waited for: then the way goes on.
        """
        if 0.0 < MOST * state.highest < io_capacity_max:
            return state
        lowered = state.lowered or io_capacity_max < state.io_capacity_max
        return replace(state, above_since=None, highest=0.0, lowered=lowered)

    def _watch(self, state: PaceState, situation: Situation) -> PaceState:
        """Average the demand, and see for how long M has been far above it."""
        elapsed = DEMAND_SECONDS if state.at is None else max(0.0, situation.now - state.at)
        asleep = situation.age < self.asleep_below * situation.flush_limit
        weight = 0.0 if asleep else min(1.0, elapsed / DEMAND_SECONDS)
        demand = state.demand + weight * (situation.demand - state.demand)
        state = replace(state, at=situation.now, demand=demand, io_capacity_max=situation.io_capacity_max)
        highest = max(state.highest, demand)
        calm = situation.learns and demand >= IDLE and situation.io_capacity_max > MOST * highest
        if not calm:
            return replace(state, above_since=None, highest=0.0)
        since = situation.now if state.above_since is None else state.above_since
        return replace(state, above_since=since, highest=highest)
