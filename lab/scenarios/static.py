"""A scenario with a C and M that nobody moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.clock import SimClock
from lab.plant.server import CAPACITY_MINIMUM, SimulatedServer
from lab.scenarios.trace import Outcome, Trace
from tuner.records import Capacity

if TYPE_CHECKING:
    from lab.scenarios.runs import Beat
    from lab.scenarios.schema import Scenario

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
    clock = SimClock()
    server = SimulatedServer(scenario.plant, clock, seed=scenario.seed)
    trace = Trace(scenario.measured_from)
    engine = server.engine
    sample = server.read()
    server.set_capacity(wanted)
    trace.add(sample, 0.0, engine.latencies)
    for second in range(1, scenario.seconds + 1):
        clock.advance_to(float(second))
        if second >= scenario.measured_from:
            trace.add(server.read(), engine.stalled, engine.latencies)
        if second % BEAT_SECONDS == 0:
            server.read()
            beat(float(BEAT_SECONDS))
    beat(float(scenario.seconds % BEAT_SECONDS))
    return trace.outcome(scenario.measured_from)
