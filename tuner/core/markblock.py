"""One block of a trial of two low-water marks: how long it lasts, and when load and age can be counted."""

from __future__ import annotations

import math

from msgspec.structs import replace

from policies.registry import LAWS
from tuner.core.mark import Mark
from tuner.core.state import State
from tuner.core.switchback import ALIKE, Block, Running
from tuner.core.trials import RESIDENCES, STEADY, block_of, residence_of
from tuner.records import Estimate, Sample

SHORTEST = 600.0
"""Seconds that a block lasts at least: each other law costs some changes until the inner loop has settled."""

RESTS = 0.1
"""Growth of the age, over R, below which it is at rest, wherever that is."""


def block_seconds(mark: Mark, sample: Sample, found: Estimate) -> tuple[float, float]:
    """Return how long a block lasts, and how long it settles, seconds.

    By the higher of the two ages, and the load of minutes: with 0 it comes and goes with the flushing.
    """
    whole, settling = block_of(_highest(mark, sample, found))
    longer = max(1.0, SHORTEST / whole)
    return whole * longer, settling * longer


def least_seconds(mark: Mark, sample: Sample, found: Estimate) -> float:
    """Return how long a block has to last by the load as it is now, seconds."""
    return RESIDENCES * residence_of(_highest(mark, sample, found))


def _highest(mark: Mark, sample: Sample, found: Estimate) -> Estimate:
    highest = max(found.modified_age, float(sample.flush_limit))
    return replace(found, modified_age=highest, redo_rate=mark.averages.redo_rate)


def travels(state: State, found: Estimate) -> bool:
    """Tell whether the age is on its way to where it is held.

    Where no M moves it, it never is. Elsewhere it may rest away from the set-point: under a light load pages
    are written out as they come, or M is as low as it may be.
    """
    aim = 0.5 if state.set_point is None else state.set_point
    away = abs(found.age_ratio - aim) > STEADY and abs(found.age_slope) > RESTS * found.redo_rate
    return away and LAWS[state.facts.flush_law].authority


def begun(mark: Mark, running: Running) -> Running:
    """Return the trial with its present block counted from when its mark went into force."""
    came = mark.changed
    return running if came is None or came <= running.block_begun else replace(running, block_begun=came)


def same_load(blocks: tuple[Block, ...]) -> bool:
    """Tell whether the newest block is of the load of the one before with the same mark."""
    if len(blocks) < 3:  # noqa: PLR2004 - the first of each mark has none before it
        return True
    return abs(math.log(blocks[-1].redo_rate / blocks[-3].redo_rate)) <= ALIKE
