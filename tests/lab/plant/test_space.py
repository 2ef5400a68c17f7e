"""Writers that find no room in the log: how they wait, and what it costs to simulate them."""

from __future__ import annotations

import itertools
import time

import pytest

from lab.plant.clock import SimClock
from lab.plant.parameters import DiskChange, DiskParameters, LoadChange, LoadParameters, PlantParameters
from lab.plant.server import SimulatedServer
from lab.plant.space import SHORTEST_SECONDS
from tests.lab.plant.support import plant, watched

THREADS = 200
STUCK = plant(
    flavour="mysql-8.0.28",
    io_capacity=1000,
    io_capacity_max=2000,
    disk=DiskParameters(timeline=(DiskChange(0.0, 3000.0),), latency=0.001, redo_apart=True),
    load=LoadParameters(timeline=(LoadChange(0.0, THREADS),), distribution="zipf"),
)
"""A load that fills the log faster than its pages can be written, and so is at the stall point for good."""

CALM = plant(io_capacity=300, io_capacity_max=600, load=LoadParameters(distribution="zipf"), disk=STUCK.disk)
SMALL_FACTOR = 10.0


def test_a_writer_waits_once_for_each_checkpoint_at_most() -> None:
    """At the stall point no counter runs away: each writer waits as often as a checkpoint can be written."""
    _, samples = watched(STUCK, 300)
    for before, after in itertools.pairwise(samples[100:]):
        waits = after.redo_space_waits - before.redo_space_waits
        assert waits % THREADS == 0
        assert waits <= THREADS * (1.0 / SHORTEST_SECONDS + 1.0)
    assert samples[-1].redo_space_waits > samples[100].redo_space_waits


@pytest.mark.parametrize("apart", [False, True])
def test_a_checkpoint_takes_its_time(*, apart: bool) -> None:
    """No two checkpoints are closer to each other than one takes."""
    disk = DiskParameters(redo_apart=apart)
    parameters = plant(io_capacity=100, io_capacity_max=2000, flush_sync=False, disk=disk)
    clock = SimClock()
    server = SimulatedServer(parameters, clock)
    clock.advance_to(300.0)
    moments, last = [], server.read().lsn_checkpoint
    for step in range(1, 3001):
        clock.advance_to(300.0 + step / 100)
        found = server.read().lsn_checkpoint
        if found != last:
            moments.append(step / 100)
        last = found
    shortest = min(later - earlier for earlier, later in itertools.pairwise(moments))
    assert shortest >= SHORTEST_SECONDS - 0.02


def test_the_stall_point_costs_little_to_simulate() -> None:
    """A simulated second at the stall point takes at most ten times what one away from it takes."""
    usual, stuck = (min(_cost(one) for _ in range(3)) for one in (CALM, STUCK))
    assert stuck <= SMALL_FACTOR * usual


def _cost(parameters: PlantParameters) -> float:
    began = time.process_time()
    watched(parameters, 200)
    return time.process_time() - began
