"""A scenario with a C and M that nobody moves."""

from __future__ import annotations

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios.schema import Scenario
from lab.scenarios.trace import Outcome, Trace
from tuner.records import CAPACITY_MINIMUM, Capacity

RATIO = 2
"""k of a static setting, where nobody asks for another one."""

READ_SECONDS = 100
"""Simulated seconds after which a server is read where nothing counts, so that it goes on in steps."""


def pair(io_capacity_max: int, ratio: int = RATIO) -> Capacity:
    """Return the pair for a static M: C = M / ratio, at least the server's minimum."""
    return Capacity(max(CAPACITY_MINIMUM, io_capacity_max // ratio), io_capacity_max)


def starting_pair(scenario: Scenario) -> Capacity:
    """Return the C and M that the server starts with, its kind's default where the scenario has none."""
    server = scenario.server.in_force
    return Capacity(server.io_capacity, server.io_capacity_max)


def run_static(scenario: Scenario, ratio: int, io_capacity_max: int) -> Outcome:
    """Return the outcome of a scenario with one value of M, pages/s, set in its first second."""
    return run_pair(scenario, pair(io_capacity_max, ratio))


def run_pair(scenario: Scenario, wanted: Capacity) -> Outcome:
    """Return the outcome of a scenario with one C and M, set in its first second."""
    return trace_pair(scenario, wanted).outcome(scenario.measured_from)


def trace_pair(scenario: Scenario, wanted: Capacity) -> Trace:
    """Return every reading of a scenario with one C and M, set in its first second."""
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
        elif second % READ_SECONDS == 0:
            server.read()
    return trace
