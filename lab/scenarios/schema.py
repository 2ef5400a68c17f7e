"""One scenario: how long, from when on counted, and the server, disk and load in it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from lab.plant.parameters import DiskParameters, LoadParameters, PlantParameters, ServerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST_WINDOW = 60
"""Seconds that must at least be counted."""

SETTLING_RESIDENCES = 5.0
"""Residence times of a redo record, S/R, that a steady scenario waits before it counts."""


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated run.

    Attributes:
        name: how it is called.
        description: one line for people.
        seconds: length of the run.
        measured_from: second from which everything is counted, to the end; before the first
            change where load or disk move.
        seed: decides every random number; ``--seed`` goes before it.
        server: the server's settings.
        disk: the device and its limit over time.
        load: the clients and their number over time.
    """

    name: Annotated[str, Meta(min_length=1)]
    description: str
    seconds: Annotated[int, Meta(ge=SHORTEST_WINDOW, le=2_678_400)]
    measured_from: Annotated[int, Meta(ge=0)]
    seed: Annotated[int, Meta(ge=0)] = 1
    server: ServerParameters = msgspec.field(default_factory=ServerParameters)
    disk: DiskParameters = msgspec.field(default_factory=DiskParameters)
    load: LoadParameters = msgspec.field(default_factory=LoadParameters)

    @property
    def plant(self) -> PlantParameters:
        """Return what the simulated server is built from."""
        return PlantParameters(server=self.server, disk=self.disk, load=self.load)

    @property
    def changes(self) -> tuple[float, ...]:
        """Return when load or disk change, in order; empty where the scenario is steady."""
        disk = [change.at for change in self.disk.timeline[1:]]
        load = [change.at for change in self.load.timeline[1:]]
        return tuple(sorted(disk + load))

    def problems(self) -> list[str]:
        """Return what does not fit together, one line each; empty when all is well."""
        found = [
            *self._wrong_moments("disk.timeline", [change.at for change in self.disk.timeline]),
            *self._wrong_moments("load.timeline", [change.at for change in self.load.timeline]),
        ]
        if self.measured_from > self.seconds - SHORTEST_WINDOW:
            found.append(
                f"measured_from = {self.measured_from}: leaves less than {SHORTEST_WINDOW} s of "
                f"seconds = {self.seconds} to count"
            )
        if self.changes and self.measured_from >= self.changes[0]:
            found.append(
                f"measured_from = {self.measured_from}: must lie before the first change, "
                f"at {self.changes[0]:g}"
            )
        found.extend(self._wrong_settings())
        return found

    def _wrong_moments(self, key: str, moments: list[float]) -> Iterator[str]:
        """Yield what is wrong with the moments of a timeline, seconds."""
        if moments[0] != 0:
            yield f"{key}: the first entry is at {moments[0]:g}; it must be at 0"
        for earlier, later in itertools.pairwise(moments):
            if later <= earlier:
                yield f"{key}: {later:g} comes after {earlier:g}; the moments must rise"
        if moments[-1] >= self.seconds:
            yield f"{key}: {moments[-1]:g} is not before the end, seconds = {self.seconds}"

    def _wrong_settings(self) -> Iterator[str]:
        """Yield settings of the server and the load that cannot stand together."""
        server = self.server
        if server.io_capacity > server.io_capacity_max:
            yield (
                f"server.io_capacity = {server.io_capacity}: is above "
                f"server.io_capacity_max = {server.io_capacity_max}"
            )
        if server.max_dirty_pages_pct_lwm > server.max_dirty_pages_pct:
            yield (
                f"server.max_dirty_pages_pct_lwm = {server.max_dirty_pages_pct_lwm:g}: is above "
                f"server.max_dirty_pages_pct = {server.max_dirty_pages_pct:g}"
            )
        if self.load.hot_pages > server.buffer_pool_pages:
            yield (
                f"load.hot_pages = {self.load.hot_pages:g}: does not fit into server.buffer_pool_pages = "
                f"{server.buffer_pool_pages}; this plant never flushes for want of free pages"
            )
