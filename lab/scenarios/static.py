"""A scenario with a C and M that nobody moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.clock import SimClock
from lab.plant.server import CAPACITY_MINIMUM, SimulatedServer
from lab.scenarios.trace import Outcome, Trace
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.scenarios.runs import Beat
    from lab.scenarios.schema import Scenario

RATIO = 2
"""k of a static setting, where nobody asks for another one."""

BEAT_SECONDS = 100
"""Simulated seconds after which a run says that it got on."""


def pair(io_capacity_max: int, ratio: int) -> Capacity:
    """Return the pair for a static M: C = M / ratio, at least the server's minimum."""
    return Capacity(max(CAPACITY_MINIMUM, io_capacity_max // ratio), io_capacity_max)


def starting_pair(scenario: Scenario) -> Capacity:
    """Return the C and M that the server starts with, its kind's default where the scenario has none."""
    server = scenario.server.in_force
    return Capacity(server.io_capacity, server.io_capacity_max)


def run_static(scenario: Scenario, ratio: int, io_capacity_max: int, beat: Beat = lambda _: None) -> Outcome:
    """Return the outcome of a scenario with one value of M, set in its first second.

    Args:
        scenario: what it is tried on.
        ratio: k, M = k * C.
        io_capacity_max: M, pages/s.
        beat: called with the simulated seconds since the last call, at its end too.
    """
    return run_pair(scenario, pair(io_capacity_max, ratio), beat)


def run_pair(scenario: Scenario, wanted: Capacity, beat: Beat = lambda _: None) -> Outcome:
    """Return the outcome of a scenario with one C and M, set in its first second.

    Args:
        scenario: what it is tried on.
        wanted: C and M, pages/s.
        beat: called with the simulated seconds since the last call, at its end too.
    """
    return run_course(scenario, ((0.0, wanted),), beat)


def trace_pair(scenario: Scenario, wanted: Capacity) -> Trace:
    """Return every reading of a scenario with one C and M, set in its first second."""
    return _trace(scenario, ((0.0, wanted),))


def run_course(
    scenario: Scenario, course: Sequence[tuple[float, Capacity]], beat: Beat = lambda _: None
) -> Outcome:
    """Return the outcome of a scenario with a C and M that change at given moments, whatever happens.

    Args:
        scenario: what it is tried on.
        course: seconds after the start, rising, and C and M from then on, pages/s; the first at 0.
        beat: called with the simulated seconds since the last call, at its end too.
    """
    return _trace(scenario, course, beat).outcome(scenario.measured_from)


def _trace(
    scenario: Scenario, course: Sequence[tuple[float, Capacity]], beat: Beat = lambda _: None
) -> Trace:
    clock = SimClock()
    server = SimulatedServer(scenario.plant, clock, seed=scenario.seed)
    trace = Trace(scenario.measured_from)
    engine = server.engine
    sample = server.read()
    (_, wanted), *later = course
    server.set_capacity(wanted)
    trace.add(sample, 0.0, engine.latencies)
    place = 0
    for second in range(1, scenario.seconds + 1):
        while place < len(later) and later[place][0] < second:
            clock.advance_to(later[place][0])
            server.set_capacity(later[place][1])
            place += 1
        clock.advance_to(float(second))
        if second >= scenario.measured_from:
            trace.add(server.read(), engine.stalled, engine.latencies)
        if second % BEAT_SECONDS == 0:
            server.read()
            beat(float(BEAT_SECONDS))
    beat(float(scenario.seconds % BEAT_SECONDS))
    return trace
