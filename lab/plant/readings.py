"""A simulated server left to itself and read once a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer

if TYPE_CHECKING:
    from lab.plant.parameters import PlantParameters
    from tuner.records import Sample


def watched(plant: PlantParameters, seconds: int, *, seed: int = 1) -> tuple[SimulatedServer, list[Sample]]:
    """Return a server that began with an empty flush list, and its readings from second 0 to the last."""
    clock = SimClock()
    server = SimulatedServer(plant, clock, seed=seed)
    samples = [server.read()]
    for second in range(1, seconds + 1):
        clock.advance_to(float(second))
        samples.append(server.read())
    return server, samples
