"""Runs of a simulated server, as several test files need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.plant.clock import SimClock
from lab.plant.parameters import (
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
    PlantParameters,
    ServerParameters,
)
from lab.plant.server import SimulatedServer

if TYPE_CHECKING:
    from tuner.records import Sample


def with_iops(write_iops: float, **more: Any) -> DiskParameters:  # noqa: ANN401 - any field of the disk
    """Return the measured machine's disk with another number of write operations/s."""
    return DiskParameters(timeline=(DiskChange(0.0, write_iops),), **more)


def stopping(at: float, **more: Any) -> LoadParameters:  # noqa: ANN401 - any field of the load
    """Return the measured load, whose clients go away after so many seconds."""
    return LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(at, 0)), **more)


def plant(
    *,
    disk: DiskParameters | None = None,
    load: LoadParameters | None = None,
    m: int | None = None,
    **server: Any,  # noqa: ANN401 - any field of the server
) -> PlantParameters:
    """Return the measured machine with some of it changed; ``m`` is M, with half of it as C."""
    if m is not None:
        server |= {"io_capacity": m // 2, "io_capacity_max": m}
    return PlantParameters(
        server=ServerParameters(**server), disk=disk or DiskParameters(), load=load or LoadParameters()
    )


def watched(
    parameters: PlantParameters, seconds: int, *, seed: int = 1
) -> tuple[SimulatedServer, list[Sample]]:
    """Return a server that began with an empty flush list, and its readings from second 0 to the last."""
    clock = SimClock()
    server = SimulatedServer(parameters, clock, seed=seed)
    samples = [server.read()]
    for second in range(1, seconds + 1):
        clock.advance_to(float(second))
        samples.append(server.read())
    return server, samples


def readings(seconds: int, *, seed: int = 1, **what: Any) -> list[Sample]:  # noqa: ANN401 - what plant takes
    """Return the readings of a server that began with an empty flush list; see ``plant`` and ``watched``."""
    return watched(plant(**what), seconds, seed=seed)[1]


def rate(samples: list[Sample], name: str) -> float:
    """Return the growth of a counter over the readings, 1/s."""
    first, last = samples[0], samples[-1]
    return float((getattr(last, name) - getattr(first, name)) / (last.monotonic - first.monotonic))


def mean_ratio(samples: list[Sample]) -> float:
    """Return the mean age ratio."""
    return sum(sample.age_ratio for sample in samples) / len(samples)
